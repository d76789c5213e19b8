"""LLaVA-like instruction tuning: frozen CLIP ViT-L/14 at 336 px, MLP projector, 1B Llama, Accelerate with bf16
and gradient accumulation; the CLIP tower runs without grad and image features replace placeholder tokens."""
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset
from transformers import CLIPVisionConfig, CLIPVisionModel, LlamaConfig, LlamaForCausalLM

IMAGE_SIZE, PATCH = 336, 14
PATCHES = (IMAGE_SIZE // PATCH) ** 2
VISION_DIM, VISION_LAYERS, VISION_HEADS = 1024, 24, 16
HIDDEN, LAYERS, HEADS, KV, FFN = 2048, 16, 32, 8, 5632
VOCAB, IMAGE_TOKEN = 32064, 32000
TEXT = 256
BATCH, ACCUM, MICRO_STEPS = 8, 2, 6
WORKERS = 2


class Conversations(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        image = torch.randn(3, IMAGE_SIZE, IMAGE_SIZE, generator=g)
        q = int(torch.randint(8, TEXT // 4, (1,), generator=g))
        total = int(torch.randint(TEXT // 2, TEXT + 1, (1,), generator=g))
        text = torch.randint(3, IMAGE_TOKEN, (total,), generator=g)
        ids = torch.cat([torch.tensor([1]), torch.full((PATCHES,), IMAGE_TOKEN), text])
        labels = ids.clone()
        labels[: 1 + PATCHES + q] = -100
        return image, ids, labels


def collate(items):
    images = torch.stack([i[0] for i in items])
    pad = nn.utils.rnn.pad_sequence
    ids = pad([i[1] for i in items], batch_first=True, padding_value=0)
    labels = pad([i[2] for i in items], batch_first=True, padding_value=-100)
    return {"images": images, "ids": ids, "labels": labels, "mask": (ids != 0).long()}


class Llava(nn.Module):
    def __init__(self):
        super().__init__()
        vision = CLIPVisionConfig(hidden_size=VISION_DIM, intermediate_size=4 * VISION_DIM,
                                  num_hidden_layers=VISION_LAYERS, num_attention_heads=VISION_HEADS,
                                  image_size=IMAGE_SIZE, patch_size=PATCH)
        self.vision = CLIPVisionModel(vision).requires_grad_(False).to(torch.bfloat16)
        self.projector = nn.Sequential(nn.Linear(VISION_DIM, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, HIDDEN))
        self.llm = LlamaForCausalLM(
            LlamaConfig(vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=FFN, num_hidden_layers=LAYERS,
                        num_attention_heads=HEADS, num_key_value_heads=KV, max_position_embeddings=4096,
                        tie_word_embeddings=True)
        )

    def forward(self, images, ids, labels, mask):
        with torch.no_grad():
            out = self.vision(pixel_values=images.to(torch.bfloat16), output_hidden_states=True)
            feats = out.hidden_states[-2][:, 1:]
        tokens = self.projector(feats)
        embeds = self.llm.get_input_embeddings()(ids)
        slots = (ids == IMAGE_TOKEN).unsqueeze(-1).expand_as(embeds)
        embeds = embeds.masked_scatter(slots, tokens.to(embeds.dtype))
        return self.llm(inputs_embeds=embeds, attention_mask=mask, labels=labels, use_cache=False).loss


def main():
    set_seed(8)
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=ACCUM)
    model = Llava()
    model.vision.eval()
    groups = [
        {"params": model.projector.parameters(), "lr": 1e-3},
        {"params": model.llm.parameters(), "lr": 2e-5},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0, betas=(0.9, 0.95))
    loader = DataLoader(Conversations(BATCH * MICRO_STEPS), batch_size=BATCH, collate_fn=collate, shuffle=True,
                        num_workers=WORKERS, pin_memory=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        with accelerator.accumulate(model):
            loss = model(**batch)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.print(f"micro-step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
