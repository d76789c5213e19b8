"""A Function of its own, double backward, torch.autograd.grad, and saved tensors that are packed."""
# gpu: yes
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        print("backward")
        return 2 * ctx.saved_tensors[0] * gradient


x = torch.ones(1024, device="cuda", requires_grad=True)
packed = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
    y = Square.apply(x).sum()
(gradient,) = torch.autograd.grad(y, x, create_graph=True)
gradient.sum().backward()
print(len(packed), x.grad.shape, torch.autograd.grad.__name__, torch.autograd.backward.__module__)
