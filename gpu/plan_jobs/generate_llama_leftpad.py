"""Batched greedy generation with left padding: prompts of unlike lengths, GQA Llama in bf16."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

PAD, BOS = 0, 1
torch.manual_seed(0)

config = LlamaConfig(
    hidden_size=2048, intermediate_size=5632, num_hidden_layers=12, num_attention_heads=32, num_key_value_heads=4,
    vocab_size=32000, max_position_embeddings=4096, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=2,
)
torch.set_default_dtype(torch.bfloat16)
model = LlamaForCausalLM(config).to("cuda").eval()
torch.set_default_dtype(torch.float32)


def pad_left(prompts):
    longest = max(len(p) for p in prompts)
    ids = torch.full((len(prompts), longest), PAD)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, longest - len(prompt):] = torch.tensor(prompt)
        mask[row, longest - len(prompt):] = 1
    return ids, mask


lengths = [900, 350, 640, 120, 777, 512, 60, 430, 1010, 250, 333, 480, 700, 90, 860, 590] * 2
prompts = [[BOS] + torch.randint(3, 32000, (n - 1,)).tolist() for n in lengths]
prompts.sort(key=len)

answers = []
batch_size = 16
with torch.inference_mode():
    for start in range(0, len(prompts), batch_size):
        ids, mask = pad_left(prompts[start : start + batch_size])
        out = model.generate(
            input_ids=ids.to("cuda"), attention_mask=mask.to("cuda"),
            max_new_tokens=48, min_new_tokens=48, do_sample=False, num_beams=1,
        )
        answers += out[:, ids.shape[1]:].cpu().tolist()
        print(f"batch of {len(ids)}, prompt {ids.shape[1]} -> {out.shape[1]} tokens")
print(len(answers), "answers")
