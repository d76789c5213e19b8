"""A DLRM-like recommender; forward with loss is compiled, and the optimizer's step is compiled too."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_float32_matmul_precision("high")
TABLES = [400_000, 250_000, 250_000, 120_000, 60_000, 20_000, 5_000, 1_000, 500, 100]
DENSE, DIM, BATCH, BAG = 13, 64, 16384, 4


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(n, DIM, mode="sum") for n in TABLES[:3])
        self.singles = nn.ModuleList(nn.Embedding(n, DIM) for n in TABLES[3:])
        self.bottom = mlp(DENSE, 512, 256, DIM)
        fields = len(TABLES) + 1
        self.register_buffer("pairs", torch.tril_indices(fields, fields, -1), persistent=False)
        self.top = mlp(DIM + fields * (fields - 1) // 2, 1024, 1024, 512, 1)

    def forward(self, dense, multi, single):
        x = self.bottom(dense)
        vectors = [x]
        vectors += [bag(multi[i]) for i, bag in enumerate(self.bags)]
        vectors += [table(single[:, i]) for i, table in enumerate(self.singles)]
        stacked = torch.stack(vectors, dim=1)
        dots = torch.bmm(stacked, stacked.transpose(1, 2))
        dots = dots[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([x, dots], dim=1)).squeeze(1)


def batch():
    dense = torch.rand(BATCH, DENSE).log1p()
    multi = torch.stack([torch.randint(0, n, (BATCH, BAG)) for n in TABLES[:3]])
    single = torch.stack([torch.randint(0, n, (BATCH,)) for n in TABLES[3:]], dim=1)
    clicks = (torch.rand(BATCH) < 0.03).float()
    return [t.pin_memory().to("cuda", non_blocking=True) for t in (dense, multi, single, clicks)]


if __name__ == "__main__":
    torch.manual_seed(7)
    model = DLRM().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    @torch.compile
    def loss_fn(dense, multi, single, clicks):
        return F.binary_cross_entropy_with_logits(model(dense, multi, single), clicks)

    @torch.compile(fullgraph=False)
    def opt_step():
        optimizer.step()

    for step in range(5):
        loss = loss_fn(*batch())
        loss.backward()
        opt_step()
        optimizer.zero_grad(set_to_none=True)
        print(f"{step}: {loss.item():.4f}  {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB")
