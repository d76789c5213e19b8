"""Masked language modelling with a DeBERTa-v3-base sized model, fp16 autocast with GradScaler, 2 accumulation steps."""

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import DebertaV2Config, DebertaV2ForMaskedLM, get_polynomial_decay_schedule_with_warmup

MICRO_BATCH = 8
ACCUMULATION = 2
UPDATES = 3
SEQ_LEN = 512
MASK_ID = 128000


class MLMDataset(Dataset):
    def __init__(self, size):
        self.tokens = torch.randint(5, 128000, (size, SEQ_LEN))
        self.lengths = torch.randint(SEQ_LEN // 2, SEQ_LEN + 1, (size,))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, idx):
        attention_mask = (torch.arange(SEQ_LEN) < self.lengths[idx]).long()
        tokens = self.tokens[idx] * attention_mask
        masked = (torch.rand(SEQ_LEN) < 0.15) & attention_mask.bool()
        return {
            "input_ids": tokens.masked_fill(masked, MASK_ID),
            "attention_mask": attention_mask,
            "labels": tokens.masked_fill(~masked, -100),
        }


def main():
    torch.manual_seed(42)
    device = torch.device("cuda")
    config = DebertaV2Config(
        vocab_size=128100,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
        type_vocab_size=0,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=256,
        position_biased_input=False,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        max_position_embeddings=512,
    )
    model = DebertaV2ForMaskedLM(config).to(device)
    model.train()

    no_decay = ("bias", "LayerNorm.weight")
    grouped = [
        {"params": [p for n, p in model.named_parameters() if not n.endswith(no_decay)], "weight_decay": 0.01},
        {"params": [p for n, p in model.named_parameters() if n.endswith(no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(grouped, lr=2e-4, betas=(0.9, 0.98), eps=1e-6)
    scheduler = get_polynomial_decay_schedule_with_warmup(optimizer, 1, UPDATES + 1)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**12)

    loader = DataLoader(MLMDataset(MICRO_BATCH * ACCUMULATION * UPDATES), batch_size=MICRO_BATCH, shuffle=True)
    running = 0.0
    for i, batch in enumerate(loader):
        batch = {k: v.to(device) for k, v in batch.items()}
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(**batch).loss / ACCUMULATION
        scaler.scale(loss).backward()
        running += loss.item()
        if (i + 1) % ACCUMULATION == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scheduler.step()
            print(f"update {(i + 1) // ACCUMULATION} loss {running:.4f}")
            running = 0.0


if __name__ == "__main__":
    main()
