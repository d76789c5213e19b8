"""Fine-tune a short Swin from torchvision: autocast bf16, compiled, backbone with a smaller lr, validation between epochs."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models.swin_transformer import SwinTransformer

torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
device = torch.device("cuda")

model = SwinTransformer(
    patch_size=[4, 4], embed_dim=96, depths=[2, 2, 2, 2], num_heads=[3, 6, 12, 24], window_size=[7, 7],
    stochastic_depth_prob=0.0, num_classes=1000,
)
model.head = nn.Linear(model.head.in_features, 37)  # pets
model.to(device)

head = list(model.head.parameters())
ids = {id(p) for p in head}
backbone = [p for p in model.parameters() if id(p) not in ids]
optimizer = torch.optim.AdamW([{"params": backbone, "lr": 1e-5}, {"params": head, "lr": 1e-3}], weight_decay=0.05)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
net = torch.compile(model)

train = TensorDataset(torch.randn(256, 3, 224, 224), torch.randint(0, 37, (256,)))
valid = TensorDataset(torch.randn(128, 3, 224, 224), torch.randint(0, 37, (128,)))
train_loader = DataLoader(train, batch_size=64, shuffle=True, drop_last=True, pin_memory=True)
valid_loader = DataLoader(valid, batch_size=64, pin_memory=True)


def run_epoch(epoch):
    net.train()
    for x, y in train_loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            loss = criterion(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    print(f"epoch {epoch} last loss {loss.item():.3f}")


@torch.inference_mode()
def evaluate():
    net.eval()
    right = torch.zeros((), device=device)
    for x, y in valid_loader:
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
            out = net(x.to(device, non_blocking=True))
        right += (out.argmax(1) == y.to(device)).sum()
    print(f"accuracy {right.item() / len(valid):.3f}")


if __name__ == "__main__":
    run_epoch(0)
    evaluate()
    torch.save({k: v.cpu() for k, v in model.state_dict().items()}, "swin_pets.pt")
