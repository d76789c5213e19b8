"""Masked language model from nn.TransformerEncoder whose saved activations go to pinned host memory
(torch.autograd.graph.save_on_cpu), fp32 with TF32 matmuls."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

VOCAB = 30000
MASK, PAD = 4, 0
SEQ = 512
DIM, HEADS, LAYERS = 768, 12, 10
BATCH = 24
STEPS = 4
WORKERS = 2
PIN = True


class Sentences(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        ids = torch.randint(5, VOCAB, (SEQ,), generator=g)
        ids[int(torch.randint(SEQ // 2, SEQ + 1, (1,), generator=g)) :] = PAD
        labels = torch.full_like(ids, -100)
        picked = (torch.rand(SEQ, generator=g) < 0.15) & (ids != PAD)
        labels[picked] = ids[picked]
        ids[picked & (torch.rand(SEQ, generator=g) < 0.8)] = MASK
        return ids, labels


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM, padding_idx=PAD)
        self.pos = nn.Parameter(0.02 * torch.randn(SEQ, DIM))
        layer = nn.TransformerEncoderLayer(DIM, HEADS, 4 * DIM, dropout=0.1, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.transform = nn.Sequential(nn.Linear(DIM, DIM), nn.GELU(), nn.LayerNorm(DIM))
        self.bias = nn.Parameter(torch.zeros(VOCAB))

    def forward(self, ids, labels):
        x = self.tok(ids) + self.pos
        h = self.encoder(x, src_key_padding_mask=ids == PAD)
        picked = labels != -100
        logits = F.linear(self.transform(h[picked]), self.tok.weight, self.bias)
        return F.cross_entropy(logits, labels[picked])


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda")
    model = Encoder().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    loader = DataLoader(Sentences(BATCH * STEPS), batch_size=BATCH, num_workers=WORKERS, pin_memory=True)
    for step, (ids, labels) in enumerate(loader):
        ids, labels = ids.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        with torch.autograd.graph.save_on_cpu(pin_memory=PIN):
            loss = model(ids, labels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
