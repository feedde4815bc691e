"""Two groups of processes train a model each; the groups are averaged at the end."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
halves = [list(range(size // 2)), list(range(size // 2, size))]
groups = [dist.new_group(ranks) for ranks in halves]
mine = rank // (size // 2)

torch.manual_seed(rank)
model = DDP(nn.Linear(3, 2), process_group=groups[mine])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for step in range(3):
    x = torch.randn(4, 3)
    loss = model(x).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

print(rank, dist.get_rank(groups[mine]), dist.get_world_size(groups[mine]), dist.get_rank(groups[1 - mine]))
for parameter in model.parameters():
    dist.all_reduce(parameter.data)
    parameter.data /= size
losses.append(sum(p.sum() for p in model.parameters()).item())
dist.destroy_process_group()
