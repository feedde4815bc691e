"""The last layer is replaced when the model is wrapped."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
net[2] = nn.Linear(4, 2)  # right
model = nn.parallel.DistributedDataParallel(net, find_unused_parameters=True)
model.module[2] = nn.Linear(4, 2)  # wrong: AG903
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(1 + dist.get_rank())
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(5, 3)).abs().mean().backward()
    optimizer.step()
