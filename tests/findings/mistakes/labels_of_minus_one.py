import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(30, 4)
y = x.sum(1).sign()
net = nn.Linear(4, 1)
loss = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss(net(x).squeeze(1), y).backward()  # wrong: AG505
    loss(net(x).squeeze(1), (y + 1) / 2).backward()  # right
    optimizer.step()
