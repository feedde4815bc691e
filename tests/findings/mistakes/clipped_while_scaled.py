import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for x in torch.randn(4, 5, 4):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)  # right
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # wrong: AG811
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # right
    scaler.step(opt)
    scaler.update()
