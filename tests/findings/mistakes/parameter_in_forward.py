import torch
from torch import nn

torch.manual_seed(0)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.scale = nn.Parameter(torch.ones(6))  # right

    def forward(self, x):
        scale = nn.Parameter(torch.ones(6))  # wrong: AG802
        scale = self.scale  # right
        return self.linear(x) * scale


net = Scaled()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(8, 6)
    opt.zero_grad()
    (net(x) - x).pow(2).mean().backward()
    opt.step()
