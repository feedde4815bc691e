import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(6):
    x = torch.randn(16, 4); out = net(x)
    losses = [out[:, 0].pow(2).mean(), (out[:, 1] - 1).pow(2).mean()]
    grads = []
    for l in losses:
        opt.zero_grad()
        l.backward(retain_graph=True)
        grads.append([p.grad.clone() for p in net.parameters()])
    for p, g1, g2 in zip(net.parameters(), *grads):
        dot = (g1 * g2).sum()
        p.grad = g1 + g2 if dot >= 0 else g1 - dot / (g2.norm() ** 2 + 1e-12) * g2 + g2
    opt.step()
