import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, times):
        ctx.save_for_backward(x, scale)
        ctx.times = times
        return x * scale * times

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return g * scale * ctx.times, None, None  # wrong: AG104
        return g * scale * ctx.times, g * x * ctx.times, None  # right


x = torch.ones(3, requires_grad=True)
scale = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([x, scale], lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    Scaled.apply(x, scale * 2, 2.0).sum().backward()
    optimizer.step()
