"""TRL's SFTTrainer with LoRA, on conversations."""

from datasets import Dataset
from peft import LoraConfig
from transformers import LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer
from words import text, tokenizer

rows = [
    {"messages": [{"role": "user", "content": text(40, n)}, {"role": "assistant", "content": text(120, n + 1)}]} for n in range(64)
]
dataset = Dataset.from_list(rows).train_test_split(0.25)
config = LlamaConfig(vocab_size=512, hidden_size=512, intermediate_size=1408, num_hidden_layers=4, num_attention_heads=8)
model = LlamaForCausalLM(config)
arguments = SFTConfig(
    output_dir="out",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=2,
    max_length=256,
    learning_rate=2e-4,
    logging_steps=1,
    eval_strategy="steps",
    eval_steps=10,
    bf16=True,
    report_to="none",
)
trainer = SFTTrainer(
    model,
    args=arguments,
    train_dataset=dataset["train"],
    eval_dataset=dataset["test"],
    processing_class=tokenizer(),
    peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"),
)
trainer.train()
trainer.save_model("out")
