# schedule whose index 0 is a sentinel: constant at first, so stepping first changes nothing
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, [4], 0.1)
x = torch.randn(8, 3)
for epoch in range(6):
    sched.step()
    opt.zero_grad(); (net(x) - x[:, :1]).pow(2).mean().backward(); opt.step()
