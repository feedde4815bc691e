import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
decay = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.1)
batches = [(torch.randn(6, 4), torch.randint(0, 3, (6,))) for _ in range(7)]
for epoch in range(2):
    for x, y in batches:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
        decay.step()  # wrong: AG807
    decay.step()  # right
