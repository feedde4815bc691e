import torch

torch.manual_seed(0)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.sig = torch.sigmoid(x)  # wrong: AG101
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = ctx.sig  # wrong
        s = torch.sigmoid(x)  # right
        return g * (s * (1 + x * (1 - s)))


layer = torch.nn.Linear(3, 3)
x = torch.randn(5, 3, requires_grad=True)
(slope,) = torch.autograd.grad(Swish.apply(layer(x)).sum(), x, create_graph=True)
(slope.norm(2, dim=1) - 1).pow(2).mean().backward()
