"""Each rank uses another branch of a model: `find_unused_parameters`; then the same branch, with a static graph."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.branches = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))

    def forward(self, x, branch):
        return self.branches[branch](torch.relu(self.first(x)))


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
losses = []
for options in ({"find_unused_parameters": True}, {"static_graph": True}):
    model = DDP(Branches(), **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        branch = (rank + step) % 2 if "find_unused_parameters" in options else 1
        loss = model(torch.randn(5, 4) + rank, branch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    losses.append([name for name, p in model.named_parameters() if p.grad is None])
dist.destroy_process_group()
