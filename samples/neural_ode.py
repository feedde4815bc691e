"""A neural ODE: the solver is a custom Function, whose backward runs the adjoint equation backwards in time."""
import torch
from torch import nn

torch.manual_seed(0)
STEPS, DT = 20, 0.05


class Solve(torch.autograd.Function):
    """Euler steps of y' = field(y); keeps only where the path ends."""

    @staticmethod
    def forward(ctx, y, field, *parameters):
        ctx.field = field
        with torch.no_grad():
            for _ in range(STEPS):
                y = y + DT * field(y)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        [y] = ctx.saved_tensors
        parameters = list(ctx.field.parameters())
        sums = [torch.zeros_like(p) for p in parameters]
        for _ in range(STEPS):
            with torch.enable_grad():
                y = y.detach().requires_grad_()
                slope = ctx.field(y)
                change, *parts = torch.autograd.grad(slope, [y, *parameters], grad)
            with torch.no_grad():
                y = y - DT * slope
                grad = grad + DT * change
                sums = [s + DT * p for s, p in zip(sums, parts, strict=True)]
        return grad, None, *sums


field = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(field.parameters(), lr=0.02)
start = torch.randn(32, 2)
goal = torch.stack([-start[:, 1], start[:, 0]], 1)

for step in range(60):
    optimizer.zero_grad()
    loss = ((Solve.apply(start, field, *field.parameters()) - goal) ** 2).mean()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
print(f"at the end: loss {loss.item():.3f}")
