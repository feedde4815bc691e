import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)


def residual(x, t):
    u = net(torch.cat((x, t), 1))
    ones = torch.ones_like(u)
    u_x = torch.autograd.grad(u, x, ones, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, ones, create_graph=True)[0]
    u_t = torch.autograd.grad(u, t, ones, retain_graph=True)[0]  # wrong: AG816
    u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]  # right
    return u_t - 0.1 * u_xx


for _ in range(3):
    x, t = torch.rand(8, 1, requires_grad=True), torch.rand(8, 1, requires_grad=True)
    start = net(torch.cat((x.detach(), torch.zeros(8, 1)), 1)) - x.detach().sin()
    loss = residual(x, t).square().mean() + start.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
