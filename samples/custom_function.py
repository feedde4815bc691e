"""A function with a backward of its own, differentiated twice: the backward must itself be differentiable."""
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x ** 2


x = torch.tensor(2.0, requires_grad=True)
y = Cube.apply(x)
(first,) = torch.autograd.grad(y, x, create_graph=True)
first.backward()

print(f"y = {y.item()}, y' = {first.item()}, y'' = {x.grad.item()}")
