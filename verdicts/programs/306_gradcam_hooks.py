"""Every few steps I draw a Grad-CAM picture to see what the network looks at. Without the pictures training is fine."""
import os

import torch
import torch.nn.functional as F
import torchvision

device = "cuda"


class GradCAM:
    def __init__(self, model, layer):
        self.model, self.activations = model, []
        self.handle = layer.register_forward_hook(self.save)

    def save(self, module, inputs, output):
        self.activations.append(output)

    def __call__(self, image, target):
        score = self.model(image[None])[0, target]
        act = self.activations[-1]
        grad, = torch.autograd.grad(score, act)
        cam = F.relu((grad.mean((2, 3), keepdim=True) * act).sum(1))
        return F.interpolate(cam[None], size=image.shape[-2:])[0, 0].detach().cpu()

    def remove(self):
        self.handle.remove()
        self.activations.clear()


def draw_cam(model, image, target):
    cam = GradCAM(model, model.layer2)
    heatmap = cam(image, target)
    if os.environ.get("CURED"):
        cam.remove()
    return heatmap


model = torchvision.models.resnet18(weights=None, num_classes=20).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(120):
    images = torch.rand(32, 3, 224, 224).to(device)
    labels = torch.randint(0, 20, (32,)).to(device)
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        heatmap = draw_cam(model, images[0], int(labels[0]))
        print("step", step, tuple(heatmap.shape), flush=True)
