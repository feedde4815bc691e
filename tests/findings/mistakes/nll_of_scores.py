import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 3, 1))
x, y = torch.randn(2, 1, 6, 6), torch.randint(0, 3, (2, 4, 4))
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    criterion(net(x), y).backward()  # wrong: AG507
    criterion(net(x).log_softmax(1), y).backward()  # right
    optimizer.step()
