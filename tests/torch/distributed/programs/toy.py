"""The tutorial's basic use: a toy model, an input of its own on every rank."""

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)  # DDP gives all ranks the parameters of rank 0
model = DDP(ToyModel())
loss_fn = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=0.1)

losses = []
for step in range(4):
    optimizer.zero_grad()
    outputs = model(torch.randn(20, 10))
    loss = loss_fn(outputs, torch.randn(20, 5))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
dist.destroy_process_group()
