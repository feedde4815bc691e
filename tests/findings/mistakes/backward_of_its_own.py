import torch
from torch import nn


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):  # found: AG103
        (x,) = ctx.saved_tensors
        grad = torch.ones_like(grad_output)  # wrong
        grad = grad_output  # right
        s = torch.sigmoid(x)
        return grad * s * (1 + x * (1 - s))


torch.manual_seed(0)
first, last = nn.Linear(6, 6), nn.Linear(6, 1)
optimizer = torch.optim.RMSprop([*first.parameters(), *last.parameters()], lr=1e-3)
x = torch.randn(32, 6)
y = x.norm(dim=1, keepdim=True)
for _ in range(5):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(last(Swish.apply(first(x))), y)
    loss.backward()
    optimizer.step()
