"""Fine-tune a wav2vec2-base CTC model on random audio of different lengths with an attention mask."""

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

SAMPLE_RATE = 16_000
VOCAB_SIZE = 32
PAD_ID = 0


class RandomSpeech(Dataset):
    """Utterances of 6 to 14 seconds, with about ten characters a second."""

    def __init__(self, n):
        self.g = torch.Generator().manual_seed(1234)
        self.seconds = (6 + 8 * torch.rand(n, generator=self.g)).tolist()

    def __len__(self):
        return len(self.seconds)

    def __getitem__(self, i):
        n_samples = int(self.seconds[i] * SAMPLE_RATE)
        wav = torch.randn(n_samples, generator=self.g)
        wav = (wav - wav.mean()) / (wav.std() + 1e-7)
        labels = torch.randint(5, VOCAB_SIZE, (int(self.seconds[i] * 10),), generator=self.g)
        return wav, labels


def collate(batch):
    wavs, labels = zip(*batch)
    input_values = pad_sequence(wavs, batch_first=True)
    attention_mask = torch.zeros(input_values.shape, dtype=torch.long)
    for row, wav in enumerate(wavs):
        attention_mask[row, : len(wav)] = 1
    labels = pad_sequence(labels, batch_first=True, padding_value=-100)
    return {"input_values": input_values, "attention_mask": attention_mask, "labels": labels}


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")

    config = Wav2Vec2Config(
        vocab_size=VOCAB_SIZE,
        pad_token_id=PAD_ID,
        ctc_loss_reduction="mean",
        ctc_zero_infinity=True,
        feat_extract_norm="layer",
        do_stable_layer_norm=True,
        layerdrop=0.05,
        mask_time_prob=0.05,
    )
    model = Wav2Vec2ForCTC(config)
    model.freeze_feature_encoder()
    model.to(device)
    model.train()

    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-4, weight_decay=0.005, fused=True)
    loader = DataLoader(RandomSpeech(32), batch_size=8, shuffle=True, collate_fn=collate, num_workers=0)

    for step, batch in enumerate(loader):
        batch = {k: v.to(device) for k, v in batch.items()}
        outputs = model(**batch)
        outputs.loss.backward()
        torch.nn.utils.clip_grad_norm_(trainable, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}: padded to {batch['input_values'].shape[1]} samples, loss {outputs.loss.item():.3f}")

    model.eval()
    with torch.no_grad():
        logits = model(batch["input_values"], attention_mask=batch["attention_mask"]).logits
    print("decoded ids:", torch.unique_consecutive(logits.argmax(dim=-1)[0])[:10].tolist())


if __name__ == "__main__":
    main()
