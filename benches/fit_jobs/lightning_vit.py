"""A vision transformer under Lightning."""

import pytorch_lightning as lightning
import torch
import torchvision


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = torchvision.models.VisionTransformer(224, 16, 8, 6, 384, 1536, num_classes=100)

    def training_step(self, batch, index):
        images, labels = batch
        loss = torch.nn.functional.cross_entropy(self.model(images), labels)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


data = torch.utils.data.TensorDataset(torch.randn(256, 3, 224, 224), torch.arange(256) % 100)
loader = torch.utils.data.DataLoader(data, batch_size=32, drop_last=True)
trainer = lightning.Trainer(
    max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(Classifier(), loader)
