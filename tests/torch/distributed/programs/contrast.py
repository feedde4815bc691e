"""A contrastive loss over the embeddings of all ranks: gradients flow back through `all_gather`."""

import torch
import torch.distributed as dist
import torch.distributed.nn
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DDP(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
torch.manual_seed(10 + rank)

losses = []
for step in range(3):
    x = torch.randn(6, 8)
    first = F.normalize(model(x + 0.1 * torch.randn(6, 8)), dim=1)
    second = F.normalize(model.module(x), dim=1)
    others = torch.cat(torch.distributed.nn.functional.all_gather(second))
    logits = first @ others.t() / 0.5
    loss = F.cross_entropy(logits, torch.arange(6) + 6 * rank)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
dist.destroy_process_group()
