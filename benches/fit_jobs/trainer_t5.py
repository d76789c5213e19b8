"""A sequence-to-sequence model under Seq2SeqTrainer, with padded batches."""

import torch
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, T5Config, T5ForConditionalGeneration


class Pairs(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        source = torch.randint(5, 32000, (256,))
        target = torch.randint(5, 32000, (128,))
        target[64 + index % 64 :] = -100
        return {"input_ids": source, "labels": target}


model = T5ForConditionalGeneration(T5Config(num_layers=6, decoder_start_token_id=0))
arguments = Seq2SeqTrainingArguments(
    "out", per_device_train_batch_size=16, learning_rate=3e-4, report_to=[], save_strategy="no", max_steps=8
)
Seq2SeqTrainer(model, arguments, train_dataset=Pairs()).train()
