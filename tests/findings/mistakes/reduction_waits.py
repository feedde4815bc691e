import os

import torch
import torch.distributed as dist
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.main, self.aux = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x):
        return self.main(x), self.aux(x)


os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29554", RANK="0", WORLD_SIZE="1")
dist.init_process_group("gloo")
torch.manual_seed(0)
net = nn.parallel.DistributedDataParallel(Net())  # wrong: AG013
net = nn.parallel.DistributedDataParallel(Net(), find_unused_parameters=True)  # right
try:
    for _ in range(3):
        out, _ = net(torch.randn(4, 3))
        out.sum().backward()
finally:
    dist.destroy_process_group()
