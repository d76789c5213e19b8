"""TRL's GRPOTrainer: answers are generated, judged by a function, and trained on."""

from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM
from trl import GRPOConfig, GRPOTrainer
from words import text, tokenizer


def reward_length(completions, **kwargs):
    return [-abs(20 - len(completion.split())) for completion in completions]


config = LlamaConfig(
    vocab_size=512, hidden_size=256, intermediate_size=704, num_hidden_layers=2, num_attention_heads=4, pad_token_id=0, eos_token_id=2
)
arguments = GRPOConfig(
    output_dir="out",
    per_device_train_batch_size=8,
    num_generations=4,
    max_completion_length=32,
    logging_steps=1,
    bf16=True,
    report_to="none",
)
trainer = GRPOTrainer(
    model=LlamaForCausalLM(config),
    reward_funcs=reward_length,
    args=arguments,
    train_dataset=Dataset.from_list([{"prompt": text(16, n)} for n in range(64)]),
    processing_class=tokenizer(),
)
trainer.train()
