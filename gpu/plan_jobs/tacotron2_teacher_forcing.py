"""Tacotron 2 by hand: location-sensitive attention, LSTMCell decoder unrolled with teacher forcing, postnet, fp32."""
import torch
import torch.nn as nn
import torch.nn.functional as F

SYMBOLS = 148
MELS = 80
BATCH = 48
TEXT = 150
FRAMES = 500
STEPS = 4


def conv_bn(cin, cout, act):
    layers = [nn.Conv1d(cin, cout, 5, padding=2), nn.BatchNorm1d(cout)]
    return nn.Sequential(*layers, act, nn.Dropout(0.5)) if act else nn.Sequential(*layers, nn.Dropout(0.5))


class Encoder(nn.Module):
    def __init__(self, dim=512):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, dim)
        self.convs = nn.Sequential(*[conv_bn(dim, dim, nn.ReLU()) for _ in range(3)])
        self.lstm = nn.LSTM(dim, dim // 2, batch_first=True, bidirectional=True)

    def forward(self, text):
        x = self.convs(self.embed(text).transpose(1, 2)).transpose(1, 2)
        return self.lstm(x)[0]


class LocationAttention(nn.Module):
    def __init__(self, query, memory, dim=128):
        super().__init__()
        self.query = nn.Linear(query, dim, bias=False)
        self.memory = nn.Linear(memory, dim, bias=False)
        self.loc_conv = nn.Conv1d(2, 32, 31, padding=15, bias=False)
        self.loc_proj = nn.Linear(32, dim, bias=False)
        self.v = nn.Linear(dim, 1, bias=False)

    def forward(self, h, memory, processed, weights, cumulative, mask):
        loc = self.loc_proj(self.loc_conv(torch.stack([weights, cumulative], 1)).transpose(1, 2))
        energy = self.v(torch.tanh(self.query(h).unsqueeze(1) + loc + processed)).squeeze(-1)
        weights = F.softmax(energy.masked_fill(mask, float("-inf")), dim=1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights


class Decoder(nn.Module):
    def __init__(self, memory=512, hidden=1024, prenet=256):
        super().__init__()
        self.hidden = hidden
        self.prenet = nn.ModuleList([nn.Linear(MELS, prenet, bias=False), nn.Linear(prenet, prenet, bias=False)])
        self.att_rnn = nn.LSTMCell(prenet + memory, hidden)
        self.attention = LocationAttention(hidden, memory)
        self.dec_rnn = nn.LSTMCell(hidden + memory, hidden)
        self.mel = nn.Linear(hidden + memory, MELS)
        self.gate = nn.Linear(hidden + memory, 1)

    def forward(self, memory, mels, mask):
        B, T_in, _ = memory.shape
        x = torch.cat([torch.zeros_like(mels[:, :1]), mels[:, :-1]], 1)
        for layer in self.prenet:
            x = F.dropout(F.relu(layer(x)), 0.5, training=True)
        zeros = memory.new_zeros(B, self.hidden)
        ha, ca, hd, cd = zeros, zeros, zeros, zeros
        weights = cumulative = memory.new_zeros(B, T_in)
        context = memory.new_zeros(B, memory.size(2))
        processed = self.attention.memory(memory)
        outs, gates, aligns = [], [], []
        for t in range(x.size(1)):
            ha, ca = self.att_rnn(torch.cat([x[:, t], context], -1), (ha, ca))
            ha = F.dropout(ha, 0.1, self.training)
            context, weights = self.attention(ha, memory, processed, weights, cumulative, mask)
            cumulative = cumulative + weights
            hd, cd = self.dec_rnn(torch.cat([ha, context], -1), (hd, cd))
            hd = F.dropout(hd, 0.1, self.training)
            both = torch.cat([hd, context], -1)
            outs.append(self.mel(both))
            gates.append(self.gate(both))
            aligns.append(weights)
        return torch.stack(outs, 1), torch.cat(gates, 1), torch.stack(aligns, 1)


class Tacotron2(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()
        self.postnet = nn.Sequential(
            conv_bn(MELS, 512, nn.Tanh()), *[conv_bn(512, 512, nn.Tanh()) for _ in range(3)], conv_bn(512, MELS, None)
        )

    def forward(self, text, text_len, mels):
        mask = torch.arange(text.size(1), device=text.device)[None] >= text_len[:, None]
        mel, gate, align = self.decoder(self.encoder(text), mels, mask)
        return mel, mel + self.postnet(mel.transpose(1, 2)).transpose(1, 2), gate, align


def main():
    torch.manual_seed(1234)
    device = torch.device("cuda")
    model = Tacotron2().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
    for step in range(STEPS):
        text_len = torch.randint(TEXT // 2, TEXT + 1, (BATCH,)).sort(descending=True)[0]
        mel_len = (text_len * FRAMES) // TEXT
        text = torch.randint(1, SYMBOLS, (BATCH, int(text_len.max()))).to(device)
        mels = torch.randn(BATCH, int(mel_len.max()), MELS).to(device)
        steps = torch.arange(mels.size(1))[None]
        valid = (steps < mel_len[:, None]).to(device).unsqueeze(-1).float()
        stop = (steps >= mel_len[:, None] - 1).float().to(device)

        mel, post, gate, align = model(text, text_len.to(device), mels)
        count = valid.sum() * MELS
        loss = (((mel - mels) ** 2 + (post - mels) ** 2) * valid).sum() / count
        loss = loss + F.binary_cross_entropy_with_logits(gate, stop)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f} grad norm {norm.item():.3f}")


if __name__ == "__main__":
    main()
