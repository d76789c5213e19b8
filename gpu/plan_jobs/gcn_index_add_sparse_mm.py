"""Full-batch node classification with GCN layers (torch.sparse.mm) and an edge message layer (index_add_)."""

import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_NODES = 200_000
NUM_EDGES = 3_000_000
IN_DIM, HIDDEN, NUM_CLASSES = 128, 256, 40
EPOCHS = 5


def random_graph(num_nodes, num_edges, device):
    src = torch.randint(0, num_nodes, (num_edges,), device=device)
    dst = torch.randint(0, num_nodes, (num_edges,), device=device)
    loops = torch.arange(num_nodes, device=device)
    edge_index = torch.stack([torch.cat([src, dst, loops]), torch.cat([dst, src, loops])])
    return edge_index


def normalized_adjacency(edge_index, num_nodes):
    row, col = edge_index
    deg = torch.zeros(num_nodes, device=row.device).index_add_(0, row, torch.ones_like(row, dtype=torch.float))
    deg_inv_sqrt = deg.pow(-0.5)
    values = deg_inv_sqrt[row] * deg_inv_sqrt[col]
    return torch.sparse_coo_tensor(edge_index, values, (num_nodes, num_nodes)).coalesce()


class GCNConv(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_dim))

    def forward(self, x, adj):
        return torch.sparse.mm(adj, self.linear(x)) + self.bias


class EdgeMessage(nn.Module):
    def __init__(self, dim, message_dim):
        super().__init__()
        self.message = nn.Linear(dim, message_dim)
        self.gate = nn.Linear(2 * message_dim, 1)
        self.update = nn.Linear(dim + message_dim, dim)

    def forward(self, x, edge_index):
        src, dst = edge_index
        h = self.message(x)
        h_src, h_dst = h[src], h[dst]
        alpha = torch.sigmoid(self.gate(torch.cat([h_src, h_dst], dim=-1)))
        out = torch.zeros_like(h)
        out.index_add_(0, dst, alpha * h_src)
        return F.relu(self.update(torch.cat([x, out], dim=-1)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(IN_DIM, HIDDEN)
        self.edge = EdgeMessage(HIDDEN, 64)
        self.conv2 = GCNConv(HIDDEN, NUM_CLASSES)

    def forward(self, x, adj, edge_index):
        x = F.dropout(F.relu(self.conv1(x, adj)), p=0.5, training=self.training)
        x = self.edge(x, edge_index)
        return self.conv2(F.dropout(x, p=0.5, training=self.training), adj)


torch.manual_seed(12345)
device = torch.device("cuda")
edge_index = random_graph(NUM_NODES, NUM_EDGES, device)
adj = normalized_adjacency(edge_index, NUM_NODES)
x = torch.randn(NUM_NODES, IN_DIM, device=device)
y = torch.randint(0, NUM_CLASSES, (NUM_NODES,), device=device)
train_mask = torch.rand(NUM_NODES, device=device) < 0.6

model = Net().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(EPOCHS):
    model.train()
    optimizer.zero_grad()
    out = model(x, adj, edge_index)
    loss = F.cross_entropy(out[train_mask], y[train_mask])
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = model(x, adj, edge_index).argmax(dim=1)
    print(f"epoch {epoch} loss {loss.item():.4f} test acc {(pred == y)[~train_mask].float().mean().item():.4f}")
