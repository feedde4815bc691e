"""SyncBatchNorm: statistics and gradients are those of the batch of all ranks."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3), nn.BatchNorm1d(3))
model = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(net))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

losses = []
for step in range(3):
    x, y = torch.randn(size * 4, 2, 6, 6), torch.randn(size * 4, 3)  # of all ranks; each takes its part
    mine = slice(rank * 4, rank * 4 + 4)
    loss = nn.functional.mse_loss(model(x[mine]), y[mine])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
losses += [b.sum().item() for b in model.buffers()]
dist.destroy_process_group()
