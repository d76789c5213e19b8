"""TRL's RewardTrainer on pairs of answers."""

from datasets import Dataset
from transformers import LlamaConfig, LlamaForSequenceClassification
from trl import RewardConfig, RewardTrainer
from words import text, tokenizer

rows = [{"prompt": text(20, n), "chosen": text(60, n + 1), "rejected": text(50, n + 2)} for n in range(64)]
config = LlamaConfig(
    vocab_size=512, hidden_size=512, intermediate_size=1408, num_hidden_layers=4, num_attention_heads=8, num_labels=1, pad_token_id=0
)
arguments = RewardConfig(output_dir="out", per_device_train_batch_size=8, num_train_epochs=1, logging_steps=1, bf16=True, report_to="none")
trainer = RewardTrainer(
    model=LlamaForSequenceClassification(config), args=arguments, train_dataset=Dataset.from_list(rows), processing_class=tokenizer()
)
trainer.train()
