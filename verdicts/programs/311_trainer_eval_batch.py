"""Trainer: the steps are fine, the evaluation at the end of the epoch runs out of memory. Evaluation needs no gradients?!"""
import os

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Blocks(Dataset):
    def __init__(self, n, length=256):
        self.n, self.length = n, length

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        tokens = torch.randint(0, 50000, (self.length,))
        return {"input_ids": tokens, "labels": tokens}


def main():
    model = GPT2LMHeadModel(GPT2Config(n_layer=3, n_embd=384, n_head=6, n_positions=256))
    arguments = TrainingArguments(
        output_dir="out", num_train_epochs=1, per_device_train_batch_size=2,
        per_device_eval_batch_size=4 if os.environ.get("CURED") else 64,
        prediction_loss_only=True, eval_strategy="epoch", save_strategy="no", logging_steps=5, report_to=[], disable_tqdm=True)
    trainer = Trainer(model=model, args=arguments, train_dataset=Blocks(30), eval_dataset=Blocks(128))
    trainer.train()
    print("done", flush=True)


if __name__ == "__main__":
    main()
