"""DeepSpeech2-like CTC model: 2d convolutions and a packed bidirectional GRU, all weights in bf16."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

N_MELS = 80
VOCAB = 32


class SpeechModel(nn.Module):
    def __init__(self, hidden=800, layers=5):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 32, (11, 41), stride=(2, 2), padding=(5, 20), bias=False),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20, inplace=True),
            nn.Conv2d(32, 32, (11, 21), stride=(1, 2), padding=(5, 10), bias=False),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20, inplace=True),
        )
        self.rnn = nn.GRU(32 * (N_MELS // 4), hidden, layers, batch_first=True, dropout=0.1, bidirectional=True)
        self.norm = nn.LayerNorm(2 * hidden)
        self.out = nn.Linear(2 * hidden, VOCAB)

    def forward(self, feats, lengths):
        x = self.conv(feats.unsqueeze(1))
        lengths = (lengths + 1) // 2
        b, c, t, f = x.shape
        x = x.permute(0, 2, 1, 3).reshape(b, t, c * f)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        x, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=t)
        return self.out(self.norm(x)), lengths


def make_batch(gen, size):
    frames = torch.randint(500, 1500, (size,), generator=gen)
    feats = pad_sequence([torch.randn(int(n), N_MELS, generator=gen) for n in frames], batch_first=True)
    target_lengths = torch.randint(20, 120, (size,), generator=gen)
    targets = torch.randint(1, VOCAB, (int(target_lengths.sum()),), generator=gen)
    return feats, frames, targets, target_lengths


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(99)
    model = SpeechModel().to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    print(sum(p.numel() for p in model.parameters()) / 1e6, "M parameters")

    for step in range(5):
        feats, frames, targets, target_lengths = make_batch(gen, 48)
        logits, out_lengths = model(feats.to("cuda", torch.bfloat16), frames)
        log_probs = F.log_softmax(logits.float(), dim=-1).transpose(0, 1)
        loss = F.ctc_loss(
            log_probs, targets.cuda(), out_lengths.cuda(), target_lengths.cuda(), blank=0, zero_infinity=True
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        print(f"step {step}: frames {feats.shape[1]} ctc {loss.item():.3f}")


if __name__ == "__main__":
    main()
