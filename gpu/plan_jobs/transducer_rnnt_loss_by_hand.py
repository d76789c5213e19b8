"""RNN-T speech recognizer: conv subsampling, BiLSTM encoder, LSTM predictor, joint network and the transducer loss
written in plain PyTorch as an anti-diagonal recursion. bf16 autocast for the networks, fp32 loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

VOCAB = 1024
MELS = 80
BATCH = 16
STEPS = 5
MIN_FRAMES, MAX_FRAMES = 500, 900
WORKERS = 2


class FakeLibri(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        frames = int(torch.randint(MIN_FRAMES, MAX_FRAMES, (1,), generator=g))
        tokens = max(2, frames // 20)
        return torch.randn(frames, MELS, generator=g), torch.randint(1, VOCAB, (tokens,), generator=g)


def collate(batch):
    batch.sort(key=lambda b: -len(b[0]))
    feats, tokens = zip(*batch)
    return (pad_sequence(feats, batch_first=True), torch.tensor([len(f) for f in feats]),
            pad_sequence(tokens, batch_first=True), torch.tensor([len(t) for t in tokens]))


class Encoder(nn.Module):
    def __init__(self, dim=640, layers=5):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv2d(1, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, 2, 1), nn.ReLU())
        self.proj = nn.Linear(64 * (MELS // 4), dim)
        self.lstm = nn.LSTM(dim, dim // 2, layers, batch_first=True, bidirectional=True, dropout=0.2)

    def forward(self, x, lengths):
        x = self.sub(x.unsqueeze(1))
        x = self.proj(x.transpose(1, 2).flatten(2))
        lengths = (lengths + 3) // 4
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        y, _ = self.lstm(packed)
        return pad_packed_sequence(y, batch_first=True)[0], lengths


class Transducer(nn.Module):
    def __init__(self, dim=640):
        super().__init__()
        self.encoder = Encoder(dim)
        self.embed = nn.Embedding(VOCAB, dim)
        self.predictor = nn.LSTM(dim, dim, 1, batch_first=True)
        self.enc_proj, self.pred_proj = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, feats, lengths, tokens):
        enc, lengths = self.encoder(feats, lengths)
        start = torch.zeros_like(tokens[:, :1])
        pred, _ = self.predictor(self.embed(torch.cat([start, tokens], 1)))
        joint = torch.tanh(self.enc_proj(enc).unsqueeze(2) + self.pred_proj(pred).unsqueeze(1))
        return self.out(joint), lengths


def rnnt_loss(logits, tokens, t_len, u_len):
    """logits [B, T, U+1, V] with blank 0."""
    B, T, U1, _ = logits.shape
    logp = F.log_softmax(logits.float(), dim=-1)
    blank = logp[..., 0]
    emit = logp[:, :, :-1].gather(3, tokens[:, None, :, None].expand(B, T, U1 - 1, 1)).squeeze(3)
    neg = torch.full((B, 1), -1e30, device=logits.device)
    alpha = torch.cat([torch.zeros(B, 1, device=logits.device), neg.expand(B, U1 - 1)], 1)
    u = torch.arange(U1, device=logits.device)
    final = torch.zeros(B, device=logits.device)
    last = t_len - 1 + u_len
    for n in range(T + U1 - 1):
        if n > 0:
            t = n - u
            prev_t = (t - 1).clamp(0, T - 1)
            from_blank = torch.where((t >= 1) & (t - 1 < T), alpha + blank[:, prev_t, u], neg)
            e = emit[:, t[1:].clamp(0, T - 1), u[:-1]]
            from_emit = torch.cat([neg, torch.where((t[1:] >= 0) & (t[1:] < T), alpha[:, :-1] + e, neg)], 1)
            alpha = torch.logaddexp(from_blank, from_emit)
        done = last == n
        here = alpha.gather(1, u_len[:, None]).squeeze(1)
        final = torch.where(done, here, final)
    rows = torch.arange(B, device=logits.device)
    return -(final + blank[rows, t_len - 1, u_len]).mean()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    loader = DataLoader(FakeLibri(BATCH * STEPS), batch_size=BATCH, collate_fn=collate, num_workers=WORKERS,
                        pin_memory=True)
    model = Transducer().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.98), weight_decay=1e-3)
    model.train()
    for step, (feats, t_len, tokens, u_len) in enumerate(loader):
        feats, tokens = feats.to(device, non_blocking=True), tokens.to(device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits, t_len = model(feats, t_len, tokens)
        loss = rnnt_loss(logits, tokens, t_len.to(device), u_len.to(device))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        print(f"step {step} frames {feats.size(1)} loss {loss.item():.2f}")


if __name__ == "__main__":
    main()
