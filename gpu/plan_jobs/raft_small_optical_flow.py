"""Train torchvision's raft_small on random image pairs with the sequence loss, AdamW and a one-cycle schedule."""

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.models.optical_flow import raft_small

HEIGHT, WIDTH = 368, 496
BATCH_SIZE = 10
STEPS = 4
NUM_FLOW_UPDATES = 12
GAMMA = 0.8
MAX_FLOW = 400


class RandomFlowPairs(Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        image = torch.rand(3, HEIGHT, WIDTH) * 2 - 1
        dy, dx = torch.randint(-10, 11, (2,)).tolist()
        shifted = torch.roll(image, shifts=(dy, dx), dims=(1, 2))
        flow = torch.empty(2, HEIGHT, WIDTH)
        flow[0], flow[1] = dx, dy
        valid = torch.rand(HEIGHT, WIDTH) > 0.05
        return image, shifted, flow, valid


def sequence_loss(flow_preds, flow_gt, valid):
    valid = valid & (flow_gt.norm(dim=1) < MAX_FLOW)
    valid = valid[:, None, :, :]
    loss = 0
    n = len(flow_preds)
    for i, flow_pred in enumerate(flow_preds):
        weight = GAMMA ** (n - i - 1)
        abs_diff = (flow_pred - flow_gt).abs()
        loss = loss + weight * (abs_diff * valid).mean()
    return loss


def end_point_error(flow_pred, flow_gt, valid):
    epe = (flow_pred - flow_gt).norm(dim=1)
    return epe[valid].mean()


def main():
    torch.manual_seed(1234)
    device = torch.device("cuda")
    model = raft_small(weights=None).to(device)
    loader = DataLoader(RandomFlowPairs(BATCH_SIZE * STEPS), batch_size=BATCH_SIZE, shuffle=True, num_workers=0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4, weight_decay=1e-4, eps=1e-8)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=4e-4, total_steps=STEPS + 100, pct_start=0.05, cycle_momentum=False, anneal_strategy="linear"
    )

    model.train()
    for step, batch in enumerate(loader):
        image1, image2, flow_gt, valid = (x.to(device) for x in batch)
        optimizer.zero_grad()
        flow_preds = model(image1, image2, num_flow_updates=NUM_FLOW_UPDATES)
        loss = sequence_loss(flow_preds, flow_gt, valid)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        epe = end_point_error(flow_preds[-1].detach(), flow_gt, valid)
        print(f"step {step} loss {loss.item():.4f} epe {epe.item():.3f}")

    model.eval()
    with torch.no_grad():
        flow = model(image1, image2, num_flow_updates=24)[-1]
    print(f"eval epe {end_point_error(flow, flow_gt, valid).item():.3f}")


if __name__ == "__main__":
    main()
