"""Beam search decoding with a T5-base sized model over a few batches of padded source texts, fp32."""

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import T5Config, T5ForConditionalGeneration


class SourceTexts(Dataset):
    def __init__(self, n, vocab_size, min_len=200, max_len=512):
        g = torch.Generator().manual_seed(5)
        lengths = torch.randint(min_len, max_len + 1, (n,), generator=g).tolist()
        self.items = [torch.randint(3, vocab_size, (k,), generator=g) for k in lengths]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        return self.items[idx]


def collate(batch, pad_id=0):
    max_len = max(len(ids) for ids in batch)
    input_ids = torch.full((len(batch), max_len), pad_id)
    for i, ids in enumerate(batch):
        input_ids[i, : len(ids)] = ids
    return {"input_ids": input_ids, "attention_mask": (input_ids != pad_id).long()}


def main():
    torch.manual_seed(5)
    device = torch.device("cuda")

    config = T5Config(
        vocab_size=32128,
        d_model=768,
        d_kv=64,
        d_ff=3072,
        num_layers=12,
        num_heads=12,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    model = T5ForConditionalGeneration(config).to(device)
    model.eval()

    loader = DataLoader(SourceTexts(16, config.vocab_size), batch_size=8, shuffle=False, collate_fn=collate)

    summaries = []
    for batch in loader:
        batch = {k: v.to(device) for k, v in batch.items()}
        with torch.no_grad():
            generated = model.generate(
                **batch,
                num_beams=4,
                min_new_tokens=40,
                max_new_tokens=80,
                length_penalty=2.0,
                no_repeat_ngram_size=3,
                early_stopping=True,
            )
        summaries.extend(generated.cpu().tolist())
        print("source", tuple(batch["input_ids"].shape), "generated", tuple(generated.shape))

    print(len(summaries), "summaries, first:", summaries[0][:8])


if __name__ == "__main__":
    main()
