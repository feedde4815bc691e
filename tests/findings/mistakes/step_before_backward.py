import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
adam = torch.optim.Adam(net.parameters(), lr=0.01)
for x in torch.randn(5, 6, 3):
    adam.zero_grad()
    out = net(x)
    loss = (out - 1).pow(2).mean()
    adam.step()  # wrong: AG806
    loss.backward()
    adam.step()  # right
