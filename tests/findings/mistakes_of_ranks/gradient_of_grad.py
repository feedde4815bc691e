"""Gradients of autograd.grad, which DistributedDataParallel does not reduce."""

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    loss = model(torch.ones(2, 3) * (1 + dist.get_rank())).pow(2).mean()
    optimizer.zero_grad()
    gradients = torch.autograd.grad(loss, list(model.parameters()))  # wrong: AG904
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):  # wrong
        parameter.grad = gradient  # wrong
    loss.backward()  # right
    optimizer.step()
