"""A language model in a loop of one's own under accelerate."""

import torch
from accelerate import Accelerator
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=1)
model = GPT2LMHeadModel(GPT2Config(n_layer=8, n_embd=512, n_head=8))
data = torch.utils.data.TensorDataset(torch.randint(0, 50000, (128, 256)))
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True, drop_last=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
schedule = get_linear_schedule_with_warmup(optimizer, 2, 8)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
for (tokens,) in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(input_ids=tokens, labels=tokens).loss)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
