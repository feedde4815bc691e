import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.body = nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 3))

    def forward(self, x):
        h = self.stem(x)
        h = h.detach().requires_grad_(True)  # wrong: AG202
        self.saved = h
        return self.body(h)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x, y = torch.randn(30, 6), torch.randint(0, 3, (30,))
for _ in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
