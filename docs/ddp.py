"""Three processes, of which the last has a smaller batch."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
ddp = DistributedDataParallel(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)))
x = torch.ones(3 if dist.get_rank() == 2 else 4, 3)
loss = ddp(x).pow(2).mean()
loss.backward()
dist.destroy_process_group()
