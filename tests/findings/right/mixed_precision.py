import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(5):
    x, y = torch.randn(64, 32), torch.randint(0, 10, (64,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(net(x).float(), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
