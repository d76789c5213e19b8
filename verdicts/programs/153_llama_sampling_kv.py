"""Sampling 64 completions per prompt for a reward model. Generation begins normally and then stops with out of memory long before the 100 tokens are there."""
import os
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(11)
config = LlamaConfig(vocab_size=4096, hidden_size=768, intermediate_size=1536, num_hidden_layers=6, num_attention_heads=12,
                     num_key_value_heads=12, max_position_embeddings=2048)
with torch.device("cuda"):
    policy = LlamaForCausalLM(config).eval()


class Sampler:
    def __init__(self, model, n):
        self.model, self.n = model, n

    @torch.no_grad()
    def __call__(self, prompt, new_tokens):
        ids = prompt.repeat_interleave(self.n, 0)
        past, out = None, [ids]
        for t in range(new_tokens):
            res = self.model(input_ids=ids, past_key_values=past, use_cache=True, logits_to_keep=1)
            past = res.past_key_values
            ids = torch.multinomial(torch.ones(len(ids), 4096, device="cuda"), 1)
            out.append(ids)
            if t % 5 == 0:
                print("token", t, flush=True)
        return torch.cat(out, 1)


sampler = Sampler(policy, 16 if os.environ.get("CURED") else 64)
for p in range(2):
    prompt = torch.randint(0, 4096, (2, 60), device="cuda")
    print("prompt", p, sampler(prompt, 100).shape, flush=True)
