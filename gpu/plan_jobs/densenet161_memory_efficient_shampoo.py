"""DenseNet-161 with memory_efficient blocks (checkpointed concatenations) and a hand-written blocked Shampoo, fp32."""
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.models import densenet161

BATCH = 64
SIZE = 224
CLASSES = 100
STEPS = 6
WORKERS = 4


class Images(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(3, SIZE, SIZE, generator=g), i % CLASSES


class Shampoo(torch.optim.Optimizer):
    """Kronecker-factored preconditioners for sides up to max_dim, with momentum and SGD grafting."""

    def __init__(self, params, lr=0.1, momentum=0.9, weight_decay=1e-4, eps=1e-4, update_freq=3, max_dim=1024):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, eps=eps))
        self.update_freq, self.max_dim = update_freq, max_dim

    @staticmethod
    def inverse_root(mat, power):
        vals, vecs = torch.linalg.eigh(mat)
        return (vecs * vals.clamp(min=1e-10).pow(-1.0 / power)) @ vecs.T

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad.add(p, alpha=group["weight_decay"])
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["momentum"] = torch.zeros_like(p)
                    if p.ndim >= 2:
                        shape = (p.size(0), p[0].numel())
                        for side, n in zip("LR", shape):
                            if n <= self.max_dim:
                                state[side] = group["eps"] * torch.eye(n, device=p.device)
                                state[side + "_inv"] = torch.eye(n, device=p.device)
                state["step"] += 1
                update = grad
                if "L" in state or "R" in state:
                    g = grad.reshape(p.size(0), -1)
                    order = 2 * (("L" in state) + ("R" in state))
                    if "L" in state:
                        state["L"].addmm_(g, g.T)
                    if "R" in state:
                        state["R"].addmm_(g.T, g)
                    if state["step"] % self.update_freq == 1:
                        for side in "LR":
                            if side in state:
                                state[side + "_inv"] = self.inverse_root(state[side], order)
                    pre = g
                    if "L" in state:
                        pre = state["L_inv"] @ pre
                    if "R" in state:
                        pre = pre @ state["R_inv"]
                    update = (pre * (g.norm() / pre.norm().clamp(min=1e-12))).view_as(p)
                state["momentum"].mul_(group["momentum"]).add_(update)
                p.add_(state["momentum"], alpha=-group["lr"])


def main():
    torch.manual_seed(161)
    device = torch.device("cuda")
    model = densenet161(weights=None, num_classes=CLASSES, memory_efficient=True, drop_rate=0.1).to(device)
    optimizer = Shampoo(model.parameters(), lr=0.005)
    loader = DataLoader(Images(BATCH * STEPS), batch_size=BATCH, shuffle=True, num_workers=WORKERS, pin_memory=True)
    model.train()
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
