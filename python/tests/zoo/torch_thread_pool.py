"""Models in the threads of a pool, each with its own optimizer; CUDA starts in one of them."""
# gpu: yes
import concurrent.futures

import torch


def train(size):
    weight = torch.nn.Parameter(torch.ones(size, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        (weight * 2).sum().backward()
        optimizer.step()
    return weight.shape[0]


with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(list(pool.map(train, [128, 256, 512, 1024])))
