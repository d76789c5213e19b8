"""The loop of accelerate's documentation: accumulation, mixed precision, clipping, gathered metrics."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup


class Pairs(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        length = 32 + index % 96
        return {"input_ids": torch.randint(5, 30000, (length,)), "labels": index % 2}


def collate(items):
    longest = max(len(item["input_ids"]) for item in items)
    ids = torch.zeros(len(items), longest, dtype=torch.long)
    mask = torch.zeros(len(items), longest, dtype=torch.long)
    for row, item in enumerate(items):
        ids[row, : len(item["input_ids"])] = item["input_ids"]
        mask[row, : len(item["input_ids"])] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([item["labels"] for item in items])}


def training_function():
    set_seed(42)
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=4)
    train_loader = DataLoader(Pairs(), shuffle=True, collate_fn=collate, batch_size=16, drop_last=True)
    eval_loader = DataLoader(Pairs(), collate_fn=collate, batch_size=32)
    model = BertForSequenceClassification(BertConfig(num_hidden_layers=4, hidden_size=256, num_attention_heads=4, intermediate_size=1024))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    schedule = get_linear_schedule_with_warmup(optimizer, 10, 100)
    model, optimizer, train_loader, eval_loader, schedule = accelerator.prepare(
        model, optimizer, train_loader, eval_loader, schedule
    )
    for epoch in range(10):
        model.train()
        total_loss = 0
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                total_loss += loss.detach().float()
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        model.eval()
        right = 0
        for batch in eval_loader:
            with torch.no_grad():
                outputs = model(**batch)
            predictions = outputs.logits.argmax(dim=-1)
            predictions, references = accelerator.gather_for_metrics((predictions, batch["labels"]))
            right += (predictions == references).sum().item()
        accelerator.print(f"epoch {epoch}: {right / len(eval_loader.dataset):.3f}, loss {total_loss.item():.3f}")


if __name__ == "__main__":
    training_function()
