"""Knowledge distillation. The student alone: 1 GB. The teacher alone (inference): 1.5 GB. Both together: out of memory at 4 GB."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import BertConfig, BertModel


class Regressor(nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        self.bert = BertModel(BertConfig(vocab_size=4000, hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64,
                                         intermediate_size=4 * width), add_pooling_layer=False)
        self.head = nn.Linear(width, 5)

    def forward(self, ids):
        return self.head(self.bert(input_ids=ids).last_hidden_state[:, 0])


class Distiller:
    def __init__(self, temperature=2.0):
        with torch.device("cuda"):
            self.teacher, self.student = Regressor(10, 1024).eval(), Regressor(3, 384)
        self.optimizer = torch.optim.AdamW(self.student.parameters(), lr=3e-4)
        self.temperature = temperature

    def soft_targets(self, ids):
        if os.environ.get("CURED"):
            with torch.no_grad():
                return self.teacher(ids)
        return self.teacher(ids)

    def step(self, ids):
        soft = F.softmax(self.soft_targets(ids) / self.temperature, -1)
        mine = F.log_softmax(self.student(ids) / self.temperature, -1)
        loss = F.kl_div(mine, soft, reduction="batchmean")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


distiller = Distiller()
for i in range(3):
    print(i, distiller.step(torch.randint(0, 4000, (32, 192), device="cuda")), flush=True)
