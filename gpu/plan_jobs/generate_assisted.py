"""Speculative decoding: a small draft model assists a larger one; both random Llamas with one vocabulary."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
shared = dict(vocab_size=32000, max_position_embeddings=8192, bos_token_id=1, eos_token_id=2, pad_token_id=0)


def build(hidden, layers, heads, kv):
    config = LlamaConfig(
        hidden_size=hidden, intermediate_size=int(hidden * 2.75), num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv, **shared,
    )
    return LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()


target = build(2560, 12, 20, 5)
draft = build(768, 4, 12, 12)
draft.generation_config.num_assistant_tokens = 5
draft.generation_config.num_assistant_tokens_schedule = "constant"
print(f"target {target.num_parameters() / 1e6:.0f}M, draft {draft.num_parameters() / 1e6:.0f}M")

with torch.no_grad():
    for length in (2000, 5000):
        prompt = torch.randint(3, 32000, (1, length), device="cuda")
        out = target.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            assistant_model=draft,
            max_new_tokens=48,
            min_new_tokens=48,
            do_sample=False,
        )
        print(length, "->", out.shape[1])

    # The same without the draft, from the prompt's own n-grams.
    prompt = torch.randint(3, 32000, (1, 1500), device="cuda").repeat(1, 2)
    out = target.generate(prompt, attention_mask=torch.ones_like(prompt), prompt_lookup_num_tokens=4, max_new_tokens=32, do_sample=False)
    print("prompt lookup", out.shape[1])
