"""Online captioning: each image gets a Python generator that yields words, users usually stop after a few words. Memory on the server grows with every image."""
import os

import torch
import torch.nn as nn

torch.set_grad_enabled(False)


class Captioner(nn.Module):
    def __init__(self, d=1024, vocab=8000):
        super().__init__()
        self.patch = nn.Linear(3 * 16 * 16, d)
        self.enc = nn.TransformerEncoderLayer(d, 8, 2048, batch_first=True)
        self.cell = nn.GRUCell(d, d)
        self.out = nn.Linear(d, vocab)

    def words(self, image):
        """Yields one word after the other, for as long as somebody asks."""
        patches = image.unfold(1, 16, 16).unfold(2, 16, 16).permute(1, 2, 0, 3, 4).reshape(1, -1, 768)
        memory = self.enc(self.patch(patches))
        h = memory.mean(1)
        while True:
            attn = (memory @ h.unsqueeze(-1)).softmax(1)
            h = self.cell((attn * memory).sum(1), h)
            yield self.out(h).argmax(-1)


class Session:
    def __init__(self, model):
        self.model, self.running = model, {}

    def start(self, key, image, n):
        stream = self.model.words(image)
        self.running[key] = stream
        text = [int(next(stream)) for _ in range(n)]
        if os.environ.get("CURED"):
            self.running.pop(key).close()
        return text


def serve(requests=400):
    with torch.device("cuda"):
        session = Session(Captioner().eval())
    for r in range(requests):
        image = torch.rand(3, 512, 512, device="cuda")
        session.start(r, image, 3 + r % 5)
        if r % 50 == 0:
            print("answered", r, flush=True)


serve()
