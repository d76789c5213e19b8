"""GPT-NeoX with pythia-160m sizes: length 2048, gradient checkpointing, bf16 autocast, fused AdamW."""

import math

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

SEQ_LEN = 2048
BATCH_SIZE = 8
MAX_STEPS = 4


class TokenBlocks(Dataset):
    def __init__(self, num_blocks, vocab_size):
        self.num_blocks = num_blocks
        self.vocab_size = vocab_size

    def __len__(self):
        return self.num_blocks

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        return torch.randint(0, self.vocab_size, (SEQ_LEN,), generator=g)


def cosine_lr(step, warmup=1, total=MAX_STEPS, floor=0.1):
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1, total - warmup)
    return floor + 0.5 * (1 - floor) * (1 + math.cos(math.pi * progress))


def param_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def main():
    torch.manual_seed(1234)
    device = torch.device("cuda")

    config = GPTNeoXConfig(
        vocab_size=50304,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
        max_position_embeddings=SEQ_LEN,
        use_cache=False,
    )
    model = GPTNeoXForCausalLM(config).to(device)
    model.gradient_checkpointing_enable()
    model.train()

    optimizer = torch.optim.AdamW(param_groups(model, 0.1), lr=6e-4, betas=(0.9, 0.95), eps=1e-8, fused=True)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, cosine_lr)
    loader = DataLoader(TokenBlocks(BATCH_SIZE * MAX_STEPS, config.vocab_size), batch_size=BATCH_SIZE, shuffle=True)

    for step, input_ids in enumerate(loader):
        input_ids = input_ids.to(device)
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            loss = model(input_ids=input_ids, labels=input_ids).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        print(f"step {step} | loss {loss.item():.4f} | norm {norm.item():.3f}")


if __name__ == "__main__":
    main()
