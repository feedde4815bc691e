import torch


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.sigmoid = torch.sigmoid(x)  # wrong: AG101
        ctx.save_for_backward(x)  # right
        return torch.log1p(torch.exp(x))

    @staticmethod
    def backward(ctx, grad):
        sigmoid = ctx.sigmoid  # wrong
        sigmoid = torch.sigmoid(ctx.saved_tensors[0])  # right
        return grad * sigmoid


x = torch.linspace(-1, 1, 5, requires_grad=True)
(slope,) = torch.autograd.grad(Softplus.apply(x).sum(), x, create_graph=True)
curvature = slope.sum()
