import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)); ps = list(net.parameters())
x, y = torch.randn(32, 3), torch.randn(32, 1)
for it in range(4):
    loss = (net(x) - y).pow(2).mean()
    g = torch.autograd.grad(loss, ps, create_graph=True)
    flat = torch.cat([q.reshape(-1) for q in g])
    v = torch.zeros_like(flat); r = flat.detach().clone(); p = r.clone(); rr = r @ r
    for k in range(5):
        Hp = torch.cat([h.reshape(-1) for h in torch.autograd.grad(flat @ p, ps, retain_graph=True)]) + .1 * p
        a = rr / (p @ Hp); v += a * p; r -= a * Hp; n = r @ r; p = r + n / rr * p; rr = n
    with torch.no_grad():
        i = 0
        for q in ps:
            q -= .1 * v[i:i + q.numel()].view_as(q); i += q.numel()
