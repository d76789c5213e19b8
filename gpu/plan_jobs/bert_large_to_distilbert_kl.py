"""Distil a bert-large sized masked language model into a distilbert sized student with a KL loss (fp16 autocast)."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    get_linear_schedule_with_warmup,
)

MASK_ID = 103
VOCAB_SIZE = 30522


class RandomMLMDataset(Dataset):
    def __init__(self, size, seq_len):
        self.size = size
        self.seq_len = seq_len

    def __len__(self):
        return self.size

    def __getitem__(self, idx):
        labels = torch.randint(1000, VOCAB_SIZE, (self.seq_len,))
        masked = torch.rand(self.seq_len) < 0.15
        input_ids = labels.masked_fill(masked, MASK_ID)
        return input_ids, labels.masked_fill(~masked, -100)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--seq_len", type=int, default=256)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--temperature", type=float, default=2.0)
    parser.add_argument("--alpha_ce", type=float, default=5.0)
    parser.add_argument("--alpha_mlm", type=float, default=2.0)
    args = parser.parse_args()

    torch.manual_seed(56)
    device = torch.device("cuda")

    teacher_config = BertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096, vocab_size=VOCAB_SIZE
    )
    teacher = BertForMaskedLM(teacher_config).to(device)
    student = DistilBertForMaskedLM(DistilBertConfig(vocab_size=VOCAB_SIZE)).to(device)
    teacher.eval()
    for param in teacher.parameters():
        param.requires_grad = False
    student.train()

    loader = DataLoader(RandomMLMDataset(args.batch_size * args.steps, args.seq_len), batch_size=args.batch_size)
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-6)
    scheduler = get_linear_schedule_with_warmup(optimizer, 1, args.steps)
    scaler = torch.amp.GradScaler("cuda")
    kl_loss = nn.KLDivLoss(reduction="batchmean")
    T = args.temperature

    for step, (input_ids, labels) in enumerate(loader):
        input_ids, labels = input_ids.to(device), labels.to(device)
        with torch.autocast(device_type="cuda", dtype=torch.float16):
            with torch.no_grad():
                teacher_logits = teacher(input_ids=input_ids).logits
            student_logits = student(input_ids=input_ids).logits
            s_logits = student_logits.view(-1, VOCAB_SIZE)
            t_logits = teacher_logits.view(-1, VOCAB_SIZE)
            loss_kl = kl_loss(F.log_softmax(s_logits / T, dim=-1), F.softmax(t_logits / T, dim=-1)) * T**2
            loss_mlm = F.cross_entropy(s_logits, labels.view(-1), ignore_index=-100)
            loss = args.alpha_ce * loss_kl + args.alpha_mlm * loss_mlm

        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(student.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        print(f"step {step} loss {loss.item():.3f} kl {loss_kl.item():.4f} mlm {loss_mlm.item():.3f}")


if __name__ == "__main__":
    main()
