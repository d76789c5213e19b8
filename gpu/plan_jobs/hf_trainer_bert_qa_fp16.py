"""BERT-base extractive question answering with the Hugging Face Trainer, fp16."""

import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForQuestionAnswering, Trainer, TrainingArguments, set_seed

MAX_LENGTH = 384
VOCAB_SIZE = 30522


class SyntheticSquad(Dataset):
    """[CLS] question [SEP] context [SEP] with padding up to 384 tokens, as run_qa.py makes it."""

    def __init__(self, n, seed=0):
        self.n = n
        self.seed = seed

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(self.seed + idx)
        q_len = int(torch.randint(8, 20, (1,), generator=g))
        total = int(torch.randint(150, MAX_LENGTH + 1, (1,), generator=g))

        input_ids = torch.zeros(MAX_LENGTH, dtype=torch.long)
        input_ids[:total] = torch.randint(1000, VOCAB_SIZE, (total,), generator=g)
        input_ids[0], input_ids[q_len + 1], input_ids[total - 1] = 101, 102, 102
        token_type_ids = torch.zeros(MAX_LENGTH, dtype=torch.long)
        token_type_ids[q_len + 2 : total] = 1
        attention_mask = (torch.arange(MAX_LENGTH) < total).long()

        start = int(torch.randint(q_len + 2, total - 12, (1,), generator=g))
        end = start + int(torch.randint(0, 10, (1,), generator=g))
        return {
            "input_ids": input_ids,
            "token_type_ids": token_type_ids,
            "attention_mask": attention_mask,
            "start_positions": torch.tensor(start),
            "end_positions": torch.tensor(end),
        }


def main():
    set_seed(42)
    model = BertForQuestionAnswering(BertConfig(vocab_size=VOCAB_SIZE))

    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="bert-qa-"),
        per_device_train_batch_size=16,
        learning_rate=3e-5,
        weight_decay=0.01,
        max_steps=4,
        warmup_steps=1,
        lr_scheduler_type="linear",
        fp16=True,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        seed=42,
    )
    trainer = Trainer(model=model, args=args, train_dataset=SyntheticSquad(256))
    result = trainer.train()
    print(f"train loss {result.training_loss:.4f} on {trainer.args.device}")


if __name__ == "__main__":
    main()
