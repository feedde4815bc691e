"""The optimizer's state in parts, one on each rank, collected on rank 0."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DDP(nn.Sequential(*[layer for _ in range(3) for layer in (nn.Linear(6, 6), nn.GELU())]))
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.01)
torch.manual_seed(rank)

losses = []
for step in range(3):
    loss = model(torch.randn(4, 6)).sum(1).logsumexp(0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

losses.append(sorted(index for index, p in enumerate(model.parameters()) if p in optimizer.optim.state))
optimizer.consolidate_state_dict(to=0)
if rank == 0:
    state = optimizer.state_dict()["state"]
    losses.append([state[index]["exp_avg"].abs().sum().item() for index in sorted(state)])
dist.destroy_process_group()
