"""GRU encoder-decoder with Bahdanau attention and a teacher forcing loop over the target tokens."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F

SRC_VOCAB, TGT_VOCAB = 16000, 20000
SOS, PAD = 1, 0
BATCH_SIZE = 96
HIDDEN = 512
SRC_LEN, TGT_LEN = 50, 45


class EncoderRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(SRC_VOCAB, HIDDEN, padding_idx=PAD)
        self.gru = nn.GRU(HIDDEN, HIDDEN, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * HIDDEN, HIDDEN)
        self.dropout = nn.Dropout(0.3)

    def forward(self, src):
        outputs, hidden = self.gru(self.dropout(self.embedding(src)))
        return outputs, torch.tanh(self.fc(torch.cat([hidden[0], hidden[1]], dim=1)))


class BahdanauAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.Wa = nn.Linear(HIDDEN, HIDDEN)
        self.Ua = nn.Linear(2 * HIDDEN, HIDDEN)
        self.Va = nn.Linear(HIDDEN, 1)

    def forward(self, query, keys, mask):
        scores = self.Va(torch.tanh(self.Wa(query).unsqueeze(1) + self.Ua(keys))).squeeze(-1)
        weights = F.softmax(scores.masked_fill(mask, -1e9), dim=-1)
        return torch.bmm(weights.unsqueeze(1), keys).squeeze(1)


class AttnDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TGT_VOCAB, HIDDEN, padding_idx=PAD)
        self.attention = BahdanauAttention()
        self.cell = nn.GRUCell(3 * HIDDEN, HIDDEN)
        self.out = nn.Linear(4 * HIDDEN, TGT_VOCAB)
        self.dropout = nn.Dropout(0.3)

    def forward(self, enc_outputs, hidden, mask, target, teacher_forcing=0.8):
        token = torch.full((enc_outputs.size(0),), SOS, dtype=torch.long, device=enc_outputs.device)
        logits = []
        for t in range(target.size(1)):
            emb = self.dropout(self.embedding(token))
            context = self.attention(hidden, enc_outputs, mask)
            hidden = self.cell(torch.cat([emb, context], dim=1), hidden)
            step = self.out(torch.cat([hidden, context, emb], dim=1))
            logits.append(step)
            token = target[:, t] if random.random() < teacher_forcing else step.argmax(dim=1).detach()
        return torch.stack(logits, dim=1)


random.seed(0)
torch.manual_seed(0)
device = torch.device("cuda")
encoder, decoder = EncoderRNN().to(device), AttnDecoder().to(device)
encoder_optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)

for step in range(4):
    src = torch.randint(3, SRC_VOCAB, (BATCH_SIZE, SRC_LEN))
    tgt = torch.randint(3, TGT_VOCAB, (BATCH_SIZE, TGT_LEN))
    src[torch.arange(SRC_LEN) >= torch.randint(20, SRC_LEN + 1, (BATCH_SIZE, 1))] = PAD
    tgt[torch.arange(TGT_LEN) >= torch.randint(15, TGT_LEN + 1, (BATCH_SIZE, 1))] = PAD
    src, tgt = src.to(device), tgt.to(device)

    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    enc_outputs, enc_hidden = encoder(src)
    logits = decoder(enc_outputs, enc_hidden, src == PAD, tgt)
    loss = criterion(logits.view(-1, TGT_VOCAB), tgt.view(-1))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(encoder.parameters()) + list(decoder.parameters()), 1.0)
    encoder_optimizer.step()
    decoder_optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
