"""Word-level LSTM language model with projections, truncated BPTT, fp16 autocast and averaged SGD."""
import torch
import torch.nn as nn

VOCAB = 33278
EMB = 640
HIDDEN = 2048
LAYERS = 3
BATCH = 96
BPTT = 70


class LockedDropout(nn.Module):
    """The same dropout mask at every time step."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        mask = x.new_empty(1, x.size(1), x.size(2)).bernoulli_(1 - self.p) / (1 - self.p)
        return x * mask


class WordLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, EMB)
        self.drop_in = LockedDropout(0.4)
        self.lstm = nn.LSTM(EMB, HIDDEN, LAYERS, dropout=0.25, proj_size=EMB)
        self.drop_out = LockedDropout(0.4)
        self.decoder = nn.Linear(EMB, VOCAB)
        self.decoder.weight = self.embed.weight
        nn.init.uniform_(self.embed.weight, -0.1, 0.1)

    def forward(self, tokens, state):
        x = self.drop_in(self.embed(tokens))
        x, state = self.lstm(x, state)
        return self.decoder(self.drop_out(x)), state

    def zero_state(self, batch, device):
        h = torch.zeros(LAYERS, batch, EMB, device=device)
        c = torch.zeros(LAYERS, batch, HIDDEN, device=device)
        return h, c


def main():
    torch.manual_seed(1882)
    device = "cuda"
    corpus = torch.randint(0, VOCAB, (BPTT * 5 + 1, BATCH)).to(device)
    model = WordLM().to(device)
    optimizer = torch.optim.ASGD(model.parameters(), lr=10.0, t0=0, lambd=0.0, weight_decay=1.2e-6)
    criterion = nn.CrossEntropyLoss()
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)

    state = model.zero_state(BATCH, device)
    for i in range(0, corpus.size(0) - 1, BPTT):
        inputs = corpus[i : i + BPTT]
        targets = corpus[i + 1 : i + 1 + BPTT]
        state = tuple(s.detach() for s in state)
        with torch.autocast("cuda", dtype=torch.float16):
            logits, state = model(inputs, state)
            loss = criterion(logits.view(-1, VOCAB), targets.reshape(-1))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        scaler.step(optimizer)
        scaler.update()
        print(f"tokens {i + BPTT:4d} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
