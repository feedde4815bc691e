import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
rate = torch.tensor(0.5, requires_grad=True)  # wrong: AG802
rate = torch.tensor(0.5, requires_grad=True)  # right
own = list(net.parameters())
own.append(rate)  # right
opt = torch.optim.Adam(own, lr=1e-3)
seen = torch.linspace(0, 1, 16)[:, None]
for _ in range(4):
    t = torch.rand(16, 1, requires_grad=True)
    u = net(t)
    (slope,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    loss = (net(seen) - torch.exp(-2 * seen)).square().mean() + (slope + rate * u).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
