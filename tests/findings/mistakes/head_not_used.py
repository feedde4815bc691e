import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.skip = nn.Linear(4, 8)  # found: AG201
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.relu(self.body(x))
        h = h + self.skip(x)  # right
        return self.head(h)


net = Net()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(5, 4)).pow(2).mean().backward()
    optimizer.step()
