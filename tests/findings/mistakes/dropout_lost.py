import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def accuracy():
    net.eval()
    with torch.no_grad():
        score = net(torch.randn(6, 4)).mean().item()
    net.train()  # right
    return score


for _ in range(4):
    loss = net(torch.randn(6, 4)).pow(2).mean()  # found: AG602
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy()
