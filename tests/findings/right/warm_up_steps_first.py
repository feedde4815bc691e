import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, s / 4))   # s = 0 gives 0: step first
x = torch.randn(8, 3)
for _ in range(6):
    sched.step()
    opt.zero_grad(); (net(x) - x[:, :1]).pow(2).mean().backward(); opt.step()
