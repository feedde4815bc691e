"""The last layer starts at zero, so that the first predictions are alike: valid, and learns."""

import torch
import torch.nn as nn

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(5, 16)
        self.l2 = nn.Linear(16, 16)
        self.out = nn.Linear(16, 3)
        self.out.weight.data.zero_()
        self.out.bias.data.zero_()

    def forward(self, x):
        return self.out(torch.tanh(self.l2(torch.tanh(self.l1(x)))))


net = Policy()
loss_fn = nn.CrossEntropyLoss()
sgd = torch.optim.SGD(net.parameters(), lr=0.2)
x = torch.randn(24, 5)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()
for _ in range(6):
    sgd.zero_grad()
    loss_fn(net(x), y).backward()
    sgd.step()
