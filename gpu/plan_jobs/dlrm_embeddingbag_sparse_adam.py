"""DLRM click model: sparse EmbeddingBag tables trained with SparseAdam, MLPs trained with Adagrad."""

import torch
import torch.nn as nn

TABLE_SIZES = [4_000_000, 2_500_000, 1_500_000, 1_000_000, 500_000, 300_000, 100_000] + [20_000] * 6 + [1_000] * 13
EMBED_DIM = 64
NUM_DENSE = 13
BATCH_SIZE = 16384
MULTI_HOT = 3
STEPS = 5


def make_mlp(sizes, sigmoid_last=False):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2 or not sigmoid_last:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class DLRM(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(n, EMBED_DIM, mode="sum", sparse=True, device=device) for n in TABLE_SIZES
        )
        for table in self.tables:
            nn.init.uniform_(table.weight, -(table.num_embeddings**-0.5), table.num_embeddings**-0.5)
        self.bottom = make_mlp([NUM_DENSE, 512, 256, EMBED_DIM]).to(device)
        num_features = len(TABLE_SIZES) + 1
        num_pairs = num_features * (num_features - 1) // 2
        self.top = make_mlp([EMBED_DIM + num_pairs, 1024, 1024, 512, 256, 1], sigmoid_last=True).to(device)
        rows, cols = torch.tril_indices(num_features, num_features, offset=-1, device=device)
        self.register_buffer("rows", rows)
        self.register_buffer("cols", cols)

    def forward(self, dense, indices, offsets):
        x = self.bottom(dense)
        pooled = [table(idx, off) for table, idx, off in zip(self.tables, indices, offsets)]
        features = torch.stack([x] + pooled, dim=1)
        interactions = torch.bmm(features, features.transpose(1, 2))
        flat = interactions[:, self.rows, self.cols]
        return self.top(torch.cat([x, flat], dim=1)).squeeze(1)


def random_batch(device):
    dense = torch.rand(BATCH_SIZE, NUM_DENSE, device=device)
    offsets = [torch.arange(0, BATCH_SIZE * MULTI_HOT, MULTI_HOT, device=device) for _ in TABLE_SIZES]
    indices = [torch.randint(0, n, (BATCH_SIZE * MULTI_HOT,), device=device) for n in TABLE_SIZES]
    labels = torch.randint(0, 2, (BATCH_SIZE,), device=device).float()
    return dense, indices, offsets, labels


def main():
    torch.manual_seed(123)
    device = torch.device("cuda")
    model = DLRM(device)

    sparse_opt = torch.optim.SparseAdam(list(model.tables.parameters()), lr=1e-3)
    dense_opt = torch.optim.Adagrad(list(model.bottom.parameters()) + list(model.top.parameters()), lr=1e-2)
    criterion = nn.BCEWithLogitsLoss()

    for step in range(STEPS):
        dense, indices, offsets, labels = random_batch(device)
        loss = criterion(model(dense, indices, offsets), labels)
        sparse_opt.zero_grad()
        dense_opt.zero_grad()
        loss.backward()
        sparse_opt.step()
        dense_opt.step()
        print(f"step {step} loss {loss.item():.5f}")

    model.eval()
    with torch.no_grad():
        dense, indices, offsets, labels = random_batch(device)
        prob = torch.sigmoid(model(dense, indices, offsets))
    print(f"eval accuracy {((prob > 0.5).float() == labels).float().mean().item():.4f}")


if __name__ == "__main__":
    main()
