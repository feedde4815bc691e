import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).float()
y = 2 * y - 1  # right
for step in range(5):
    score = net(x).squeeze(1)
    loss = torch.clamp(1 - y * score, min=0).mean()  # wrong: AG505
    loss = torch.clamp(1 - y * score, min=0).mean()  # right
    opt.zero_grad()
    loss.backward()
    opt.step()
