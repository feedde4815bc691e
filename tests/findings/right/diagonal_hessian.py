import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)); ps = list(net.parameters())
opt = torch.optim.SGD(ps, .01)
for i in range(5):
    loss = net(torch.randn(8, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward(create_graph=True)
    g = [p.grad for p in ps]
    z = [torch.randint_like(p, 2) * 2. - 1 for p in ps]
    h = torch.autograd.grad(g, ps, grad_outputs=z, retain_graph=False)
    for p, a, b in zip(ps, g, h): p.grad = (a / (b.abs().sqrt() + 1e-4)).detach()
    opt.step()
