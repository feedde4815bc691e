import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(5):
    x, y = torch.randn(8, 6), torch.randint(0, 4, (8,))
    scores = net(x)
    one_hot = nn.functional.one_hot(y, 4).float()
    true = (scores * one_hot).sum(1, keepdim=True)
    loss = torch.clamp(scores - true + (1 - one_hot), min=0).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
