"""A one-billion-parameter model should fit on this card for inference, people run it on less. It dies while loading."""
import os

import torch
from transformers import LlamaConfig, LlamaForCausalLM

device = torch.device("cuda")

if os.environ.get("CURED"):
    torch.set_default_dtype(torch.bfloat16)


def load_model():
    config = LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22,
                         num_attention_heads=32, num_key_value_heads=4)
    with device:
        model = LlamaForCausalLM(config)
    return model.eval()


@torch.inference_mode()
def answer(model, prompt, max_new_tokens=24):
    tokens = prompt.to(device)
    past = None
    for _ in range(max_new_tokens):
        out = model(tokens if past is None else tokens[:, -1:], past_key_values=past, use_cache=True)
        past = out.past_key_values
        tokens = torch.cat([tokens, out.logits[:, -1:].argmax(-1)], dim=1)
    return tokens


def main():
    model = load_model()
    print(f"{sum(p.numel() for p in model.parameters()) / 1e9:.2f} B parameters in {model.dtype}", flush=True)
    for request in range(2):
        prompt = torch.randint(0, 32000, (1, 64))
        print("request", request, tuple(answer(model, prompt).shape), flush=True)


if __name__ == "__main__":
    main()
