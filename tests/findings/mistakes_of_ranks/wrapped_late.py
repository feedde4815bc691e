"""The model is wrapped when it has taken steps by itself."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
model = nn.parallel.DistributedDataParallel(net)  # right
model = net  # wrong
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
torch.manual_seed(1 + dist.get_rank())
for _ in range(2):
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 3)).abs().mean()
        loss.backward()  # found: AG904
        optimizer.step()
    model = nn.parallel.DistributedDataParallel(net)  # wrong
