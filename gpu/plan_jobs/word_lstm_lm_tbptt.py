"""Word-level LSTM language model with truncated BPTT and a carried hidden state (WikiText-2 sizes)."""

import math

import torch
import torch.nn as nn

VOCAB = 33278
EMSIZE = 650
NHID = 650
NLAYERS = 2
BATCH_SIZE = 64
BPTT = 70
LR = 20.0
CLIP = 0.25


class RNNModel(nn.Module):
    def __init__(self, dropout=0.5):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(VOCAB, EMSIZE)
        self.rnn = nn.LSTM(EMSIZE, NHID, NLAYERS, dropout=dropout)
        self.decoder = nn.Linear(NHID, VOCAB)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, tokens, hidden):
        emb = self.drop(self.encoder(tokens))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, VOCAB)
        return nn.functional.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(NLAYERS, bsz, NHID), weight.new_zeros(NLAYERS, bsz, NHID)


def repackage_hidden(h):
    """Detach hidden states from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz, device):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous().to(device)


def get_batch(source, i):
    seq_len = min(BPTT, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


torch.manual_seed(1111)
device = torch.device("cuda")
train_data = batchify(torch.randint(0, VOCAB, (BATCH_SIZE * (BPTT * 5 + 31),)), BATCH_SIZE, device)
val_data = batchify(torch.randint(0, VOCAB, (10 * (BPTT * 3),)), 10, device)

model = RNNModel().to(device)
criterion = nn.NLLLoss()

model.train()
hidden = model.init_hidden(BATCH_SIZE)
for batch, i in enumerate(range(0, train_data.size(0) - 1, BPTT)):
    data, targets = get_batch(train_data, i)
    model.zero_grad()
    hidden = repackage_hidden(hidden)
    output, hidden = model(data, hidden)
    loss = criterion(output, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-LR)
    print(f"batch {batch} len {data.size(0)} loss {loss.item():.3f} ppl {math.exp(min(loss.item(), 20)):.1f}")

model.eval()
total = 0.0
hidden = model.init_hidden(10)
with torch.no_grad():
    for i in range(0, val_data.size(0) - 1, BPTT):
        data, targets = get_batch(val_data, i)
        output, hidden = model(data, hidden)
        total += len(data) * criterion(output, targets).item()
print(f"valid loss {total / (len(val_data) - 1):.3f}")
