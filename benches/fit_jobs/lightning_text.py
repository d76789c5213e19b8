"""A transformer for text under Lightning, in mixed precision."""

import pytorch_lightning as lightning
import torch
from torch import nn


class Writer(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(16000, 512)
        layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 8, enable_nested_tensor=False)
        self.head = nn.Linear(512, 16000)

    def training_step(self, batch, index):
        (tokens,) = batch
        logits = self.head(self.layers(self.tokens(tokens[:, :-1])))
        return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


data = torch.utils.data.TensorDataset(torch.randint(0, 16000, (256, 257)))
loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, drop_last=True)
trainer = lightning.Trainer(
    max_epochs=1, accelerator="gpu", devices=1, precision="bf16-mixed", logger=False, enable_checkpointing=False,
    enable_progress_bar=False,
)  # fmt: skip
trainer.fit(Writer(), loader)
