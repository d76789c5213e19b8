"""Subclassed the Hugging Face Trainer to have the token predictions for a report. trainer.train() now ends in CUDA out of memory at step 50 of 200."""
import os

import torch
from torch.utils.data import Dataset
from transformers import RobertaConfig, RobertaForTokenClassification, Trainer, TrainerCallback, TrainingArguments


class NerData(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        ids = torch.randint(5, 2000, (128,), generator=g)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids % 9}


class ReportTrainer(Trainer):
    def __init__(self, *a, **kw):
        super().__init__(*a, **kw)
        self.collected = []

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        if os.environ.get("CURED"):
            self.collected.append(outputs.logits.detach().argmax(-1).cpu())
        else:
            self.collected.append(outputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss


class Progress(TrainerCallback):
    def on_step_end(self, args, state, control, **kw):
        if state.global_step % 10 == 0:
            print("step", state.global_step, flush=True)


config = RobertaConfig(vocab_size=2000, hidden_size=512, num_hidden_layers=4, num_attention_heads=8, intermediate_size=1024,
                       num_labels=9, output_hidden_states=True, max_position_embeddings=160)
model = RobertaForTokenClassification(config)
args = TrainingArguments("out", per_device_train_batch_size=16, max_steps=160, report_to=[], logging_steps=1000,
                         save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False)
trainer = ReportTrainer(model=model, args=args, train_dataset=NerData(), callbacks=[Progress()])
trainer.train()
print(len(trainer.collected))
