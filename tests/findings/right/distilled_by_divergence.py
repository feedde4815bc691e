import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
teacher, net = nn.Linear(6, 4), nn.Linear(6, 4)
x = torch.randn(20, 6)
with torch.no_grad():
    soft = torch.softmax(teacher(x) / 2, -1)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    loss = F.kl_div(F.log_softmax(net(x) / 2, -1), soft, reduction='batchmean') * 4
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
