import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1); ps = list(net.parameters())
for i in range(5):
    x = torch.randn(8, 3)
    net.zero_grad(set_to_none=True)
    net(x).pow(2).mean().backward(create_graph=True)
    gs = [p.grad for p in ps]
    vs = [torch.randn_like(p) for p in ps]
    hv = torch.autograd.grad(sum((g * v).sum() for g, v in zip(gs, vs)), ps)
    with torch.no_grad():
        for p, h in zip(ps, hv): p -= .01 * h
