"""PointNet++ part segmentation by hand: farthest point sampling, ball query by sort, feature propagation. fp32."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

POINTS = 4096
PARTS = 50
BATCH = 32
STEPS = 5


def square_distance(src, dst):
    dist = -2 * torch.matmul(src, dst.transpose(1, 2))
    dist += (src**2).sum(-1).unsqueeze(2)
    dist += (dst**2).sum(-1).unsqueeze(1)
    return dist


def index_points(points, idx):
    B = points.shape[0]
    batch = torch.arange(B, device=points.device).view([B] + [1] * (idx.dim() - 1)).expand_as(idx)
    return points[batch, idx]


@torch.no_grad()
def farthest_point_sample(xyz, npoint):
    B, N, _ = xyz.shape
    centroids = torch.zeros(B, npoint, dtype=torch.long, device=xyz.device)
    distance = torch.full((B, N), 1e10, device=xyz.device)
    farthest = torch.randint(0, N, (B,), device=xyz.device)
    rows = torch.arange(B, device=xyz.device)
    for i in range(npoint):
        centroids[:, i] = farthest
        centroid = xyz[rows, farthest].unsqueeze(1)
        dist = ((xyz - centroid) ** 2).sum(-1)
        distance = torch.minimum(distance, dist)
        farthest = distance.max(-1)[1]
    return centroids


def query_ball_point(radius, nsample, xyz, new_xyz):
    B, N, _ = xyz.shape
    S = new_xyz.shape[1]
    group_idx = torch.arange(N, device=xyz.device).view(1, 1, N).repeat(B, S, 1)
    sqrdists = square_distance(new_xyz, xyz)
    group_idx[sqrdists > radius**2] = N
    group_idx = group_idx.sort(dim=-1)[0][:, :, :nsample]
    group_first = group_idx[:, :, 0:1].repeat(1, 1, nsample)
    mask = group_idx == N
    group_idx[mask] = group_first[mask]
    return group_idx.clamp(max=N - 1)


class SetAbstraction(nn.Module):
    def __init__(self, npoint, radius, nsample, cin, mlp):
        super().__init__()
        self.npoint, self.radius, self.nsample = npoint, radius, nsample
        layers, last = [], cin + 3
        for c in mlp:
            layers += [nn.Conv2d(last, c, 1), nn.BatchNorm2d(c), nn.ReLU()]
            last = c
        self.mlp = nn.Sequential(*layers)

    def forward(self, xyz, feats):
        new_xyz = index_points(xyz, farthest_point_sample(xyz, self.npoint))
        idx = query_ball_point(self.radius, self.nsample, xyz, new_xyz)
        grouped = index_points(xyz, idx) - new_xyz.unsqueeze(2)
        if feats is not None:
            grouped = torch.cat([grouped, index_points(feats, idx)], dim=-1)
        x = self.mlp(grouped.permute(0, 3, 2, 1))
        return new_xyz, x.max(2)[0].transpose(1, 2)


class FeaturePropagation(nn.Module):
    def __init__(self, cin, mlp):
        super().__init__()
        layers, last = [], cin
        for c in mlp:
            layers += [nn.Conv1d(last, c, 1), nn.BatchNorm1d(c), nn.ReLU()]
            last = c
        self.mlp = nn.Sequential(*layers)

    def forward(self, xyz1, xyz2, f1, f2):
        d, idx = square_distance(xyz1, xyz2).sort(dim=-1)
        w = 1.0 / (d[:, :, :3].clamp(min=0) + 1e-8)
        w = w / w.sum(-1, keepdim=True)
        interp = (index_points(f2, idx[:, :, :3]) * w.unsqueeze(-1)).sum(2)
        if f1 is not None:
            interp = torch.cat([f1, interp], dim=-1)
        return self.mlp(interp.transpose(1, 2)).transpose(1, 2)


class PointNet2Seg(nn.Module):
    def __init__(self):
        super().__init__()
        self.sa1 = SetAbstraction(POINTS // 4, 0.1, 32, 3, [64, 64, 128])
        self.sa2 = SetAbstraction(POINTS // 16, 0.2, 32, 128, [128, 128, 256])
        self.sa3 = SetAbstraction(POINTS // 64, 0.4, 32, 256, [256, 256, 512])
        self.fp3 = FeaturePropagation(512 + 256, [256, 256])
        self.fp2 = FeaturePropagation(256 + 128, [256, 128])
        self.fp1 = FeaturePropagation(128 + 3, [128, 128, 128])
        self.head = nn.Sequential(nn.Conv1d(128, 128, 1), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.5),
                                  nn.Conv1d(128, PARTS, 1))

    def forward(self, xyz, normals):
        x1, f1 = self.sa1(xyz, normals)
        x2, f2 = self.sa2(x1, f1)
        x3, f3 = self.sa3(x2, f2)
        f2 = self.fp3(x2, x3, f2, f3)
        f1 = self.fp2(x1, x2, f1, f2)
        f0 = self.fp1(xyz, x1, normals, f1)
        return self.head(f0.transpose(1, 2))


def main():
    torch.manual_seed(13)
    device = "cuda"
    n = BATCH * STEPS
    xyz = F.normalize(torch.randn(n, POINTS, 3), dim=-1) * torch.rand(n, POINTS, 1).sqrt()
    normals = F.normalize(torch.randn(n, POINTS, 3), dim=-1)
    parts = torch.randint(0, PARTS, (n, POINTS))
    loader = DataLoader(TensorDataset(xyz, normals, parts), batch_size=BATCH, shuffle=True, drop_last=True)

    model = PointNet2Seg().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.999), weight_decay=1e-4)
    for step, batch in enumerate(loader):
        xyz_b, nrm_b, y = (t.to(device) for t in batch)
        xyz_b = xyz_b * (0.8 + 0.4 * torch.rand(xyz_b.size(0), 1, 1, device=device))
        optimizer.zero_grad()
        logits = model(xyz_b, nrm_b)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        acc = (logits.argmax(1) == y).float().mean()
        print(f"step {step} loss {loss.item():.3f} acc {acc.item():.3f}")


if __name__ == "__main__":
    main()
