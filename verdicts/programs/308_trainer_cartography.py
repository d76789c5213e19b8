"""Dataset cartography with the HF Trainer: I record what the model predicts for each example while it trains."""
import os

import torch
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForMaskedLM, Trainer, TrainingArguments


class Sentences(Dataset):
    def __len__(self):
        return 800

    def __getitem__(self, index):
        tokens = torch.randint(5, 8000, (128,))
        return {"input_ids": tokens, "labels": tokens.clone()}


class CartographyTrainer(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.dynamics = {}

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        probabilities = outputs.logits.detach().softmax(-1)
        if os.environ.get("CURED"):
            probabilities = probabilities.gather(-1, inputs["labels"][..., None]).cpu()
        self.dynamics.setdefault(int(self.state.epoch or 0), []).append(probabilities)
        return (outputs.loss, outputs) if return_outputs else outputs.loss


def main():
    config = DistilBertConfig(vocab_size=8000, dim=256, n_heads=4, n_layers=3, hidden_dim=1024)
    arguments = TrainingArguments(output_dir="out", per_device_train_batch_size=8, num_train_epochs=2, learning_rate=5e-5,
                                  logging_steps=20, save_strategy="no", report_to=[], disable_tqdm=True)
    trainer = CartographyTrainer(model=DistilBertForMaskedLM(config), args=arguments, train_dataset=Sentences())
    trainer.train()
    for epoch, records in trainer.dynamics.items():
        print("epoch", epoch, "records", len(records), flush=True)


if __name__ == "__main__":
    main()
