import torch
from torch import nn

torch.manual_seed(0)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        for _ in range(6):
            x = x + torch.relu(self.layer(self.norm(x)))
        return x


net = Shared()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    net(torch.randn(4, 8)).pow(2).mean().backward()
    optimizer.step()
