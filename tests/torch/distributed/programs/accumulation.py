"""Gradients of several small batches are added up in `no_sync`, and averaged with the last one."""

import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1)), gradient_as_bucket_view=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
torch.manual_seed(100 + rank)

losses = []
for step in range(3):
    for part in range(3):
        x = torch.randn(5, 6)
        last = part == 2
        with contextlib.nullcontext() if last else model.no_sync():
            loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean() / 3
            loss.backward()
        losses.append(loss.item())
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    losses.append(norm.item())
    optimizer.step()
    if step < 2:
        optimizer.zero_grad()
dist.destroy_process_group()
