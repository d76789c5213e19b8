"""A classifier of texts under Hugging Face's Trainer."""

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Reviews(torch.utils.data.Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        return {"input_ids": torch.randint(5, 30000, (256,)), "labels": index % 2}


model = BertForSequenceClassification(BertConfig(num_hidden_layers=8))
arguments = TrainingArguments("out", per_device_train_batch_size=32, report_to=[], save_strategy="no", max_steps=8)
Trainer(model, arguments, train_dataset=Reviews()).train()
