"""Text classifier on nn.TransformerEncoder (norm_first, padding mask): a few training steps, then eval (fast path)."""

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

VOCAB_SIZE = 30000
NUM_CLASSES = 20
MAX_LEN = 384
BATCH_SIZE = 48
TRAIN_STEPS = 4
PAD = 0


class RandomTextDataset(Dataset):
    def __init__(self, size, seed):
        generator = torch.Generator().manual_seed(seed)
        lengths = torch.randint(MAX_LEN // 4, MAX_LEN + 1, (size,), generator=generator).tolist()
        self.texts = [torch.randint(1, VOCAB_SIZE, (n,), generator=generator) for n in lengths]
        self.labels = torch.randint(0, NUM_CLASSES, (size,), generator=generator)

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, idx):
        return self.texts[idx], self.labels[idx]


def collate(batch):
    texts, labels = zip(*batch)
    return pad_sequence(texts, batch_first=True, padding_value=PAD), torch.stack(labels)


class TransformerClassifier(nn.Module):
    def __init__(self, d_model=768, nhead=12, num_layers=10, dim_feedforward=3072, dropout=0.1):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, d_model, padding_idx=PAD)
        self.position = nn.Parameter(torch.randn(1, MAX_LEN, d_model) * 0.02)
        layer = nn.TransformerEncoderLayer(
            d_model, nhead, dim_feedforward, dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers, norm=nn.LayerNorm(d_model))
        self.classifier = nn.Linear(d_model, NUM_CLASSES)

    def forward(self, tokens):
        padding_mask = tokens == PAD
        x = self.embedding(tokens) + self.position[:, : tokens.size(1)]
        x = self.encoder(x, src_key_padding_mask=padding_mask)
        keep = (~padding_mask).unsqueeze(-1).float()
        return self.classifier((x * keep).sum(dim=1) / keep.sum(dim=1))


device = torch.device("cuda")
torch.manual_seed(11)
train_loader = DataLoader(
    RandomTextDataset(BATCH_SIZE * TRAIN_STEPS, seed=0), batch_size=BATCH_SIZE, shuffle=True, collate_fn=collate
)
test_loader = DataLoader(RandomTextDataset(256, seed=1), batch_size=128, collate_fn=collate)

model = TransformerClassifier().to(device)
optimizer = torch.optim.Adamax(model.parameters(), lr=2e-4, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.9)
criterion = nn.CrossEntropyLoss()

model.train()
for step, (tokens, labels) in enumerate(train_loader):
    tokens, labels = tokens.to(device), labels.to(device)
    optimizer.zero_grad()
    loss = criterion(model(tokens), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    scheduler.step()
    print(f"step {step} loss {loss.item():.4f}")

model.eval()
correct = 0
with torch.no_grad():
    for tokens, labels in test_loader:
        logits = model(tokens.to(device))
        correct += (logits.argmax(dim=1).cpu() == labels).sum().item()
print(f"test accuracy {correct / 256:.4f}")
