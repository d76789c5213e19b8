"""Sampling with a gpt2-medium sized model in bf16: batch of 16 prompts, 200 new tokens, dynamic KV cache."""

import time

import torch
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel, GenerationConfig

BATCH_SIZE = 16
PROMPT_LEN = 512
NEW_TOKENS = 200


def build_model(device):
    config = GPT2Config(
        vocab_size=50257,
        n_positions=1024,
        n_embd=1024,
        n_layer=24,
        n_head=16,
        bos_token_id=50256,
        eos_token_id=50256,
    )
    model = GPT2LMHeadModel(config)
    return model.to(device=device, dtype=torch.bfloat16).eval()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = build_model(device)

    # left padded prompts of differing lengths
    input_ids = torch.randint(0, 50256, (BATCH_SIZE, PROMPT_LEN), device=device)
    attention_mask = torch.ones_like(input_ids)
    for row in range(BATCH_SIZE):
        pad = 8 * row
        input_ids[row, :pad] = 50256
        attention_mask[row, :pad] = 0

    generation_config = GenerationConfig(
        do_sample=True,
        temperature=0.8,
        top_k=50,
        top_p=0.95,
        min_new_tokens=NEW_TOKENS,
        max_new_tokens=NEW_TOKENS,
        pad_token_id=50256,
        eos_token_id=50256,
        use_cache=True,
    )

    start = time.time()
    with torch.inference_mode():
        output = model.generate(
            input_ids,
            attention_mask=attention_mask,
            generation_config=generation_config,
            past_key_values=DynamicCache(config=model.config),
        )
    torch.cuda.synchronize()
    elapsed = time.time() - start

    generated = output[:, PROMPT_LEN:]
    print("output", tuple(output.shape), f"{generated.numel() / elapsed:.0f} tokens/s")
    print("first tokens", generated[0, :10].tolist())


if __name__ == "__main__":
    main()
