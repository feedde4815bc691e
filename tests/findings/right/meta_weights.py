import torch
from torch import nn
from torch.func import functional_call
torch.manual_seed(0)
net, wnet = nn.Linear(4, 1), nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
o, ow = torch.optim.SGD(net.parameters(), .1), torch.optim.Adam(wnet.parameters(), 1e-2)
for i in range(4):
    x, y, xv, yv = torch.randn(8, 4), torch.randn(8, 1), torch.randn(8, 4), torch.randn(8, 1)
    p = dict(net.named_parameters())
    l = (functional_call(net, p, (x,)) - y).pow(2); wl = (wnet(l.detach()) * l).mean()
    g = torch.autograd.grad(wl, p.values(), create_graph=True)
    q = {k: v - .1 * gi for (k, v), gi in zip(p.items(), g)}
    vl = (functional_call(net, q, (xv,)) - yv).pow(2).mean()
    ow.zero_grad(); vl.backward(); ow.step()
    with torch.no_grad(): w = wnet((net(x) - y).pow(2))
    loss = (w * (net(x) - y).pow(2)).mean()
    o.zero_grad(); loss.backward(); o.step()
