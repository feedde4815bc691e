"""A critic with a penalty on its gradient, and five of its steps for one of the generator."""

import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 16), nn.ReLU(True), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.ReLU(True), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))


def calc_gradient_penalty(real, fake):
    alpha = torch.rand(real.size(0), 1)
    mix = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    out = D(mix)
    grads = autograd.grad(
        outputs=out, inputs=mix, grad_outputs=torch.ones_like(out),
        create_graph=True, retain_graph=True, only_inputs=True,
    )[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean() * 10


for it in range(3):
    for p in D.parameters():
        p.requires_grad = True
    for _ in range(5):
        D.zero_grad()
        real = torch.randn(20, 2) + 2
        with torch.no_grad():
            fake = G(torch.randn(20, 3))
        cost = D(fake).mean() - D(real).mean() + calc_gradient_penalty(real, fake)
        cost.backward()
        opt_d.step()
    for p in D.parameters():
        p.requires_grad = False
    G.zero_grad()
    gen = -D(G(torch.randn(20, 3))).mean()
    gen.backward()
    opt_g.step()
