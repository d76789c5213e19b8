"""A short training, then text from the model: sampling and beams."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=256, n_head=4, bos_token_id=0, eos_token_id=0)).to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
model.train()
for step in range(2):
    ids = torch.randint(1, 50000, (4, 128), device="cuda")
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step} loss {loss.item():.3f}")

model.eval()
prompt = torch.randint(1, 50000, (8, 16), device="cuda")
mask = torch.ones_like(prompt)
greedy = model.generate(prompt, attention_mask=mask, max_new_tokens=48, do_sample=False, pad_token_id=0)
sampled = model.generate(
    prompt, attention_mask=mask, max_new_tokens=48, do_sample=True, top_k=50, top_p=0.95, temperature=0.8, pad_token_id=0
)
beams = model.generate(prompt, attention_mask=mask, max_new_tokens=16, num_beams=4, early_stopping=True, pad_token_id=0)
print(greedy.shape, sampled.shape, beams.shape)
