"""Train a small Mixtral (8 experts, top-2) causal language model in pure bf16 with AdamW."""

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import MixtralConfig, MixtralForCausalLM, get_cosine_schedule_with_warmup

SEQ_LEN = 1024
BATCH_SIZE = 16
NUM_STEPS = 4


class RandomTokens(Dataset):
    def __init__(self, num_samples, seq_len, vocab_size):
        self.data = torch.randint(0, vocab_size, (num_samples, seq_len))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        return {"input_ids": self.data[idx], "labels": self.data[idx].clone()}


def main():
    torch.manual_seed(42)
    device = torch.device("cuda")

    config = MixtralConfig(
        vocab_size=32000,
        hidden_size=1024,
        intermediate_size=2816,
        num_hidden_layers=8,
        num_attention_heads=16,
        num_key_value_heads=8,
        num_local_experts=8,
        num_experts_per_tok=2,
        max_position_embeddings=4096,
        output_router_logits=True,
        router_aux_loss_coef=0.02,
        use_cache=False,
    )
    with device:
        model = MixtralForCausalLM(config)
    model = model.to(torch.bfloat16)
    model.train()
    print(f"parameters: {sum(p.numel() for p in model.parameters()) / 1e6:.1f}M")

    dataset = RandomTokens(BATCH_SIZE * NUM_STEPS, SEQ_LEN, config.vocab_size)
    loader = DataLoader(dataset, batch_size=BATCH_SIZE, shuffle=True, drop_last=True, num_workers=0)

    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    scheduler = get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=1, num_training_steps=NUM_STEPS)

    for step, batch in enumerate(loader):
        batch = {k: v.to(device) for k, v in batch.items()}
        outputs = model(**batch)
        loss = outputs.loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f} aux {outputs.aux_loss.item():.4f}")


if __name__ == "__main__":
    main()
