import torch
from torch import nn
torch.manual_seed(0)
E_net = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(E_net.parameters(), lr=1e-3)
for it in range(4):
    x = torch.randn(16, 2)
    s = torch.randn(16, 2, requires_grad=True)
    for k in range(5):
        g, = torch.autograd.grad(E_net(s).sum(), [s])
        s.data.add_(g, alpha=-.1).add_(torch.randn_like(s), alpha=.01)
    loss = E_net(x).mean() - E_net(s.detach()).mean()
    opt.zero_grad(); loss.backward(); opt.step()
