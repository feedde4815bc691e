import torch


class Weighted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w  # wrong: AG016
        return g * w, g * x  # right


x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
Weighted.apply(x, w).sum().backward()
