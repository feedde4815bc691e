"""Ranks with different numbers of batches: those that are done join, and shadow what the others still reduce."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DDP(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

torch.manual_seed(rank + 1)
batches = [torch.randn(3, 4) for _ in range(3 + rank)]
losses = []


def train():
    for x in batches:
        optimizer.zero_grad()
        loss = (model(x) - 1).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return loss


with Join([model]):
    train()
with model.join(divide_by_initial_world_size=False):
    loss = train()
dist.destroy_process_group()
