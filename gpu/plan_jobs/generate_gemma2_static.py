"""Gemma 2 (sliding and full layers by turns, soft-capped logits) generating with a static cache."""
import torch
from transformers import Gemma2Config, Gemma2ForCausalLM

torch.manual_seed(0)
config = Gemma2Config(
    vocab_size=64000, hidden_size=1536, intermediate_size=6144, num_hidden_layers=8, num_attention_heads=8,
    num_key_value_heads=4, head_dim=128, sliding_window=512, max_position_embeddings=4096, query_pre_attn_scalar=128,
)
model = Gemma2ForCausalLM(config).to("cuda", dtype=torch.bfloat16)
model.eval()

prompts = torch.randint(5, 64000, (12, 768), device="cuda")
mask = torch.ones_like(prompts)
mask[:4, :200] = 0  # left padding of the shorter ones
prompts[:4, :200] = config.pad_token_id

with torch.inference_mode():
    for attempt in range(2):
        tokens = model.generate(
            prompts,
            attention_mask=mask,
            cache_implementation="static",
            do_sample=True,
            temperature=0.7,
            top_k=40,
            max_new_tokens=64,
            min_new_tokens=64,
        )
        print(attempt, tokens.shape, tokens[0, -5:].tolist())

torch.cuda.synchronize()
print("reserved", torch.cuda.memory_reserved() >> 20, "MiB")
