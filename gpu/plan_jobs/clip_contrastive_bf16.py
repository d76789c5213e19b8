"""CLIP ViT-B/32 contrastive pre-training in pure bf16 with transformers' CLIPModel."""

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import CLIPConfig, CLIPModel, get_cosine_schedule_with_warmup

BATCH_SIZE = 192
STEPS = 4
CONTEXT = 77


class ImageTextPairs(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        pixel_values = torch.randn(3, 224, 224, generator=g, dtype=torch.float32)
        length = int(torch.randint(8, 40, (1,), generator=g))
        input_ids = torch.full((CONTEXT,), 49407)
        input_ids[0] = 49406
        input_ids[1:length] = torch.randint(0, 49406, (length - 1,), generator=g)
        attention_mask = torch.zeros(CONTEXT, dtype=torch.long)
        attention_mask[: length + 1] = 1
        return {"input_ids": input_ids, "attention_mask": attention_mask, "pixel_values": pixel_values}


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")

    model = CLIPModel(CLIPConfig(projection_dim=512))
    model = model.to(device, dtype=torch.bfloat16)
    model.train()

    decay = [p for n, p in model.named_parameters() if p.ndim >= 2 and "embedding" not in n]
    decay_ids = {id(p) for p in decay}
    no_decay = [p for p in model.parameters() if id(p) not in decay_ids]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.2}, {"params": no_decay, "weight_decay": 0.0}],
        lr=5e-4,
        betas=(0.9, 0.98),
        eps=1e-6,
    )
    scheduler = get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=1, num_training_steps=STEPS)
    loader = DataLoader(ImageTextPairs(BATCH_SIZE * STEPS), batch_size=BATCH_SIZE, num_workers=0, drop_last=True)

    for step, batch in enumerate(loader):
        outputs = model(
            input_ids=batch["input_ids"].to(device),
            attention_mask=batch["attention_mask"].to(device),
            pixel_values=batch["pixel_values"].to(device, dtype=torch.bfloat16),
            return_loss=True,
        )
        optimizer.zero_grad()
        outputs.loss.backward()
        optimizer.step()
        scheduler.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, 4.6052)

        hits = outputs.logits_per_image.argmax(dim=1) == torch.arange(BATCH_SIZE, device=device)
        print(f"step {step} loss {outputs.loss.item():.4f} acc {hits.float().mean().item():.4f}")


if __name__ == "__main__":
    main()
