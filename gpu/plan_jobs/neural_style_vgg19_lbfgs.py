"""Neural style transfer: optimise a 1024x1024 image with LBFGS through (randomly initialised) VGG19 features."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import vgg19

IMSIZE = 1024
STYLE_WEIGHT, CONTENT_WEIGHT = 1e10, 1e4
NUM_STEPS = 4
CONTENT_LAYERS = ["conv_4"]
STYLE_LAYERS = ["conv_1", "conv_2", "conv_3", "conv_4", "conv_5"]

torch.manual_seed(0)
device = torch.device("cuda")
torch.set_default_device(device)


def gram_matrix(x):
    a, b, c, d = x.size()
    features = x.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, x):
        self.loss = F.mse_loss(x, self.target)
        return x


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, x):
        self.loss = F.mse_loss(gram_matrix(x), self.target)
        return x


def build_style_model(cnn, style_img, content_img):
    content_losses, style_losses = [], []
    model = nn.Sequential()
    i = 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = f"conv_{i}"
        elif isinstance(layer, nn.ReLU):
            name = f"relu_{i}"
            layer = nn.ReLU(inplace=False)
        else:
            name = f"pool_{i}"
        model.add_module(name, layer)
        if name in CONTENT_LAYERS:
            content_losses.append(ContentLoss(model(content_img).detach()))
            model.add_module(f"content_loss_{i}", content_losses[-1])
        if name in STYLE_LAYERS:
            style_losses.append(StyleLoss(model(style_img).detach()))
            model.add_module(f"style_loss_{i}", style_losses[-1])
        if name == STYLE_LAYERS[-1]:
            break
    return model, style_losses, content_losses


cnn = vgg19(weights=None).features.eval()
content_img = F.interpolate(torch.rand(1, 3, 16, 16), size=IMSIZE, mode="bicubic").clamp(0, 1)
style_img = F.interpolate(torch.rand(1, 3, 256, 256), size=IMSIZE, mode="nearest")
input_img = content_img.clone().requires_grad_(True)
model, style_losses, content_losses = build_style_model(cnn, style_img, content_img)
model.eval().requires_grad_(False)
optimizer = torch.optim.LBFGS([input_img], max_iter=8)

for run in range(NUM_STEPS):
    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_img)
        style_score = STYLE_WEIGHT * sum(sl.loss for sl in style_losses)
        loss = style_score + CONTENT_WEIGHT * sum(cl.loss for cl in content_losses)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    print(f"run {run} loss {loss.item():.6f}")
