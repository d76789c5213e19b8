"""Physics-informed network for 2D Burgers: vmap over collocation points of jacrev and forward-over-reverse Hessians,
a few Adam steps and then L-BFGS with strong Wolfe line search, fp32."""
import torch
import torch.nn as nn
from torch.func import functional_call, hessian, jacrev, vmap

POINTS = 30000
BOUNDARY = 8000
WIDTH, DEPTH = 192, 7
ADAM_STEPS = 4
LBFGS_STEPS = 3
NU = 0.01 / torch.pi


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        layers, last = [], 3
        for _ in range(DEPTH):
            layers += [nn.Linear(last, WIDTH), nn.Tanh()]
            last = WIDTH
        self.net = nn.Sequential(*layers, nn.Linear(last, 2))
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, txy):
        return self.net(txy)


def main():
    torch.manual_seed(2)
    device = torch.device("cuda")
    net = MLP().to(device)
    params = dict(net.named_parameters())

    def f(p, txy):
        return functional_call(net, p, (txy,))

    def residual(p, txy):
        uv = f(p, txy)
        J = jacrev(f, argnums=1)(p, txy)
        H = hessian(f, argnums=1)(p, txy)
        convection = uv[0] * J[:, 1] + uv[1] * J[:, 2]
        diffusion = NU * (H[:, 1, 1] + H[:, 2, 2])
        return J[:, 0] + convection - diffusion

    batched_residual = vmap(residual, in_dims=(None, 0))
    interior = torch.rand(POINTS, 3, device=device) * torch.tensor([1.0, 2.0, 2.0], device=device)
    interior[:, 1:] -= 1
    initial = torch.rand(BOUNDARY, 3, device=device) * 2 - 1
    initial[:, 0] = 0
    target = torch.stack([-torch.sin(torch.pi * initial[:, 1]), torch.cos(torch.pi * initial[:, 2])], 1)

    def loss_fn():
        pde = batched_residual(params, interior).square().mean()
        ic = (net(initial) - target).square().mean()
        return pde + 10 * ic

    adam = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(ADAM_STEPS):
        adam.zero_grad()
        loss = loss_fn()
        loss.backward()
        adam.step()
        print(f"adam {step} loss {loss.item():.5f}")

    lbfgs = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=8, history_size=50, line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        loss = loss_fn()
        loss.backward()
        return loss

    for step in range(LBFGS_STEPS):
        print(f"lbfgs {step} loss {lbfgs.step(closure).item():.5f}")


if __name__ == "__main__":
    main()
