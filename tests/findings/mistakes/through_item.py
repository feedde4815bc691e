import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * x * scale

    @staticmethod
    def backward(ctx, grad):
        x, scale = ctx.saved_tensors
        along = grad * 2 * x * scale.item()  # wrong: AG102
        along = grad * 2 * x * scale  # right
        return along, (grad * x * x).sum()


x = torch.tensor([1.0, 2.0], requires_grad=True)
scale = torch.tensor(3.0, requires_grad=True)
(slope,) = torch.autograd.grad(Scaled.apply(x, scale).sum(), x, create_graph=True)
