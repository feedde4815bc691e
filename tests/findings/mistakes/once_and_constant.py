import torch
from torch.autograd.function import once_differentiable


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable  # wrong: AG102
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


x = torch.tensor([1.0, 2.0], requires_grad=True)
(slope,) = torch.autograd.grad(Twice.apply(x).sum(), x, create_graph=True)
print(slope.requires_grad)
