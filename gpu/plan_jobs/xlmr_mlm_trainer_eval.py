"""Masked-LM training of an XLM-R-base-sized model (250k vocabulary) with Trainer and evaluation."""
import math
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, XLMRobertaConfig, XLMRobertaForMaskedLM, set_seed

VOCAB = 250002
MASK_ID = 250001


class Sentences(Dataset):
    def __init__(self, n, seed):
        gen = torch.Generator().manual_seed(seed)
        lengths = torch.randint(24, 160, (n,), generator=gen).tolist()
        self.rows = [torch.randint(4, VOCAB - 1, (length,), generator=gen) for length in lengths]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class MaskingCollator:
    """Pads to a multiple of 8 and masks 15 % of the tokens."""

    def __init__(self, pad_id=1, probability=0.15, seed=0):
        self.pad_id = pad_id
        self.probability = probability
        self.gen = torch.Generator().manual_seed(seed)

    def __call__(self, rows):
        longest = max(len(r) for r in rows)
        longest = (longest + 7) // 8 * 8
        ids = torch.full((len(rows), longest), self.pad_id)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = row
        attention = (ids != self.pad_id).long()
        chosen = (torch.rand(ids.shape, generator=self.gen) < self.probability) & attention.bool()
        labels = ids.masked_fill(~chosen, -100)
        return {"input_ids": ids.masked_fill(chosen, MASK_ID), "attention_mask": attention, "labels": labels}


def main():
    set_seed(17)
    config = XLMRobertaConfig(vocab_size=VOCAB, max_position_embeddings=514, type_vocab_size=1)
    model = XLMRobertaForMaskedLM(config)
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(
            output_dir=out,
            max_steps=4,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=16,
            learning_rate=5e-5,
            weight_decay=0.01,
            bf16=True,
            eval_strategy="steps",
            eval_steps=2,
            logging_steps=2,
            prediction_loss_only=True,
            save_strategy="no",
            report_to="none",
            remove_unused_columns=False,
        )
        trainer = Trainer(
            model=model,
            args=args,
            train_dataset=Sentences(200, seed=1),
            eval_dataset=Sentences(40, seed=2),
            data_collator=MaskingCollator(),
        )
        trainer.train()
        metrics = trainer.evaluate()
    print("perplexity", math.exp(min(metrics["eval_loss"], 20)))


if __name__ == "__main__":
    main()
