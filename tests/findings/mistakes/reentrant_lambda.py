import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.high = nn.Linear(4, 6), nn.Linear(6, 1)

    def forward(self, x):
        x = checkpoint(lambda v: torch.relu(self.low(v)), x, use_reentrant=True)  # wrong: AG815
        x = checkpoint(lambda v: torch.relu(self.low(v)), x, use_reentrant=False)  # right
        return self.high(x)


net = Blocks()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(3):
    opt.zero_grad()
    net(torch.randn(6, 4)).pow(2).mean().backward()
    opt.step()
