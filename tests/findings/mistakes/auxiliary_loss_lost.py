import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.main, self.extra = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.main(h), self.extra(h)  # found: AG202


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(5, 4)
    y, extra = net(x)
    loss = y.pow(2).mean()  # wrong
    loss = y.pow(2).mean() + extra.pow(2).mean()  # right
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
