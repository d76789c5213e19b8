"""Pretraining a 30M multilingual toy Llama with the HF Trainer. A model this small runs out of memory on 6 GB with batch size 8?"""
import os

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class RandomText(Dataset):
    def __init__(self, vocab, length=1024, n=64):
        self.ids = torch.randint(0, vocab, (n, length))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


def main():
    config = LlamaConfig(vocab_size=128_256, hidden_size=192, intermediate_size=512, num_hidden_layers=4,
                         num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=1024, tie_word_embeddings=True)
    model = LlamaForCausalLM(config)
    per_device, accumulate = (1, 8) if os.environ.get("CURED") else (8, 1)
    args = TrainingArguments(
        output_dir="out", max_steps=4, per_device_train_batch_size=per_device,
        gradient_accumulation_steps=accumulate, bf16=True, learning_rate=5e-4,
        report_to=[], save_strategy="no", logging_steps=1, disable_tqdm=True,
    )
    trainer = Trainer(model=model, args=args, train_dataset=RandomText(config.vocab_size))
    trainer.train()


if __name__ == "__main__":
    main()
