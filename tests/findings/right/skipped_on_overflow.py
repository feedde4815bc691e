import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
for i in range(8):
    x = torch.randn(5, 4)
    loss = (net(x * (1e25 if i == 3 else 1.0))).pow(2).mean() / 2
    scaler.scale(loss).backward()
    if i % 2:
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
