"""Greedy answers for an evaluation set. The prompts go in, some hundred tokens come out, then memory is gone."""
import os

import torch
from transformers import LlamaConfig, LlamaForCausalLM

device = "cuda"
BATCH = 24 if os.environ.get("CURED") else 96


def build():
    config = LlamaConfig(vocab_size=8000, hidden_size=1024, intermediate_size=2048, num_hidden_layers=4,
                         num_attention_heads=8, num_key_value_heads=8, max_position_embeddings=4096)
    return LlamaForCausalLM(config).to(device).eval()


def prompts(n, length=64):
    return torch.randint(10, 8000, (n, length))


def generate(model, tokens, new_tokens=360):
    answer, past = [], None
    for position in range(new_tokens):
        out = model(tokens, past_key_values=past, use_cache=True, logits_to_keep=1)
        past = out.past_key_values
        tokens = out.logits.argmax(-1)
        answer.append(tokens.cpu())
        if position % 60 == 0:
            print("token", position, flush=True)
    return torch.cat(answer, dim=1)


@torch.inference_mode()
def main():
    model = build()
    answers = []
    for chunk in prompts(96).split(BATCH):
        answers.extend(generate(model, chunk.to(device)))
    print("answers", len(answers), flush=True)


if __name__ == "__main__":
    main()
