"""A learning rate that warms up from 0, then falls along a cosine to 0."""

import math

import torch
from torch import nn, optim

torch.manual_seed(1)
STEPS, WARM = 24, 4
net = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, 4))
opt = optim.Adam(net.parameters(), lr=0.01, betas=(0.9, 0.98))


def factor(step):
    if step < WARM:
        return step / WARM
    return 0.5 * (1 + math.cos(math.pi * (step - WARM) / (STEPS - WARM)))


sched = optim.lr_scheduler.LambdaLR(opt, factor)
x = torch.randn(40, 8)
t = (x @ torch.randn(8, 4)).argmax(1)
for _ in range(STEPS):
    loss = nn.functional.cross_entropy(net(x), t, label_smoothing=0.1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
