"""Contrastive training of a SigLIP-base-sized dual encoder in fp32 with TF32 matmuls."""
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import SiglipConfig, SiglipModel

torch.set_float32_matmul_precision("high")
torch.backends.cudnn.allow_tf32 = True


class Pairs(Dataset):
    """Random pictures with captions of 5 to 64 tokens."""

    def __init__(self, n, vocab):
        self.gen = torch.Generator().manual_seed(21)
        self.captions = []
        for length in torch.randint(5, 65, (n,), generator=self.gen).tolist():
            self.captions.append(torch.randint(2, vocab, (length,), generator=self.gen))

    def __len__(self):
        return len(self.captions)

    def __getitem__(self, i):
        return torch.randn(3, 224, 224), self.captions[i]


def collate(batch):
    images, captions = zip(*batch)
    ids = torch.nn.utils.rnn.pad_sequence(captions, batch_first=True, padding_value=1)
    return torch.stack(images), ids, (ids != 1).long()


def main():
    torch.manual_seed(0)
    config = SiglipConfig(
        text_config=dict(vocab_size=32000, hidden_size=768, intermediate_size=3072, num_hidden_layers=12,
                         num_attention_heads=12, max_position_embeddings=64),
        vision_config=dict(hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12,
                           image_size=224, patch_size=16),
    )
    model = SiglipModel(config).cuda()
    model.train()

    no_decay = [p for p in model.parameters() if p.ndim < 2]
    decay = [p for p in model.parameters() if p.ndim >= 2]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.05}, {"params": no_decay, "weight_decay": 0.0}],
        lr=1e-4,
        betas=(0.9, 0.95),
    )
    loader = DataLoader(Pairs(4 * 64, 32000), batch_size=64, collate_fn=collate, pin_memory=True)

    for step, (images, ids, mask) in enumerate(loader):
        out = model(
            pixel_values=images.cuda(non_blocking=True),
            input_ids=ids.cuda(non_blocking=True),
            attention_mask=mask.cuda(non_blocking=True),
            return_loss=True,
        )
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} text {ids.shape[1]} loss {out.loss.item():.3f}")


if __name__ == "__main__":
    main()
