import torch
from torch import nn


class PinballLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pred, target, q):
        e = target - pred
        ctx.grad = torch.where(e > 0, torch.full_like(e, -q), torch.full_like(e, 1 - q)) / e.numel()
        return torch.maximum(q * e, (q - 1) * e).mean()

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.grad, None, None


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(40, 3)
y = x.sum(1, keepdim=True)
for _ in range(6):
    loss = PinballLoss.apply(net(x), y, 0.8)
    opt.zero_grad()
    loss.backward()
    opt.step()
