"""Bidirectional LSTM sequence tagger with packed, length-sorted batches and Adagrad."""

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

VOCAB_SIZE = 120_000
NUM_TAGS = 45
PAD_TAG = -1


class TaggedSentences(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(3)
        lengths = torch.randint(20, 181, (n,), generator=g).tolist()
        self.words = [torch.randint(1, VOCAB_SIZE, (k,), generator=g) for k in lengths]
        self.tags = [torch.randint(0, NUM_TAGS, (k,), generator=g) for k in lengths]

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return self.words[i], self.tags[i]


def collate(batch):
    batch.sort(key=lambda pair: len(pair[0]), reverse=True)
    words, tags = zip(*batch)
    lengths = torch.tensor([len(w) for w in words])
    return pad_sequence(words, batch_first=True), pad_sequence(tags, batch_first=True, padding_value=PAD_TAG), lengths


class BiLSTMTagger(nn.Module):
    def __init__(self, emb_dim=300, hidden=768, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB_SIZE, emb_dim, padding_idx=0)
        self.lstm = nn.LSTM(emb_dim, hidden, layers, batch_first=True, bidirectional=True, dropout=0.4)
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(2 * hidden, NUM_TAGS)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.dropout(self.embed(words)), lengths, batch_first=True)
        out, _ = self.lstm(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        return self.fc(self.dropout(out))


def main():
    torch.manual_seed(3)
    device = torch.device("cuda")
    batch_size = 128

    model = BiLSTMTagger().to(device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD_TAG)
    loader = DataLoader(TaggedSentences(batch_size * 5), batch_size=batch_size, shuffle=True, collate_fn=collate)

    model.train()
    for step, (words, tags, lengths) in enumerate(loader):
        words, tags = words.to(device), tags.to(device)  # lengths stay on the CPU
        optimizer.zero_grad(set_to_none=False)
        logits = model(words, lengths)
        loss = criterion(logits.reshape(-1, NUM_TAGS), tags.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        print(f"step {step} max_len {words.size(1)} loss {loss.item():.4f}")

    model.eval()
    with torch.no_grad():
        pred = model(words, lengths).argmax(dim=-1)
        keep = tags != PAD_TAG
        print(f"accuracy {(pred[keep] == tags[keep]).float().mean().item():.4f}")


if __name__ == "__main__":
    main()
