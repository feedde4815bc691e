"""A step within no_sync: each rank goes its own way there."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
for turn in range(6):
    x = torch.randn(4, 3)
    if turn % 2 == 0:
        with model.no_sync():
            model(x).pow(2).mean().backward()  # wrong: AG904
            model(x).pow(2).mean().backward()  # right
        continue  # right
    else:
        model(x).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
