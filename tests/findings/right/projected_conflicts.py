import torch
from torch import nn
torch.manual_seed(0)
trunk, a, b = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 1)
every = [*trunk.parameters(), *a.parameters(), *b.parameters()]
opt = torch.optim.Adam(every, lr=1e-2)
for _ in range(4):
    x = torch.randn(12, 4)
    h = torch.relu(trunk(x))
    losses = [(a(h) - x[:, :1]).pow(2).mean(), (b(h) + x[:, :1]).abs().mean()]
    grads = []
    for k, loss in enumerate(losses):
        opt.zero_grad()
        loss.backward(retain_graph=k == 0)
        grads.append([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in every])
    opt.zero_grad()
    flat = [torch.cat([g.flatten() for g in each]) for each in grads]
    dot = flat[0] @ flat[1]
    scale = dot / flat[1].pow(2).sum() if dot < 0 else 0.0
    for p, g0, g1 in zip(every, *grads):
        p.grad = g0 + g1 - scale * g1
    opt.step()
