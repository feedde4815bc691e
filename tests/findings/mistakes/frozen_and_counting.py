import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.head = nn.Linear(8, 1)
        for p in self.body.parameters():
            p.requires_grad = False
        self.body.eval()

    def forward(self, x):
        self.body.eval()  # right
        return self.head(self.body(x))  # wrong: AG606
        return self.head(self.body(x))  # right


net = Net()
optimizer = torch.optim.SGD(net.head.parameters(), lr=0.1)
for _ in range(3):
    net.train()
    optimizer.zero_grad()
    net(torch.randn(6, 4)).pow(2).mean().backward()
    optimizer.step()
