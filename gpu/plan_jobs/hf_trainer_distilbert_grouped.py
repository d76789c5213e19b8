"""DistilBERT classification with Trainer: accumulation, batches grouped by length, dynamic padding, bf16."""

import random
import tempfile

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)

VOCAB_SIZE = 30522


class Reviews(Dataset):
    """Token id lists of 40 to 512 tokens, most of them long."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            length = min(512, int(40 + rng.expovariate(1 / 220)))
            ids = [101] + [rng.randrange(1000, VOCAB_SIZE) for _ in range(length - 2)] + [102]
            self.rows.append({"input_ids": ids, "labels": rng.randrange(2)})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, idx):
        return self.rows[idx]


class PaddingCollator:
    def __init__(self, pad_token_id=0):
        self.pad_token_id = pad_token_id

    def __call__(self, features):
        longest = max(len(f["input_ids"]) for f in features)
        input_ids = torch.full((len(features), longest), self.pad_token_id)
        attention_mask = torch.zeros(len(features), longest, dtype=torch.long)
        for i, f in enumerate(features):
            n = len(f["input_ids"])
            input_ids[i, :n] = torch.tensor(f["input_ids"])
            attention_mask[i, :n] = 1
        labels = torch.tensor([f["labels"] for f in features])
        return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    return {"accuracy": float((np.argmax(logits, axis=-1) == labels).mean())}


if __name__ == "__main__":
    set_seed(13)
    model = DistilBertForSequenceClassification(DistilBertConfig(num_labels=2))
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="distilbert-"),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        gradient_accumulation_steps=2,
        train_sampling_strategy="group_by_length",
        learning_rate=2e-5,
        lr_scheduler_type="cosine",
        max_steps=4,
        max_grad_norm=1.0,
        bf16=True,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
    )
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=Reviews(512, seed=0),
        eval_dataset=Reviews(128, seed=1),
        data_collator=PaddingCollator(),
        compute_metrics=compute_metrics,
    )
    trainer.train()
    print(trainer.evaluate())
