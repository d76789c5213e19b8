"""Fine-tuning a HuBERT-like CTC model with Trainer: gradient checkpointing, accumulation and Adafactor."""
import tempfile

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import HubertConfig, HubertForCTC, Trainer, TrainingArguments, set_seed

RATE = 16000


class Utterances(Dataset):
    """Made-up speech between 4 and 14 seconds long, with made-up transcripts."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.items = []
        for _ in range(n):
            seconds = rng.uniform(4, 14)
            wave = rng.standard_normal(int(seconds * RATE)).astype(np.float32)
            labels = rng.integers(1, 32, size=int(seconds * 8))
            self.items.append({"wave": wave, "labels": labels})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(items):
    longest = max(len(x["wave"]) for x in items)
    most = max(len(x["labels"]) for x in items)
    values = torch.zeros(len(items), longest)
    mask = torch.zeros(len(items), longest, dtype=torch.long)
    labels = torch.full((len(items), most), -100)
    for i, x in enumerate(items):
        values[i, : len(x["wave"])] = torch.from_numpy(x["wave"])
        mask[i, : len(x["wave"])] = 1
        labels[i, : len(x["labels"])] = torch.from_numpy(x["labels"])
    return {"input_values": values, "attention_mask": mask, "labels": labels}


def main():
    set_seed(5)
    config = HubertConfig(
        vocab_size=32,
        ctc_loss_reduction="mean",
        ctc_zero_infinity=True,
        mask_time_prob=0.05,
        layerdrop=0.0,
        pad_token_id=0,
    )
    model = HubertForCTC(config)
    model.freeze_feature_encoder()

    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(
            output_dir=out,
            per_device_train_batch_size=12,
            gradient_accumulation_steps=2,
            gradient_checkpointing=True,
            max_steps=3,
            learning_rate=1e-4,
            warmup_steps=1,
            optim="adafactor",
            bf16=True,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            remove_unused_columns=False,
            dataloader_num_workers=0,
        )
        trainer = Trainer(model=model, args=args, train_dataset=Utterances(72, seed=3), data_collator=collate)
        result = trainer.train()
    print("training loss", result.training_loss)


if __name__ == "__main__":
    main()
