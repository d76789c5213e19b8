"""Sequence-to-sequence translation with nn.Transformer, label smoothing and the Noam learning rate schedule."""

import math

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

SRC_VOCAB, TGT_VOCAB = 32000, 32000
PAD_IDX, BOS_IDX, EOS_IDX = 0, 1, 2
BATCH_SIZE = 96
D_MODEL = 512
STEPS = 5
DEVICE = torch.device("cuda")


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size, dropout, maxlen=512):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        pos_embedding = torch.zeros((maxlen, emb_size))
        pos_embedding[:, 0::2] = torch.sin(pos * den)
        pos_embedding[:, 1::2] = torch.cos(pos * den)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pos_embedding", pos_embedding.unsqueeze(-2))

    def forward(self, token_embedding):
        return self.dropout(token_embedding + self.pos_embedding[: token_embedding.size(0)])


class Seq2SeqTransformer(nn.Module):
    def __init__(self, num_layers=6, nhead=8, dim_feedforward=2048, dropout=0.1):
        super().__init__()
        self.transformer = nn.Transformer(D_MODEL, nhead, num_layers, num_layers, dim_feedforward, dropout)
        self.src_emb = nn.Embedding(SRC_VOCAB, D_MODEL)
        self.tgt_emb = nn.Embedding(TGT_VOCAB, D_MODEL)
        self.positional_encoding = PositionalEncoding(D_MODEL, dropout)
        self.generator = nn.Linear(D_MODEL, TGT_VOCAB)

    def forward(self, src, tgt):
        tgt_mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(0), device=tgt.device) < 0
        src_pad, tgt_pad = (src == PAD_IDX).transpose(0, 1), (tgt == PAD_IDX).transpose(0, 1)
        src = self.positional_encoding(self.src_emb(src) * math.sqrt(D_MODEL))
        tgt = self.positional_encoding(self.tgt_emb(tgt) * math.sqrt(D_MODEL))
        out = self.transformer(src, tgt, None, tgt_mask, None, src_pad, tgt_pad, src_pad)
        return self.generator(out)


def random_sentence(vocab):
    length = int(torch.randint(40, 127, (1,)))
    body = torch.randint(3, vocab, (length,))
    return torch.cat([torch.tensor([BOS_IDX]), body, torch.tensor([EOS_IDX])])


def collate_fn(batch):
    src, tgt = zip(*batch)
    return pad_sequence(src, padding_value=PAD_IDX), pad_sequence(tgt, padding_value=PAD_IDX)


torch.manual_seed(0)
pairs = [(random_sentence(SRC_VOCAB), random_sentence(TGT_VOCAB)) for _ in range(BATCH_SIZE * STEPS)]
loader = DataLoader(pairs, batch_size=BATCH_SIZE, shuffle=True, collate_fn=collate_fn)

model = Seq2SeqTransformer()
for p in model.parameters():
    if p.dim() > 1:
        nn.init.xavier_uniform_(p)
model = model.to(DEVICE)

loss_fn = nn.CrossEntropyLoss(ignore_index=PAD_IDX, label_smoothing=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
noam = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda s: D_MODEL**-0.5 * min((s + 1) ** -0.5, (s + 1) * 4000**-1.5)
)

model.train()
for step, (src, tgt) in enumerate(loader):
    src, tgt = src.to(DEVICE), tgt.to(DEVICE)
    logits = model(src, tgt[:-1])
    optimizer.zero_grad()
    loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt[1:].reshape(-1))
    loss.backward()
    optimizer.step()
    noam.step()
    print(f"step {step} loss {loss.item():.4f} ppl {math.exp(min(loss.item(), 20)):.1f}")
