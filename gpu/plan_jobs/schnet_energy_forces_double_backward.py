"""SchNet-like interatomic potential trained on energies and forces (forces by autograd with create_graph=True)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

NUM_MOLECULES = 256
ATOMS = 32
STEPS = 4


class ShiftedSoftplus(nn.Module):
    def forward(self, x):
        return F.softplus(x) - 0.6931471805599453


class Interaction(nn.Module):
    def __init__(self, hidden, num_rbf):
        super().__init__()
        self.filter = nn.Sequential(nn.Linear(num_rbf, hidden), ShiftedSoftplus(), nn.Linear(hidden, hidden))
        self.lin1 = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Sequential(nn.Linear(hidden, hidden), ShiftedSoftplus(), nn.Linear(hidden, hidden))

    def forward(self, h, src, dst, rbf, envelope):
        w = self.filter(rbf) * envelope.unsqueeze(-1)
        messages = self.lin1(h)[src] * w
        agg = torch.zeros_like(h).index_add(0, dst, messages)
        return h + self.out(agg)


class SchNet(nn.Module):
    def __init__(self, hidden=128, num_interactions=5, num_rbf=50, cutoff=5.0):
        super().__init__()
        self.cutoff = cutoff
        self.embedding = nn.Embedding(100, hidden)
        self.register_buffer("centers", torch.linspace(0.0, cutoff, num_rbf))
        self.gamma = 0.5 / (cutoff / num_rbf) ** 2
        self.interactions = nn.ModuleList([Interaction(hidden, num_rbf) for _ in range(num_interactions)])
        self.head = nn.Sequential(nn.Linear(hidden, hidden // 2), ShiftedSoftplus(), nn.Linear(hidden // 2, 1))

    def forward(self, z, pos, batch, edge_index, num_molecules):
        src, dst = edge_index
        dist = (pos[src] - pos[dst]).norm(dim=-1)
        rbf = torch.exp(-self.gamma * (dist.unsqueeze(-1) - self.centers) ** 2)
        envelope = 0.5 * (torch.cos(torch.pi * dist / self.cutoff) + 1.0) * (dist < self.cutoff)
        h = self.embedding(z)
        for interaction in self.interactions:
            h = interaction(h, src, dst, rbf, envelope)
        atom_energy = self.head(h).squeeze(-1)
        return torch.zeros(num_molecules, device=pos.device).index_add(0, batch, atom_energy)


def all_pairs(num_molecules, atoms, device):
    i, j = torch.meshgrid(torch.arange(atoms), torch.arange(atoms), indexing="ij")
    pairs = torch.stack([i[i != j], j[i != j]])
    offsets = torch.arange(num_molecules).repeat_interleave(pairs.size(1)) * atoms
    return (pairs.repeat(1, num_molecules) + offsets).to(device)


torch.manual_seed(7)
device = torch.device("cuda")
model = SchNet().to(device)
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, amsgrad=True)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.99)
edge_index = all_pairs(NUM_MOLECULES, ATOMS, device)
batch = torch.arange(NUM_MOLECULES, device=device).repeat_interleave(ATOMS)

for step in range(STEPS):
    z = torch.randint(1, 10, (NUM_MOLECULES * ATOMS,), device=device)
    pos = (6.0 * torch.rand(NUM_MOLECULES * ATOMS, 3, device=device)).requires_grad_(True)
    energy_ref = torch.randn(NUM_MOLECULES, device=device)
    forces_ref = torch.randn(NUM_MOLECULES * ATOMS, 3, device=device)

    energy = model(z, pos, batch, edge_index, NUM_MOLECULES)
    forces = -torch.autograd.grad(energy.sum(), pos, create_graph=True)[0]
    loss = F.mse_loss(energy, energy_ref) + 100.0 * F.mse_loss(forces, forces_ref)

    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()
    scheduler.step()
    ema.update_parameters(model)
    print(f"step {step} loss {loss.item():.4f} force mae {(forces - forces_ref).abs().mean().item():.4f}")
