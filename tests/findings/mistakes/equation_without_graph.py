import torch
from torch import nn
torch.manual_seed(6)
net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
def grads(u, z):
    return torch.autograd.grad(u, z, torch.ones_like(u), retain_graph=True)[0]  # wrong: AG816
    return torch.autograd.grad(u, z, torch.ones_like(u), create_graph=True)[0]  # right
for it in range(4):
    z = torch.rand(20, 2, requires_grad=True)
    u = net(z)
    du = grads(u, z)
    residual = du[:, 1:] + u * du[:, :1]
    z0 = torch.cat([torch.rand(10, 1), torch.zeros(10, 1)], 1)
    ic = (net(z0) + torch.sin(3.14 * z0[:, :1])).pow(2).mean()
    loss = residual.pow(2).mean() + ic
    opt.zero_grad(); loss.backward(); opt.step()
