"""Sentence embeddings with in-batch negatives over a large batch through gradient caching:
embed without graph, get the gradients of the embeddings, then replay each chunk with its RNG state."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import BertConfig, BertModel, get_linear_schedule_with_warmup

BATCH = 1024
CHUNK = 64
STEPS = 3
QUERY_LEN, DOC_LEN = 64, 256
LAYERS, HIDDEN = 12, 768
VOCAB = 30522
TEMPERATURE = 0.05


class BiEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel(BertConfig(vocab_size=VOCAB, num_hidden_layers=LAYERS, hidden_size=HIDDEN,
                                         num_attention_heads=HIDDEN // 64, intermediate_size=4 * HIDDEN),
                              add_pooling_layer=False)
        self.proj = nn.Linear(HIDDEN, 512)

    def forward(self, ids, mask):
        h = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        m = mask.unsqueeze(-1).to(h.dtype)
        return F.normalize(self.proj((h * m).sum(1) / m.sum(1).clamp(min=1)).float(), dim=-1)


class RandomState:
    def __init__(self, device):
        self.device = device
        self.cpu = torch.get_rng_state()
        self.gpu = torch.cuda.get_rng_state(device) if device.type == "cuda" else None

    def restore(self):
        torch.set_rng_state(self.cpu)
        if self.gpu is not None:
            torch.cuda.set_rng_state(self.gpu, self.device)


def make(n, length, device):
    lens = torch.randint(length // 4, length + 1, (n,))
    ids = torch.randint(1000, VOCAB, (n, length))
    mask = (torch.arange(length)[None] < lens[:, None]).long()
    return (ids * mask).to(device), mask.to(device)


def main():
    torch.manual_seed(41)
    device = torch.device("cuda")
    model = BiEncoder().to(device)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
    scheduler = get_linear_schedule_with_warmup(optimizer, 1, STEPS)
    amp = lambda: torch.autocast("cuda", dtype=torch.bfloat16)

    for step in range(STEPS):
        towers = [make(BATCH, QUERY_LEN, device), make(BATCH, DOC_LEN, device)]
        chunks = [list(zip(ids.split(CHUNK), mask.split(CHUNK))) for ids, mask in towers]

        reps, states = [], []
        with torch.no_grad(), amp():
            for side in chunks:
                out = []
                for ids, mask in side:
                    states.append(RandomState(device))
                    out.append(model(ids, mask))
                reps.append(torch.cat(out))

        q, d = (r.detach().requires_grad_(True) for r in reps)
        logits = q @ d.T / TEMPERATURE
        labels = torch.arange(BATCH, device=device)
        loss = 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels))
        loss.backward()

        optimizer.zero_grad()
        cursor = iter(states)
        for side, rep in zip(chunks, (q, d)):
            for (ids, mask), grad in zip(side, rep.grad.split(CHUNK)):
                next(cursor).restore()
                with amp():
                    emb = model(ids, mask)
                (emb * grad).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
