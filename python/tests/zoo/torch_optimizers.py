"""LBFGS with a closure, foreach and for-loop forms, several optimizers, a scheduler, state that is loaded."""
# gpu: yes
import torch

weights = [torch.nn.Parameter(torch.ones(256, device="cuda")) for _ in range(3)]
optimizers = [
    torch.optim.Adam(weights, foreach=True),
    torch.optim.AdamW(weights, foreach=False),
    torch.optim.SGD(weights, lr=0.1, momentum=0.9, nesterov=True),
    torch.optim.Adagrad(weights),
]
calls = []


def closure():
    calls.append(1)
    loss = sum(weight.sum() for weight in weights)
    loss.backward()
    return loss


for optimizer in optimizers:
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for _ in range(2):
        optimizer.zero_grad(set_to_none=False)
        optimizer.step(closure)
        scheduler.step()
    optimizer.load_state_dict(optimizer.state_dict())
    print(type(optimizer).__name__, len(calls), len(optimizer.state), scheduler.get_last_lr())
