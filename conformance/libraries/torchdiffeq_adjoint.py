# torchdiffeq: fit a spiral with odeint, and the same gradients by odeint_adjoint
import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))

    def forward(self, t, y):
        return self.net(y**3)


true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
y0, t = torch.tensor([[2.0, 0.0]]), torch.linspace(0.0, 2.0, 10)
true_y = odeint(lambda t, y: y**3 @ true_A, y0, t, method="dopri5")
func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
for solve in (odeint, odeint_adjoint, odeint_adjoint):
    optimizer.zero_grad()
    loss = (solve(func, y0, t) - true_y).abs().mean()
    loss.backward()
    optimizer.step()
    print(loss, func.net[0].weight.grad.norm())
print(odeint(func, y0, t, method="rk4")[-1])
