import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(10, 32)
        self.drop = nn.Dropout(1.0)  # wrong
        self.drop = nn.Dropout(0.2)  # right
        self.second = nn.Linear(32, 2)

    def forward(self, x):
        h = self.drop(torch.relu(self.first(x)))  # wrong: AG309
        h = self.drop(torch.relu(self.first(x)))  # right
        return self.second(h)


net = Net()
opt = torch.optim.Adam(net.parameters())
for step in range(5):
    x, y = torch.randn(8, 10), torch.randint(0, 2, (8,))
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
