"""Marian translation with Seq2SeqTrainer: label smoothing, Adafactor, gradient accumulation, fp32 training,
evaluation by beam search generation."""
import tempfile

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import (
    GenerationConfig,
    MarianConfig,
    MarianMTModel,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    set_seed,
)

VOCAB = 58101
PAD = 58100
MAX_SRC, MAX_TGT = 192, 160
TRAIN_BATCH, EVAL_BATCH = 48, 32
STEPS = 4
D_MODEL, LAYERS, FFN = 512, 6, 2048
EVAL_NEW_TOKENS = 64


class FakeBitext(Dataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        rng = np.random.default_rng(self.seed + i)
        s = int(rng.integers(20, MAX_SRC))
        t = int(min(MAX_TGT, max(8, s * rng.uniform(0.7, 1.2))))
        return {"input_ids": rng.integers(1, PAD, s).tolist() + [0], "labels": rng.integers(1, PAD, t - 1).tolist() + [0]}


def collate(items):
    src = max(len(x["input_ids"]) for x in items)
    tgt = max(len(x["labels"]) for x in items)
    ids = torch.full((len(items), src), PAD)
    labels = torch.full((len(items), tgt), -100)
    for i, x in enumerate(items):
        ids[i, : len(x["input_ids"])] = torch.tensor(x["input_ids"])
        labels[i, : len(x["labels"])] = torch.tensor(x["labels"])
    decoder = torch.full_like(labels, PAD)
    decoder[:, 1:] = labels[:, :-1].masked_fill(labels[:, :-1] == -100, PAD)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": labels, "decoder_input_ids": decoder}


def metrics(pred):
    tokens = np.where(pred.predictions != PAD, 1, 0).sum(-1)
    return {"gen_len": float(tokens.mean())}


def main():
    set_seed(77)
    config = MarianConfig(
        vocab_size=VOCAB, d_model=D_MODEL, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_ffn_dim=FFN,
        decoder_ffn_dim=FFN, encoder_attention_heads=8, decoder_attention_heads=8, max_position_embeddings=512,
        pad_token_id=PAD, eos_token_id=0, decoder_start_token_id=PAD, forced_eos_token_id=None, scale_embedding=True,
        activation_function="swish", static_position_embeddings=True,
    )
    model = MarianMTModel(config)
    generation = GenerationConfig(num_beams=4, max_new_tokens=EVAL_NEW_TOKENS, length_penalty=1.0, pad_token_id=PAD,
                                  eos_token_id=0, decoder_start_token_id=PAD, bad_words_ids=[[PAD]])
    args = Seq2SeqTrainingArguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=TRAIN_BATCH,
        per_device_eval_batch_size=EVAL_BATCH,
        gradient_accumulation_steps=2,
        max_steps=STEPS,
        learning_rate=5e-4,
        label_smoothing_factor=0.1,
        optim="adafactor",
        predict_with_generate=True,
        generation_config=generation,
        eval_strategy="steps",
        eval_steps=STEPS,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        remove_unused_columns=False,
    )
    trainer = Seq2SeqTrainer(model=model, args=args, data_collator=collate, compute_metrics=metrics,
                             train_dataset=FakeBitext(2 * TRAIN_BATCH * STEPS, 0),
                             eval_dataset=FakeBitext(2 * EVAL_BATCH, 10**6))
    result = trainer.train()
    print(f"train loss {result.training_loss:.4f}")


if __name__ == "__main__":
    main()
