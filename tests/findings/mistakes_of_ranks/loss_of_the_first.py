"""Only rank 0 adds the penalty, so that ranks average gradients of different losses."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(3, 1))
loss = model(torch.full((2, 3), 1.0 + dist.get_rank())).square().mean()
if dist.get_rank() == 0:  # wrong
    loss = loss + model.module.weight.square().sum()  # wrong
loss = loss + model.module.weight.square().sum()  # right
loss.backward()  # wrong: AG901
loss.backward()  # right
