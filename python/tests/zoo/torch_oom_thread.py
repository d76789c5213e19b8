"""Memory runs out in a thread, whose exception only threading.excepthook sees."""
# gpu: yes
import threading

import torch

threading.excepthook = lambda found: print("thread:", found.exc_type.__name__)


def work():
    held = []
    while True:
        held.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))


thread = threading.Thread(target=work)
thread.start()
thread.join()
for _ in range(200):
    torch.ones(1024, device="cuda")
print("goes on")
