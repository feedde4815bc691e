"""The last backward call before each step runs in no_sync, and the first is reduced."""

import contextlib

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(5, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.05)
for step in range(6):
    last = step % 2 == 1
    waits = last  # wrong
    waits = not last  # right
    with model.no_sync() if waits else contextlib.nullcontext():
        loss = model(torch.randn(4, 5) + dist.get_rank()).pow(2).mean()
        loss.backward()  # wrong: AG904
        loss.backward()  # right
    if last:
        optimizer.step()
        optimizer.zero_grad()
