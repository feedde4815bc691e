import torch
from torch import nn
torch.manual_seed(0)
net = nn.ModuleDict({"body": nn.Sequential(nn.Linear(5, 8), nn.ReLU()), "head": nn.Linear(8, 3)})
for p in net["body"].parameters():
    p.requires_grad = False
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.01, total_iters=4)
for epoch in range(6):
    if epoch == 3:
        net["body"].requires_grad_(True)
    x, y = torch.randn(12, 5), torch.randint(0, 3, (12,))
    loss = nn.functional.cross_entropy(net["head"](net["body"](x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
