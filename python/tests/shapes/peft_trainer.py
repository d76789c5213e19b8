"""LoRA by peft, under transformers' Trainer with an evaluation."""

import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 128

    def __getitem__(self, index):
        ids = torch.randint(0, 32000, (256,))
        return {"input_ids": ids, "labels": ids, "attention_mask": torch.ones_like(ids)}


config = LlamaConfig(vocab_size=32000, hidden_size=512, intermediate_size=1408, num_hidden_layers=8, num_attention_heads=8)
model = LlamaForCausalLM(config)
peft_config = LoraConfig(task_type=TaskType.CAUSAL_LM, r=16, lora_alpha=32, lora_dropout=0.1, target_modules=["q_proj", "v_proj"])
model = get_peft_model(model, peft_config)
model.print_trainable_parameters()
arguments = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=2,
    gradient_checkpointing=True,
    gradient_checkpointing_kwargs={"use_reentrant": False},
    num_train_epochs=2,
    learning_rate=1e-4,
    bf16=True,
    logging_steps=2,
    eval_strategy="epoch",
    report_to="none",
)
trainer = Trainer(model=model, args=arguments, train_dataset=Data(), eval_dataset=Data())
trainer.train()
model.save_pretrained("adapter")
