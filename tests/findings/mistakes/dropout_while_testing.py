import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net.train()
    loss = net(torch.randn(6, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    net.eval()  # right
    with torch.no_grad():
        print(net(torch.randn(6, 4)).pow(2).mean().item() > 0)  # found: AG601
