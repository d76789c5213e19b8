"""Full-graph training of a graph attention network with torch_geometric on a made-up citation graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

NODES = 60_000
EDGES = 600_000
FEATURES = 256
CLASSES = 40


def make_graph():
    gen = torch.Generator().manual_seed(0)
    source = torch.randint(0, NODES, (EDGES,), generator=gen)
    target = torch.randint(0, NODES, (EDGES,), generator=gen)
    data = Data(
        x=torch.randn(NODES, FEATURES, generator=gen),
        edge_index=torch.stack([source, target]),
        y=torch.randint(0, CLASSES, (NODES,), generator=gen),
    )
    order = torch.randperm(NODES, generator=gen)
    data.train_idx = order[:30_000]
    data.test_idx = order[30_000:]
    return data


class GAT(nn.Module):
    def __init__(self, hidden=64, heads=4, dropout=0.5):
        super().__init__()
        self.dropout = dropout
        self.conv1 = GATConv(FEATURES, hidden, heads=heads, dropout=0.1)
        self.conv2 = GATConv(hidden * heads, hidden, heads=heads, dropout=0.1)
        self.conv3 = GATConv(hidden * heads, CLASSES, heads=heads, concat=False)
        self.norm1 = nn.BatchNorm1d(hidden * heads)
        self.norm2 = nn.BatchNorm1d(hidden * heads)

    def forward(self, x, edge_index):
        x = F.dropout(x, 0.1, self.training)
        x = F.elu(self.norm1(self.conv1(x, edge_index)))
        x = F.dropout(x, self.dropout, self.training)
        x = F.elu(self.norm2(self.conv2(x, edge_index)))
        x = F.dropout(x, self.dropout, self.training)
        return self.conv3(x, edge_index)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    data = make_graph().to(device)
    model = GAT().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)

    for epoch in range(5):
        model.train()
        optimizer.zero_grad()
        out = model(data.x, data.edge_index)
        loss = F.cross_entropy(out[data.train_idx], data.y[data.train_idx])
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")

    model.eval()
    with torch.no_grad():
        pred = model(data.x, data.edge_index).argmax(dim=-1)
    accuracy = (pred[data.test_idx] == data.y[data.test_idx]).float().mean()
    print("test accuracy", accuracy.item())


if __name__ == "__main__":
    main()
