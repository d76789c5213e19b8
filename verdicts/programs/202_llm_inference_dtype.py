"""Just want to chat with a 1.4B model on a 4 GB card. The weights file is 2.8 GB so it should fit, but it does not even load."""
import os

import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=28,
                     num_attention_heads=32, num_key_value_heads=4, max_position_embeddings=2048)


def load_model():
    if os.environ.get("CURED"):
        torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    return model.eval()


@torch.inference_mode()
def answer(model, prompt_length=64):
    prompt = torch.randint(0, 32000, (1, prompt_length), device="cuda")
    out = model(input_ids=prompt, use_cache=True)
    for _ in range(8):
        token = out.logits[:, -1:].argmax(-1)
        out = model(input_ids=token, past_key_values=out.past_key_values, use_cache=True)
    return token


if __name__ == "__main__":
    llm = load_model()
    print(sum(p.numel() for p in llm.parameters()) / 1e9, "B parameters")
    print(answer(llm).shape)
