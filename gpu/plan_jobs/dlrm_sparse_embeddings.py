"""DLRM-style click prediction: sparse EmbeddingBag tables with SparseAdam, dense layers with Adam."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

TABLES = [4_000_000, 2_500_000, 1_000_000, 1_000_000, 400_000, 120_000, 50_000, 12_000, 3_000, 900, 100, 24]
DIM = 64
DENSE = 13
BATCH = 16384


def mlp(sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers)


class DLRM(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(rows, DIM, mode="sum", sparse=True, device=device) for rows in TABLES
        )
        n = len(TABLES) + 1
        self.bottom = mlp([DENSE, 512, 256, DIM]).to(device)
        self.top = nn.Sequential(mlp([DIM + n * (n - 1) // 2, 1024, 1024, 512]), nn.Linear(512, 1)).to(device)
        rows, cols = torch.tril_indices(n, n, offset=-1)
        self.register_buffer("rows", rows.to(device))
        self.register_buffer("cols", cols.to(device))

    def forward(self, dense, bags):
        x = self.bottom(dense)
        pooled = [table(values, offsets) for table, (values, offsets) in zip(self.tables, bags)]
        stacked = torch.stack([x] + pooled, dim=1)
        interactions = torch.bmm(stacked, stacked.transpose(1, 2))[:, self.rows, self.cols]
        return self.top(torch.cat([x, interactions], dim=1)).squeeze(1)


def make_batch(rng):
    """Each table gets between 1 and 6 ids for every row."""
    bags = []
    for rows in TABLES:
        counts = rng.integers(1, 7, size=BATCH)
        offsets = np.concatenate([[0], np.cumsum(counts)[:-1]])
        values = (rows * rng.random(counts.sum()) ** 3).astype(np.int64)
        bags.append((torch.from_numpy(values), torch.from_numpy(offsets)))
    dense = torch.from_numpy(rng.lognormal(size=(BATCH, DENSE)).astype(np.float32))
    clicks = torch.from_numpy((rng.random(BATCH) < 0.03).astype(np.float32))
    return torch.log1p(dense), bags, clicks


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    device = torch.device("cuda")
    model = DLRM(device)
    dense_params = list(model.bottom.parameters()) + list(model.top.parameters())
    sparse_opt = torch.optim.SparseAdam(list(model.tables.parameters()), lr=1e-3)
    dense_opt = torch.optim.Adam(dense_params, lr=1e-3)

    for step in range(5):
        dense, bags, clicks = make_batch(rng)
        bags = [(v.to(device), o.to(device)) for v, o in bags]
        logits = model(dense.to(device), bags)
        loss = F.binary_cross_entropy_with_logits(logits, clicks.to(device))
        sparse_opt.zero_grad()
        dense_opt.zero_grad()
        loss.backward()
        sparse_opt.step()
        dense_opt.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
