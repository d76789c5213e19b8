"""DETR from scratch: torchvision ResNet-50, nn.Transformer, greedy one-to-one matching on the CPU."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import resnet50
from torchvision.ops import box_convert, generalized_box_iou

NUM_CLASSES = 91
NUM_QUERIES = 100


class DETR(nn.Module):
    def __init__(self, hidden_dim=256, nheads=8, enc_layers=6, dec_layers=6):
        super().__init__()
        net = resnet50(weights=None)
        self.backbone = nn.Sequential(*list(net.children())[:-2])
        self.conv = nn.Conv2d(2048, hidden_dim, 1)
        self.transformer = nn.Transformer(hidden_dim, nheads, enc_layers, dec_layers, 2048, dropout=0.1)
        self.linear_class = nn.Linear(hidden_dim, NUM_CLASSES + 1)
        self.bbox = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 4))
        self.query_pos = nn.Parameter(torch.rand(NUM_QUERIES, hidden_dim))
        self.row_embed = nn.Parameter(torch.rand(50, hidden_dim // 2))
        self.col_embed = nn.Parameter(torch.rand(50, hidden_dim // 2))

    def forward(self, inputs):
        h = self.conv(self.backbone(inputs))
        bs, _, H, W = h.shape
        col = self.col_embed[:W].unsqueeze(0).repeat(H, 1, 1)
        row = self.row_embed[:H].unsqueeze(1).repeat(1, W, 1)
        pos = torch.cat([col, row], dim=-1).flatten(0, 1).unsqueeze(1)
        src = pos + h.flatten(2).permute(2, 0, 1)
        hs = self.transformer(src, self.query_pos.unsqueeze(1).repeat(1, bs, 1)).transpose(0, 1)
        return self.linear_class(hs), self.bbox(hs).sigmoid()


@torch.no_grad()
def match(logits, boxes, labels, gt_boxes):
    """Greedy assignment: the cheapest remaining (query, object) pair first."""
    giou = generalized_box_iou(box_convert(boxes, "cxcywh", "xyxy"), box_convert(gt_boxes, "cxcywh", "xyxy"))
    cost = -logits.softmax(-1)[:, labels] + 5 * torch.cdist(boxes, gt_boxes, p=1) - 2 * giou
    cost, n_obj = cost.cpu(), len(labels)
    queries, objects = [], []
    for flat in cost.flatten().argsort().tolist():
        q, o = divmod(flat, n_obj)
        if q not in queries and o not in objects:
            queries.append(q)
            objects.append(o)
        if len(objects) == n_obj:
            break
    return torch.tensor(queries), torch.tensor(objects)


def set_criterion(logits, boxes, targets):
    target_classes = torch.full(logits.shape[:2], NUM_CLASSES, dtype=torch.long, device=logits.device)
    weight = torch.ones(NUM_CLASSES + 1, device=logits.device)
    weight[-1] = 0.1
    n_boxes = sum(len(t["labels"]) for t in targets)
    l1 = giou = 0.0
    for b, t in enumerate(targets):
        q, o = match(logits[b], boxes[b], t["labels"], t["boxes"])
        target_classes[b, q] = t["labels"][o]
        pred, gt = boxes[b][q], t["boxes"][o]
        l1 = l1 + F.l1_loss(pred, gt, reduction="sum") / n_boxes
        iou = generalized_box_iou(box_convert(pred, "cxcywh", "xyxy"), box_convert(gt, "cxcywh", "xyxy"))
        giou = giou + (1 - iou.diag()).sum() / n_boxes
    return F.cross_entropy(logits.transpose(1, 2), target_classes, weight), l1, giou


torch.manual_seed(0)
model = DETR().cuda()
backbone_params = list(model.backbone.parameters())
other_params = [p for n, p in model.named_parameters() if not n.startswith("backbone")]
optimizer = torch.optim.AdamW([{"params": other_params}, {"params": backbone_params, "lr": 1e-5}], lr=1e-4)

for step in range(4):
    images = torch.randn(8, 3, 512, 640).cuda()
    counts = torch.randint(1, 20, (8,)).tolist()
    targets = [{"labels": torch.randint(0, NUM_CLASSES, (n,)), "boxes": 0.05 + 0.4 * torch.rand(n, 4)} for n in counts]
    targets = [{k: v.cuda() for k, v in t.items()} for t in targets]
    logits, boxes = model(images)
    loss_ce, loss_l1, loss_giou = set_criterion(logits, boxes, targets)
    loss = loss_ce + 5 * loss_l1 + 2 * loss_giou
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1)
    optimizer.step()
    print(f"step {step} ce {loss_ce.item():.3f} l1 {loss_l1.item():.3f} giou {loss_giou.item():.3f}")
