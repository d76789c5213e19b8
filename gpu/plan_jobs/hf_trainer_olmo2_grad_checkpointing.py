"""Pretraining of an OLMo 2 style decoder with the Trainer: bf16, gradient checkpointing, accumulation, eval loss."""
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import Olmo2Config, Olmo2ForCausalLM, Trainer, TrainingArguments, set_seed

CONTEXT = 2048
VOCAB = 100352
BATCH = 4
STEPS = 3
HIDDEN, LAYERS, HEADS, FFN = 1536, 16, 12, 6144


class TokenChunks(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.data = torch.randint(0, VOCAB, (n, CONTEXT), generator=g)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return {"input_ids": self.data[i], "labels": self.data[i].clone()}


def main():
    set_seed(12)
    model = Olmo2ForCausalLM(
        Olmo2Config(vocab_size=VOCAB, hidden_size=HIDDEN, intermediate_size=FFN, num_hidden_layers=LAYERS,
                    num_attention_heads=HEADS, num_key_value_heads=HEADS, max_position_embeddings=4096,
                    pad_token_id=1, eos_token_id=0)
    )
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="olmo2-"),
        per_device_train_batch_size=BATCH,
        per_device_eval_batch_size=4,
        gradient_accumulation_steps=2,
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        learning_rate=4e-4,
        adam_beta2=0.95,
        weight_decay=0.1,
        max_grad_norm=1.0,
        max_steps=STEPS,
        warmup_steps=1,
        lr_scheduler_type="cosine",
        bf16=True,
        prediction_loss_only=True,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        dataloader_pin_memory=True,
    )
    trainer = Trainer(model=model, args=args, train_dataset=TokenChunks(2 * BATCH * STEPS, 0),
                      eval_dataset=TokenChunks(8, 1))
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
