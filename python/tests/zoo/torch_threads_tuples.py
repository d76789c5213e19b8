"""Threads build tuples, lists and dictionaries of tensors while another one trains."""
# gpu: yes
import threading

import torch

weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
stop = threading.Event()
wrong = []


def build():
    while not stop.is_set():
        made = tuple(object() for _ in range(50))
        if len(made) != 50 or None in made:
            wrong.append(made)


threads = [threading.Thread(target=build) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(20):
    weight.sum().backward()
    optimizer.step()
stop.set()
for thread in threads:
    thread.join()
print(wrong)
