"""A language model under Hugging Face's Trainer."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        tokens = torch.randint(0, 50000, (256,))
        return {"input_ids": tokens, "labels": tokens}


arguments = TrainingArguments("out", per_device_train_batch_size=16, bf16=True, report_to=[], save_strategy="no", max_steps=8)
Trainer(GPT2LMHeadModel(GPT2Config(n_layer=8)), arguments, train_dataset=Texts()).train()
