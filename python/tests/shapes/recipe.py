"""A recipe in torchtune's form: a class with setup and train, weights of bf16, activation checkpointing, clipping, a scheduler,
and memory figures that are logged."""

import math
import time
from functools import partial

import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from torch.utils.data import DataLoader
from tqdm import tqdm
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

CONFIG = {"batch_size": 4, "epochs": 3, "gradient_accumulation_steps": 2, "clip_grad_norm": 1.0, "dtype": torch.bfloat16}


class FullFinetuneRecipeSingleDevice:
    def __init__(self, cfg):
        self.cfg = cfg
        self.device = torch.device("cuda")
        self.global_step = 0

    def setup(self):
        torch.manual_seed(0)
        config = LlamaConfig(vocab_size=32000, hidden_size=512, intermediate_size=1408, num_hidden_layers=8, num_attention_heads=8)
        torch.set_default_dtype(self.cfg["dtype"])
        with self.device:
            self.model = LlamaForCausalLM(config)
        torch.set_default_dtype(torch.float32)
        apply_activation_checkpointing(self.model, check_fn=lambda module: isinstance(module, LlamaDecoderLayer))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-5, fused=True)
        self.loss = nn.CrossEntropyLoss(ignore_index=-100, reduction="sum")
        data = [torch.randint(0, 32000, (256 + 16 * (index % 8),)) for index in range(160)]
        self.loader = DataLoader(data, self.cfg["batch_size"], shuffle=True, collate_fn=partial(self.collate, pad=0, ignore=-100))
        total = len(self.loader) * self.cfg["epochs"]
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda at: 0.5 * (1 + math.cos(math.pi * at / total)))

    @staticmethod
    def collate(rows, pad, ignore):
        tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
        return {"tokens": tokens, "labels": nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=ignore)}

    def train(self):
        self.optimizer.zero_grad()
        t0, running, num_tokens = time.perf_counter(), 0, 0
        for epoch in range(self.cfg["epochs"]):
            bar = tqdm(total=len(self.loader) // self.cfg["gradient_accumulation_steps"])
            for idx, batch in enumerate(self.loader):
                batch = {key: value.to(self.device) for key, value in batch.items()}
                count = (batch["labels"] != -100).sum()
                num_tokens += count
                logits = self.model(batch["tokens"]).logits
                labels = torch.hstack((batch["labels"][..., 1:], torch.full_like(batch["labels"][:, :1], -100)))
                loss = self.loss(logits.reshape(-1, logits.size(-1)), labels.reshape(-1))
                running += loss.detach()
                loss.backward()
                if (idx + 1) % self.cfg["gradient_accumulation_steps"] == 0:
                    for parameter in self.model.parameters():
                        parameter.grad *= 1 / num_tokens
                    norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=self.cfg["clip_grad_norm"])
                    self.optimizer.step()
                    self.optimizer.zero_grad(set_to_none=True)
                    self.scheduler.step()
                    self.global_step += 1
                    bar.update(1)
                    bar.set_description(f"{epoch + 1}|{self.global_step}|Loss: {running.item() / num_tokens}")
                    print({"tokens_per_second": num_tokens / (time.perf_counter() - t0), "grad_norm": norm,
                           "peak": torch.cuda.max_memory_allocated() / 2**30})
                    running, num_tokens, t0 = 0, 0, time.perf_counter()


if __name__ == "__main__":
    recipe = FullFinetuneRecipeSingleDevice(CONFIG)
    recipe.setup()
    recipe.train()
