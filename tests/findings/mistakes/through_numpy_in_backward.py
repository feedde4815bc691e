import numpy as np
import torch


class Arctan(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.arctan(x.detach().numpy()))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        slope = torch.from_numpy(1 / (1 + x.detach().numpy() ** 2))  # wrong: AG102
        slope = 1 / (1 + x**2)  # right
        return grad * slope


x = torch.tensor([1.0, 2.0], requires_grad=True)
(slope,) = torch.autograd.grad(Arctan.apply(x).sum(), x, create_graph=True)
