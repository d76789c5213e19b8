"""An autoencoder, with a mean of its weights."""

import torch
from torch import nn

SIZE = 2048
BATCH = 4096

encoder = nn.Sequential(nn.Linear(SIZE, 512), nn.Tanh(), nn.Linear(512, 64)).to("cuda")
decoder = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, SIZE)).to("cuda")
parameters = [*encoder.parameters(), *decoder.parameters()]
means = [weight.detach().clone() for weight in parameters]
optimizer = torch.optim.Adam(parameters)


def reconstruct(x):
    code = encoder(x)
    again = decoder(code)
    return code, again


def train_step():
    x = torch.zeros(BATCH, SIZE, device="cuda")
    code, again = reconstruct(x)
    loss = nn.functional.mse_loss(again, x)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for mean, weight in zip(means, parameters):
            mean.lerp_(weight, 0.1)
    return loss.detach()


total = torch.zeros((), device="cuda")
for _ in range(5):
    total += train_step()
