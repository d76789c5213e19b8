"""T5-small fine-tuning with Seq2SeqTrainer, Adafactor, and an evaluation with predict_with_generate."""

import tempfile

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    set_seed,
)

PAD, EOS = 0, 1
VOCAB = 32128


class TranslationPairs(Dataset):
    def __init__(self, n, src_range, tgt_range, seed):
        rng = np.random.default_rng(seed)
        self.examples = []
        for _ in range(n):
            src = rng.integers(3, VOCAB, rng.integers(*src_range)).tolist() + [EOS]
            tgt = rng.integers(3, VOCAB, rng.integers(*tgt_range)).tolist() + [EOS]
            self.examples.append({"input_ids": src, "labels": tgt})

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, idx):
        return self.examples[idx]


def pad(sequences, value, multiple=8):
    length = -(-max(len(s) for s in sequences) // multiple) * multiple
    return torch.tensor([s + [value] * (length - len(s)) for s in sequences])


def data_collator(features):
    input_ids = pad([f["input_ids"] for f in features], PAD)
    labels = pad([f["labels"] for f in features], -100)
    return {"input_ids": input_ids, "attention_mask": (input_ids != PAD).long(), "labels": labels}


def compute_metrics(eval_pred):
    preds, labels = eval_pred
    preds = np.where(preds != -100, preds, PAD)
    lengths = (preds != PAD).sum(axis=1)
    n = min(preds.shape[1], labels.shape[1])
    return {"gen_len": float(lengths.mean()), "token_match": float((preds[:, :n] == labels[:, :n]).mean())}


def main():
    set_seed(0)
    model = T5ForConditionalGeneration(T5Config(vocab_size=VOCAB, decoder_start_token_id=PAD))
    model.generation_config.min_new_tokens = 40

    args = Seq2SeqTrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="t5-small-"),
        per_device_train_batch_size=24,
        per_device_eval_batch_size=16,
        learning_rate=1e-3,
        optim="adafactor",
        lr_scheduler_type="constant",
        max_steps=4,
        predict_with_generate=True,
        generation_max_length=64,
        generation_num_beams=2,
        logging_steps=2,
        save_strategy="no",
        report_to="none",
    )
    trainer = Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=TranslationPairs(128, (150, 510), (40, 127), seed=1),
        eval_dataset=TranslationPairs(32, (150, 510), (40, 127), seed=2),
        data_collator=data_collator,
        compute_metrics=compute_metrics,
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
