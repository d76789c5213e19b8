"""MoCo v2: resnet50 query encoder, momentum key encoder and a queue of 65536 negatives, fp32 SGD."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet50

BATCH_SIZE = 128
STEPS = 4


class TwoCrops(Dataset):
    """Random images, two noisy views of each."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        image = torch.rand(3, 224, 224)
        return image + 0.1 * torch.randn(3, 1, 1), image.flip(-1) + 0.1 * torch.randn(3, 1, 1)


class MoCo(nn.Module):
    def __init__(self, dim=128, K=65536, m=0.999, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = resnet50(num_classes=dim)
        self.encoder_k = resnet50(num_classes=dim)
        for encoder in (self.encoder_q, self.encoder_k):
            dim_mlp = encoder.fc.weight.shape[1]
            encoder.fc = nn.Sequential(nn.Linear(dim_mlp, dim_mlp), nn.ReLU(), encoder.fc)
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data.copy_(param_q.data)
            param_k.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_k.data * self.m + param_q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        ptr = int(self.queue_ptr)
        self.queue[:, ptr : ptr + keys.shape[0]] = keys.T
        self.queue_ptr[0] = (ptr + keys.shape[0]) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            shuffle = torch.randperm(im_k.shape[0], device=im_k.device)
            k = F.normalize(self.encoder_k(im_k[shuffle]), dim=1)
            k = k[torch.argsort(shuffle)]
        l_pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", q, self.queue.clone().detach())
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long, device=logits.device)
        self._dequeue_and_enqueue(k)
        return logits, labels


torch.manual_seed(0)
model = MoCo().cuda()
criterion = nn.CrossEntropyLoss().cuda()
optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)
train_loader = DataLoader(TwoCrops(BATCH_SIZE * STEPS), batch_size=BATCH_SIZE, shuffle=True, drop_last=True)

model.train()
for i, (im_q, im_k) in enumerate(train_loader):
    im_q, im_k = im_q.cuda(non_blocking=True), im_k.cuda(non_blocking=True)
    output, target = model(im_q=im_q, im_k=im_k)
    loss = criterion(output, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    acc1 = (output.argmax(dim=1) == target).float().mean() * 100
    print(f"[{i}/{len(train_loader)}] loss {loss.item():.4f} acc@1 {acc1.item():.2f}")
