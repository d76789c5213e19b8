"""FT-Transformer for tabular data with Accelerate (bf16, gradient accumulation) and stochastic weight averaging."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.optim.swa_utils import SWALR, AveragedModel
from torch.utils.data import DataLoader, TensorDataset

ROWS, NUMERIC = 24576, 96
CARDINALITIES = [12, 40, 7, 365, 24, 1000, 5000, 60]
DIM, HEADS, BLOCKS = 256, 8, 6
BATCH, EVAL_BATCH = 1024, 4096
ACCUM = 2
SWA_START = 4
STEPS = 10


class Tokenizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(NUMERIC + 1, DIM))
        self.bias = nn.Parameter(torch.zeros(NUMERIC + len(CARDINALITIES), DIM))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        offsets = torch.tensor([0] + CARDINALITIES[:-1]).cumsum(0)
        self.register_buffer("offsets", offsets)
        self.embed = nn.Embedding(sum(CARDINALITIES), DIM)

    def forward(self, num, cat):
        num = torch.cat([torch.ones(len(num), 1, device=num.device), num], 1)
        x = self.weight[None] * num[:, :, None]
        x = torch.cat([x, self.embed(cat + self.offsets)], 1)
        return x + torch.cat([torch.zeros(1, DIM, device=x.device), self.bias])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.o = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 8 * DIM // 3 * 2), nn.Linear(8 * DIM // 3, DIM)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, n, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        att = F.dropout((q @ k.transpose(-1, -2) / math.sqrt(DIM // HEADS)).softmax(-1), 0.2, self.training)
        x = x + self.o((att @ v).transpose(1, 2).reshape(b, n, DIM))
        a, g = self.up(self.n2(x)).chunk(2, -1)
        return x + self.down(F.dropout(a * F.relu(g), 0.1, self.training))


class FTTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = Tokenizer()
        self.blocks = nn.ModuleList([Block() for _ in range(BLOCKS)])
        self.head = nn.Sequential(nn.LayerNorm(DIM), nn.ReLU(), nn.Linear(DIM, 1))

    def forward(self, num, cat):
        x = self.tok(num, cat)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0]).squeeze(1)


def table(rows):
    num = torch.randn(rows, NUMERIC)
    cat = torch.stack([torch.randint(0, c, (rows,)) for c in CARDINALITIES], 1)
    y = num[:, :4].sum(1).tanh() + 0.1 * cat[:, 0] + 0.1 * torch.randn(rows)
    return TensorDataset(num, cat, (y - y.mean()) / y.std())


def main():
    set_seed(10)
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=ACCUM)
    train = DataLoader(table(ROWS), batch_size=BATCH, shuffle=True, drop_last=True, pin_memory=True)
    val = DataLoader(table(2 * EVAL_BATCH), batch_size=EVAL_BATCH)
    model = FTTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=1e-5)
    model, optimizer, train, val = accelerator.prepare(model, optimizer, train, val)
    swa = AveragedModel(accelerator.unwrap_model(model))
    swa_schedule = SWALR(optimizer.optimizer, swa_lr=5e-5, anneal_epochs=2)

    model.train()
    for step, (num, cat, y) in enumerate(train):
        if step >= STEPS:
            break
        with accelerator.accumulate(model):
            loss = F.mse_loss(model(num, cat).float(), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients and step >= SWA_START:
            swa.update_parameters(accelerator.unwrap_model(model))
            swa_schedule.step()
        accelerator.print(f"step {step} loss {loss.item():.4f}")

    swa.eval()
    errors = []
    with torch.no_grad(), accelerator.autocast():
        for num, cat, y in val:
            errors.append(F.mse_loss(swa(num, cat).float(), y))
    accelerator.print("swa rmse", torch.stack(errors).mean().sqrt().item())


if __name__ == "__main__":
    main()
