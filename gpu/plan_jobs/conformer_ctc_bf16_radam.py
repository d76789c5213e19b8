"""Speech recognition with a hand-written Conformer encoder and CTC loss, bf16 autocast, RAdam, 2 accumulation steps."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH_SIZE, FRAMES, N_MELS = 32, 1600, 80
DIM, HEADS, LAYERS, KERNEL, VOCAB = 512, 8, 12, 31, 1024
UPDATES, ACCUM = 3, 2


class FeedForward(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.LayerNorm(DIM), nn.Linear(DIM, 4 * DIM), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * DIM, DIM)
        )


class ConvModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.pointwise1 = nn.Conv1d(DIM, 2 * DIM, 1)
        self.depthwise = nn.Conv1d(DIM, DIM, KERNEL, padding=KERNEL // 2, groups=DIM)
        self.bn = nn.BatchNorm1d(DIM)
        self.pointwise2 = nn.Conv1d(DIM, DIM, 1)

    def forward(self, x, pad_mask):
        x = self.norm(x).transpose(1, 2).masked_fill(pad_mask[:, None, :], 0.0)
        x = F.glu(self.pointwise1(x), dim=1)
        x = F.silu(self.bn(self.depthwise(x)))
        return F.dropout(self.pointwise2(x), 0.1, self.training).transpose(1, 2)


class ConformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.ff1, self.ff2, self.conv = FeedForward(), FeedForward(), ConvModule()
        self.attn_norm, self.final_norm = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attn = nn.MultiheadAttention(DIM, HEADS, dropout=0.1, batch_first=True)

    def forward(self, x, pad_mask):
        x = x + 0.5 * self.ff1(x)
        y = self.attn_norm(x)
        x = x + self.attn(y, y, y, key_padding_mask=pad_mask, need_weights=False)[0]
        x = x + self.conv(x, pad_mask)
        return self.final_norm(x + 0.5 * self.ff2(x))


class Conformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.subsample = nn.Sequential(nn.Conv2d(1, DIM, 3, 2, 1), nn.ReLU(), nn.Conv2d(DIM, DIM, 3, 2, 1), nn.ReLU())
        self.proj = nn.Linear(DIM * (N_MELS // 4), DIM)
        self.blocks = nn.ModuleList([ConformerBlock() for _ in range(LAYERS)])
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, mels, lengths):
        x = self.subsample(mels.unsqueeze(1))
        x = self.proj(x.permute(0, 2, 1, 3).flatten(2))
        lengths = (lengths + 3) // 4
        pad_mask = torch.arange(x.size(1), device=x.device)[None, :] >= lengths[:, None]
        for block in self.blocks:
            x = block(x, pad_mask)
        return self.head(x), lengths


torch.manual_seed(0)
device = torch.device("cuda")
model = Conformer().to(device)
optimizer = torch.optim.RAdam(model.parameters(), lr=1e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 100))

for update in range(UPDATES):
    optimizer.zero_grad()
    for micro in range(ACCUM):
        mels = torch.randn(BATCH_SIZE, FRAMES, N_MELS, device=device)
        lengths = torch.randint(FRAMES // 2, FRAMES + 1, (BATCH_SIZE,), device=device)
        targets = torch.randint(1, VOCAB, (BATCH_SIZE, 80), device=device)
        target_lengths = torch.randint(30, 81, (BATCH_SIZE,), device=device)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits, out_lengths = model(mels, lengths)
        log_probs = logits.float().log_softmax(-1).transpose(0, 1)
        loss = F.ctc_loss(log_probs, targets, out_lengths, target_lengths, blank=0, zero_infinity=True)
        (loss / ACCUM).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    scheduler.step()
    print(f"update {update} loss {loss.item():.3f}")
