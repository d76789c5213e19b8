"""Fine-tune a whisper-small sized speech-to-text model with fp16 autocast and a GradScaler."""

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import WhisperConfig, WhisperForConditionalGeneration, get_linear_schedule_with_warmup

config = WhisperConfig(
    vocab_size=51865,
    num_mel_bins=80,
    d_model=768,
    encoder_layers=12,
    decoder_layers=12,
    encoder_attention_heads=12,
    decoder_attention_heads=12,
    encoder_ffn_dim=3072,
    decoder_ffn_dim=3072,
    dropout=0.0,
    decoder_start_token_id=50258,
)


class MelDataset(Dataset):
    """30 s log-mel windows and token sequences padded with -100."""

    def __init__(self, size, max_label_len=160):
        self.size = size
        self.max_label_len = max_label_len

    def __len__(self):
        return self.size

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        features = torch.randn(80, 3000, generator=g).clamp_(-1.5, 1.5)
        n = int(torch.randint(40, self.max_label_len + 1, (1,), generator=g))
        labels = torch.full((self.max_label_len,), -100)
        labels[:n] = torch.randint(0, 50257, (n,), generator=g)
        return {"input_features": features, "labels": labels}


def main():
    torch.manual_seed(7)
    device = "cuda"
    steps = 4

    model = WhisperForConditionalGeneration(config).to(device)
    model.config.use_cache = False
    model.train()

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_decay=0.01)
    scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=1, num_training_steps=steps)
    scaler = torch.amp.GradScaler("cuda")
    loader = DataLoader(MelDataset(8 * steps), batch_size=8, shuffle=True, drop_last=True)

    for step, batch in enumerate(loader):
        batch = {k: v.to(device) for k, v in batch.items()}
        with torch.autocast(device_type="cuda", dtype=torch.float16):
            loss = model(**batch).loss

        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        print(f"step {step} loss {loss.item():.4f} scale {scaler.get_scale():.0f}")


if __name__ == "__main__":
    main()
