"""QLoRA: weights of 4 bits by bitsandbytes, LoRA by peft, a paged optimizer, under the Trainer. The base model is made
from its configuration and saved first, since from_pretrained is what quantises."""

import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

config = LlamaConfig(vocab_size=32000, hidden_size=512, intermediate_size=1536, num_hidden_layers=4, num_attention_heads=8)
LlamaForCausalLM(config).save_pretrained("base")

bnb_config = BitsAndBytesConfig(
    load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
)
model = AutoModelForCausalLM.from_pretrained("base", quantization_config=bnb_config, device_map={"": 0})
model = prepare_model_for_kbit_training(model)
lora = LoraConfig(r=8, lora_alpha=32, target_modules=["q_proj", "v_proj"], lora_dropout=0.05, bias="none", task_type="CAUSAL_LM")
model = get_peft_model(model, lora)
model.print_trainable_parameters()


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        ids = torch.randint(0, 32000, (128,))
        return {"input_ids": ids, "labels": ids}


arguments = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=1,
    gradient_accumulation_steps=4,
    warmup_steps=2,
    max_steps=10,
    learning_rate=2e-4,
    bf16=True,
    logging_steps=1,
    optim="paged_adamw_8bit",
    report_to="none",
)
model.config.use_cache = False
trainer = Trainer(model=model, train_dataset=Data(), args=arguments)
trainer.train()
