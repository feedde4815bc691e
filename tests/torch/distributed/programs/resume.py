"""Rank 0 saves, every rank loads, and training goes on as if it had not stopped."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def build():
    model = DDP(nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Dropout(0.2), nn.Linear(7, 3)))
    return model, torch.optim.Adam(model.parameters(), lr=0.02)


def train(steps):
    for step in steps:
        torch.manual_seed(1000 * dist.get_rank() + step)
        loss = nn.functional.cross_entropy(model(torch.randn(6, 5)), torch.randint(0, 3, (6,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return loss


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
losses = []
model, optimizer = build()
train(range(3))

folder = [tempfile.mkdtemp() if rank == 0 else None]
dist.broadcast_object_list(folder, src=0)
path = os.path.join(folder[0], "checkpoint.pt")
if rank == 0:
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 3}, path)
dist.barrier()

model, optimizer = build()
found = torch.load(path, map_location={"cuda:0": "cpu"})
model.load_state_dict(found["model"])
optimizer.load_state_dict(found["optimizer"])
dist.barrier()
if rank == 0:
    os.remove(path)
    os.rmdir(folder[0])
loss = train(range(found["step"], found["step"] + 3))
losses.append(list(found["model"]))
dist.destroy_process_group()
