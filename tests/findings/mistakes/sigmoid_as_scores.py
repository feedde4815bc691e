import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
x, y = torch.randn(30, 4), torch.randint(0, 3, (30,))
for _ in range(3):
    scores = torch.sigmoid(net(x)).reshape(-1, 3)  # wrong
    scores = net(x).reshape(-1, 3)  # right
    nn.CrossEntropyLoss()(scores, y).backward()  # wrong: AG505
    nn.CrossEntropyLoss()(scores, y).backward()  # right
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
            p.grad = None
