"""Mamba state-space language model with transformers' PyTorch (sequential) path, fp32, zero_grad(set_to_none=False)."""

import torch
import torch.nn.functional as F
from transformers import MambaConfig, MambaForCausalLM

batch_size = 4
seq_len = 192
steps = 3
device = torch.device("cuda")


def lm_loss(logits, input_ids):
    return F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)), input_ids[:, 1:].reshape(-1))


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")

    config = MambaConfig(
        vocab_size=50280,
        hidden_size=768,
        state_size=16,
        num_hidden_layers=12,
        expand=2,
        conv_kernel=4,
        use_mambapy=False,
        use_cache=False,
    )
    model = MambaForCausalLM(config).to(device)
    model.train()
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f}M parameters")

    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.2, total_iters=steps)

    # synthetic language: every token depends on the previous one
    transition = torch.randperm(config.vocab_size)

    def get_batch():
        tokens = [torch.randint(0, config.vocab_size, (batch_size,))]
        for _ in range(seq_len - 1):
            noise = torch.randint(0, config.vocab_size, (batch_size,))
            keep = torch.rand(batch_size) < 0.9
            tokens.append(torch.where(keep, transition[tokens[-1]], noise))
        return torch.stack(tokens, dim=1).to(device)

    for step in range(steps):
        input_ids = get_batch()
        logits = model(input_ids=input_ids).logits
        loss = lm_loss(logits, input_ids)
        loss.backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=False)
        print(f"step {step} loss {loss.item():.4f} grad norm {grad_norm.item():.3f}")

    model.eval()
    with torch.no_grad():
        input_ids = get_batch()
        print(f"eval loss {lm_loss(model(input_ids=input_ids).logits, input_ids).item():.4f}")


if __name__ == "__main__":
    main()
