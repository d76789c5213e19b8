"""Gemma3 style text model with a 262k vocabulary: bf16 autocast, Muon for hidden matrices and AdamW for the rest."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import Gemma3ForCausalLM, Gemma3TextConfig

BATCH_SIZE = 8
SEQ_LEN = 512
STEPS = 4


def build_model():
    config = Gemma3TextConfig(
        vocab_size=262144,
        hidden_size=640,
        intermediate_size=2048,
        num_hidden_layers=18,
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=256,
        max_position_embeddings=4096,
        sliding_window=256,
        use_cache=False,
    )
    return Gemma3ForCausalLM(config)


def split_parameters(model):
    hidden, other = [], []
    for name, param in model.named_parameters():
        if param.ndim == 2 and "embed" not in name and "lm_head" not in name:
            hidden.append(param)
        else:
            other.append(param)
    return hidden, other


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = build_model().to(device)
    model.train()

    hidden, other = split_parameters(model)
    optimizers = [
        torch.optim.Muon(hidden, lr=0.02, momentum=0.95, weight_decay=0.01),
        torch.optim.AdamW(other, lr=3e-4, betas=(0.9, 0.95)),
    ]
    schedulers = [torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, total_iters=STEPS) for opt in optimizers]

    tokens = torch.randint(0, model.config.vocab_size, (BATCH_SIZE * STEPS, SEQ_LEN))
    loader = DataLoader(TensorDataset(tokens), batch_size=BATCH_SIZE, shuffle=True, num_workers=0)

    for step, (input_ids,) in enumerate(loader):
        input_ids = input_ids.to(device)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=input_ids, labels=input_ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for opt, sched in zip(optimizers, schedulers):
            opt.step()
            sched.step()
        model.zero_grad(set_to_none=True)
        print(f"step {step}: loss {loss.item():.4f}")

    model.eval()
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        input_ids = tokens[:BATCH_SIZE].to(device)
        loss = model(input_ids=input_ids, labels=input_ids).loss
    print(f"eval loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
