import torch
from torch import nn


def squash(v):
    n = v.pow(2).sum(-1, keepdim=True)
    return v * n / (1 + n) / (n + 1e-8).sqrt()


torch.manual_seed(0)
w = nn.Parameter(torch.randn(3, 6, 4, 5) * 0.1)
opt = torch.optim.Adam([w], lr=1e-3)
u = torch.randn(8, 6, 5)
y = torch.randint(0, 3, (8,))
for _ in range(5):
    uh = torch.einsum("cide,bie->bcid", w, u)
    b = torch.zeros(8, 3, 6)
    fixed = uh.detach()
    for r in range(3):
        c = b.softmax(1)
        votes = uh if r == 2 else fixed
        v = squash((c[..., None] * votes).sum(2))
        if r < 2:
            b = b + (fixed * v[:, :, None]).sum(-1)
    length = v.pow(2).sum(-1).add(1e-8).sqrt()
    pos = torch.relu(0.9 - length).pow(2)
    neg = torch.relu(length - 0.1).pow(2)
    t = nn.functional.one_hot(y, 3).float()
    loss = (t * pos + 0.5 * (1 - t) * neg).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
