"""Long-sequence event tagging with nn.MultiheadAttention, a banded attention mask and padding masks, fp32."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM = 384
HEADS = 6
LAYERS = 6
EVENTS = 5000
TAGS = 12
MAX_LEN = 3072
WINDOW = 512


class Layer(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.attention = nn.MultiheadAttention(DIM, HEADS, dropout=dropout, batch_first=True)
        self.norm1 = nn.LayerNorm(DIM)
        self.norm2 = nn.LayerNorm(DIM)
        self.ff = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.ReLU(), nn.Dropout(dropout), nn.Linear(4 * DIM, DIM))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, band, padding):
        h = self.norm1(x)
        h, _ = self.attention(h, h, h, attn_mask=band, key_padding_mask=padding, need_weights=False)
        x = x + self.drop(h)
        return x + self.drop(self.ff(self.norm2(x)))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.events = nn.Embedding(EVENTS, DIM, padding_idx=0)
        self.positions = nn.Embedding(MAX_LEN, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, TAGS)

    def forward(self, ids):
        length = ids.shape[1]
        where = torch.arange(length, device=ids.device)
        band = (where[:, None] - where[None, :]).abs() > WINDOW
        padding = ids == 0
        x = self.events(ids) + self.positions(where)
        for layer in self.layers:
            x = layer(x, band, padding)
        return self.head(self.norm(x))


def make_batch(size):
    lengths = torch.randint(MAX_LEN // 2, MAX_LEN + 1, (size,))
    ids = torch.zeros(size, int(lengths.max()), dtype=torch.long)
    tags = torch.full_like(ids, -100)
    for i, n in enumerate(lengths.tolist()):
        ids[i, :n] = torch.randint(1, EVENTS, (n,))
        tags[i, :n] = torch.randint(0, TAGS, (n,))
    return ids, tags


def main():
    torch.manual_seed(123)
    model = Tagger().cuda()
    optimizer = torch.optim.Adamax(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=10)
    for step in range(5):
        ids, tags = make_batch(4)
        ids, tags = ids.cuda(), tags.cuda()
        logits = model(ids)
        loss = F.cross_entropy(logits.transpose(1, 2), tags, ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        print(f"step {step} length {ids.shape[1]} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
