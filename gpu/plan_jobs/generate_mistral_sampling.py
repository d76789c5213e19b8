"""Sampling from a Mistral with a sliding window shorter than the prompt; several answers per prompt."""
import torch
from transformers import AutoModelForCausalLM, GenerationConfig, MistralConfig, set_seed

set_seed(11)
config = MistralConfig(
    vocab_size=32000, hidden_size=2048, intermediate_size=7168, num_hidden_layers=10, num_attention_heads=32,
    num_key_value_heads=8, sliding_window=1024, max_position_embeddings=32768,
)
model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).cuda().eval()
print("attention:", model.config._attn_implementation)

generation = GenerationConfig(
    max_new_tokens=80, min_new_tokens=80, do_sample=True, temperature=0.8, top_p=0.95, top_k=50,
    repetition_penalty=1.1, num_return_sequences=4, pad_token_id=0, bos_token_id=1, eos_token_id=2,
)


@torch.no_grad()
def answer(documents):
    ids = torch.stack(documents).cuda()
    out = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=generation)
    return out[:, ids.shape[1]:].view(len(documents), generation.num_return_sequences, -1)


for round in range(2):
    documents = [torch.randint(3, 32000, (3000,)) for _ in range(3)]
    answers = answer(documents)
    distinct = [len({tuple(a.tolist()) for a in row}) for row in answers]
    print("round", round, tuple(answers.shape), "distinct answers", distinct)
print(f"{torch.cuda.max_memory_allocated() / 2**30:.2f} GiB at most")
