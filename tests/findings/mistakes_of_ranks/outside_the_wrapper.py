"""A parameter beside the wrapped model: each rank trains its own."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = torch.nn.Linear(3, 1)
scale = torch.nn.Parameter(torch.ones(1))
model.register_parameter("scale", scale)  # right
model = DistributedDataParallel(model)
loss = (model(torch.full((2, 3), 1.0 + dist.get_rank())) * scale).mean()
loss.backward()  # wrong: AG903
loss.backward()  # right
