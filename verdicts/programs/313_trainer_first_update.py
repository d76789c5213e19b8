"""Full fine-tuning with the Trainer. Batch size 1, short sequences, and it still crashes before the first step is logged."""
import os

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Instructions(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        tokens = torch.randint(0, 8000, (64,))
        return {"input_ids": tokens, "labels": tokens}


def main():
    config = LlamaConfig(vocab_size=8000, hidden_size=1536, intermediate_size=4096, num_hidden_layers=10,
                         num_attention_heads=12, num_key_value_heads=12, use_cache=False)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    print(f"{model.num_parameters() / 1e6:.0f} M parameters", flush=True)
    arguments = TrainingArguments(
        output_dir="out", max_steps=4, per_device_train_batch_size=1, logging_steps=1, learning_rate=2e-5,
        optim="adafactor" if os.environ.get("CURED") else "adamw_torch",
        save_strategy="no", report_to=[], disable_tqdm=True)
    trainer = Trainer(model=model, args=arguments, train_dataset=Instructions())
    trainer.train()


if __name__ == "__main__":
    main()
