"""LoRA by peft in a plain loop; the adapter is merged afterwards."""

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from tqdm import tqdm
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup

device = "cuda"
model = GPT2LMHeadModel(GPT2Config(n_layer=6))
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"))
model.print_trainable_parameters()
model = model.to(device)
loader = DataLoader([torch.randint(0, 50257, (256,)) for _ in range(64)], batch_size=8, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
scheduler = get_linear_schedule_with_warmup(optimizer, 0, len(loader) * 3)
for epoch in range(3):
    model.train()
    total_loss = 0
    for ids in tqdm(loader):
        ids = ids.to(device)
        outputs = model(input_ids=ids, labels=ids)
        loss = outputs.loss
        total_loss += loss.detach().float()
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    print(f"{epoch=}: {torch.exp(total_loss / len(loader))=}")
merged = model.merge_and_unload()
