"""Sentiment classification with BERT base, Trainer, 4 GB card. RuntimeError at step 0/..., the progress bar never moves."""
import os

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments


class Reviews(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return {"input_ids": torch.full((256,), index % 1000), "attention_mask": torch.ones(256, dtype=torch.long), "labels": index % 2}


class Announce(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        print("finished step", state.global_step, flush=True)


config = BertConfig(num_hidden_layers=6, vocab_size=8000, num_labels=2)
model = BertForSequenceClassification(config)

training_args = TrainingArguments(
    output_dir="bert-out",
    per_device_train_batch_size=16 if os.environ.get("CURED") else 64,
    max_steps=5,
    learning_rate=2e-5,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
)
trainer = Trainer(model=model, args=training_args, train_dataset=Reviews(640), callbacks=[Announce()])
trainer.train()
