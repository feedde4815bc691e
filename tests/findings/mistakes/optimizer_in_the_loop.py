import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.01)  # right
for batch in torch.randn(5, 8, 3):
    opt = torch.optim.Adam(net.parameters(), lr=0.01)  # wrong: AG804
    opt.zero_grad()
    (net(batch) - batch.sum(1, keepdim=True)).pow(2).mean().backward()
    opt.step()
