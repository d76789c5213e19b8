"""GraphSAGE on a products-sized random graph: neighbour sampling by hand from CSR on the GPU, mean aggregation with
index_add, then layer-wise inference over all nodes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

NODES = 1_600_000
EDGES = 24_000_000
FEATURES, HIDDEN, CLASSES = 100, 256, 47
FANOUT = (15, 10, 5)
BATCH = 4096
STEPS = 8
INFER_CHUNK = 200_000


def random_graph(device):
    src = (torch.rand(EDGES, device=device) ** 2 * NODES).long().clamp(max=NODES - 1)
    dst = torch.randint(0, NODES, (EDGES,), device=device)
    order = dst.argsort()
    indices = src[order]
    degree = torch.bincount(dst, minlength=NODES)
    indptr = torch.zeros(NODES + 1, dtype=torch.long, device=device)
    indptr[1:] = degree.cumsum(0)
    return indptr, indices


@torch.no_grad()
def sample_block(indptr, indices, seeds, fanout):
    """returns the source nodes (seeds first), and the edges as positions (src, dst)."""
    start, degree = indptr[seeds], indptr[seeds + 1] - indptr[seeds]
    offset = (torch.rand(seeds.numel(), fanout, device=seeds.device) * degree.unsqueeze(1)).long()
    neighbours = indices[(start.unsqueeze(1) + offset).clamp(max=indices.numel() - 1)]
    dst = torch.arange(seeds.numel(), device=seeds.device).unsqueeze(1).expand_as(neighbours)
    valid = (degree > 0).unsqueeze(1).expand_as(neighbours)
    neighbours, dst = neighbours[valid], dst[valid]
    nodes, inverse = torch.unique(torch.cat([seeds, neighbours]), return_inverse=True)
    # put the seeds first
    position = torch.full((nodes.numel(),), -1, dtype=torch.long, device=seeds.device)
    position[inverse[: seeds.numel()]] = torch.arange(seeds.numel(), device=seeds.device)
    rest = position == -1
    position[rest] = torch.arange(int(rest.sum()), device=seeds.device) + seeds.numel()
    ordered = torch.empty_like(nodes)
    ordered[position] = nodes
    return ordered, position[inverse[seeds.numel() :]], dst


class SAGEConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.self_lin, self.nbr_lin = nn.Linear(cin, cout), nn.Linear(cin, cout, bias=False)

    def forward(self, x, src, dst, n_dst):
        agg = x.new_zeros(n_dst, x.size(1)).index_add_(0, dst, x[src])
        count = torch.bincount(dst, minlength=n_dst).clamp(min=1).unsqueeze(1)
        return self.self_lin(x[:n_dst]) + self.nbr_lin(agg / count)


class GraphSAGE(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([SAGEConv(FEATURES, HIDDEN), SAGEConv(HIDDEN, HIDDEN), SAGEConv(HIDDEN, CLASSES)])

    def forward(self, x, blocks):
        for i, (conv, (src, dst, n)) in enumerate(zip(self.convs, blocks)):
            x = conv(x, src, dst, n)
            if i < len(self.convs) - 1:
                x = F.dropout(F.relu(F.normalize(x, dim=-1)), 0.5, self.training)
        return x


@torch.no_grad()
def full_inference(model, x, indptr, indices):
    model.eval()
    for i, conv in enumerate(model.convs):
        outs = []
        for lo in range(0, NODES, INFER_CHUNK):
            hi = min(lo + INFER_CHUNK, NODES)
            degree = indptr[lo + 1 : hi + 1] - indptr[lo:hi]
            dst = torch.repeat_interleave(torch.arange(hi - lo, device=x.device), degree)
            src = indices[indptr[lo] : indptr[hi]]
            agg = x.new_zeros(hi - lo, x.size(1)).index_add_(0, dst, x[src]) / degree.clamp(min=1).unsqueeze(1)
            h = conv.self_lin(x[lo:hi]) + conv.nbr_lin(agg)
            outs.append(F.relu(F.normalize(h, dim=-1)) if i < 2 else h)
        x = torch.cat(outs)
    return x


def main():
    torch.manual_seed(9)
    device = torch.device("cuda")
    indptr, indices = random_graph(device)
    features = torch.randn(NODES, FEATURES, device=device)
    labels = torch.randint(0, CLASSES, (NODES,), device=device)
    train_ids = torch.randperm(NODES, device=device)[: BATCH * STEPS]

    model = GraphSAGE().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    model.train()
    for step, seeds in enumerate(train_ids.split(BATCH)):
        blocks, nodes = [], seeds
        for fanout in FANOUT:
            n_dst = nodes.numel()
            nodes, src, dst = sample_block(indptr, indices, nodes, fanout)
            blocks.insert(0, (src, dst, n_dst))
        logits = model(features[nodes], blocks)
        loss = F.cross_entropy(logits, labels[seeds])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} input nodes {nodes.numel()} loss {loss.item():.4f}")

    out = full_inference(model, features, indptr, indices)
    print("accuracy", (out.argmax(1) == labels).float().mean().item())


if __name__ == "__main__":
    main()
