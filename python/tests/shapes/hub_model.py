"""A model by its name: its files are on the hub."""

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-3.2-1B")
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.2-1B", dtype=torch.bfloat16, device_map="cuda")
batch = tokenizer(["some text"], return_tensors="pt").to("cuda")
model(**batch, labels=batch["input_ids"]).loss.backward()
