import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.5), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = [torch.randn(16, 8) for _ in range(4)]
for x in data:
    torch.manual_seed(42)  # wrong
    opt.zero_grad()
    (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()  # found: AG607
    opt.step()
