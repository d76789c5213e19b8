"""TRL's DPOTrainer: a model, its reference, and pairs of answers."""

from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM
from trl import DPOConfig, DPOTrainer
from words import text, tokenizer

rows = [{"prompt": text(20, n), "chosen": text(60, n + 1), "rejected": text(50, n + 2)} for n in range(64)]
config = LlamaConfig(vocab_size=512, hidden_size=512, intermediate_size=1408, num_hidden_layers=4, num_attention_heads=8)
arguments = DPOConfig(
    output_dir="out", per_device_train_batch_size=4, learning_rate=5e-7, beta=0.1, logging_steps=1, bf16=True, report_to="none"
)
trainer = DPOTrainer(
    model=LlamaForCausalLM(config),
    ref_model=LlamaForCausalLM(config),
    args=arguments,
    train_dataset=Dataset.from_list(rows),
    processing_class=tokenizer(),
)
trainer.train()
