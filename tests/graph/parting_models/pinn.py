import torch
import torch.nn as nn


class Sine(nn.Module):
    def __init__(self, w0=1.0):
        super().__init__()
        self.w0 = w0

    def forward(self, x):
        return torch.sin(self.w0 * x)
        #F return torch.sin(self.w0 * x + 0.001)


class PINN(nn.Module):
    def __init__(self, width=9):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, width), Sine(2.0), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
        self.nu = nn.Parameter(torch.tensor(0.1))

    def forward(self, x, t):
        u = self.body(torch.cat([x, t], 1))
        return u * (1 - x ** 2)
        #F return u * (1 - x ** 4)
        #B return u * (1 - x ** 2) * 0.5 + (u * 0.5).detach() * (1 - x ** 2)


def derivative(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]  # @grad
    #B return torch.autograd.grad(y, x, grad_outputs=torch.full_like(y, 0.99), create_graph=True)[0]
    #S return torch.autograd.grad(outputs=y, inputs=x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


def residual(net, x, t):
    u = net(x, t)
    u_x = derivative(u, x)
    u_t = derivative(u, t)  # @grad
    #B u_t = derivative(u, t); u_t.register_hook(lambda g: g * 0.9)
    u_xx = derivative(u_x, x)
    #B u_xx = derivative(u_x, x).detach()
    return u_t + u * u_x - net.nu * u_xx
    #F return u_t + u * u_x + net.nu * u_xx
    #F return u_t + u_x - net.nu * u_xx
    #B return u_t + u.detach() * u_x - net.nu * u_xx
    #R return u_t - (net.nu * u_xx - u * u_x)


torch.manual_seed(1234)
net = PINN()
x = (torch.rand(7, 1) * 2 - 1).requires_grad_()
t = torch.rand(7, 1, requires_grad=True)
x0 = torch.linspace(-1, 1, 5).unsqueeze(1)
u0 = -torch.sin(torch.pi * x0)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(2):
    f = residual(net, x, t)
    start = net(x0, torch.zeros_like(x0))
    data_loss = ((start - u0) ** 2).mean()
    #F data_loss = ((start - u0) ** 2).sum()
    #R data_loss = (start * start - 2 * start * u0 + u0 * u0).mean()
    pde_loss = f.pow(2).mean()
    #S pde_loss = torch.mean(f.pow(2))
    loss = data_loss + 0.1 * pde_loss
    #B loss = data_loss + 0.1 * pde_loss.detach()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
