"""Fine-tuning a small BERT while recording activation statistics per layer. Without the recording part it runs all night."""
import os
from collections import defaultdict

import torch
from transformers import BertConfig, BertForSequenceClassification

cfg = BertConfig(vocab_size=4000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024, num_labels=3)
model = BertForSequenceClassification(cfg).to("cuda")
opt = torch.optim.AdamW(model.parameters(), lr=5e-5)

acts = defaultdict(list)


def record(name):
    def hook(module, inputs, output):
        out = output[0] if isinstance(output, tuple) else output
        if os.environ.get("CURED"):
            acts[name] = [out.detach()]
        else:
            acts[name].append(out.detach())
    return hook


for i, layer in enumerate(model.bert.encoder.layer):
    layer.register_forward_hook(record(f"layer{i}"))

model.train()
for step in range(170):
    batch = {
        "input_ids": torch.randint(0, 4000, (16, 256), device="cuda"),
        "attention_mask": torch.ones(16, 256, dtype=torch.long, device="cuda"),
        "labels": torch.randint(0, 3, (16,), device="cuda"),
    }
    loss = model(**batch).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad()
    if step % 20 == 0:
        print(step, {k: v[-1].std().item() for k, v in acts.items()})
