import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
batches = [(torch.randn(6, 4), torch.randint(0, 3, (6,))) for _ in range(12)]
for number, (x, y) in enumerate(batches):
    opt.zero_grad()  # wrong: AG806
    loss = nn.functional.cross_entropy(net(x), y) / 4
    loss.backward()
    if (number + 1) % 4 == 0:
        opt.step()
        opt.zero_grad()  # right
