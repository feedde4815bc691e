import torch


class Polar(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        r = torch.sqrt(x * x + y * y)
        ctx.save_for_backward(x, y, r)
        return r, torch.atan2(y, x)

    @staticmethod
    def backward(ctx, grad_r, grad_angle):  # found: AG103
        x, y, r = ctx.saved_tensors
        along = grad_r * x / r, grad_r * y / r
        along = along[0] - grad_angle * y / r**2, along[1] + grad_angle * x / r**2  # right
        return along


x, y = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
r, angle = Polar.apply(x, y)
(r + angle).sum().backward()
