"""Ranks reduce in an order of their own, so that a loss meets a gradient."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
w = torch.ones(3, requires_grad=True)
loss = w.square().sum()
loss.backward()
seen = loss.detach()
if dist.get_rank() == 0:  # wrong
    dist.broadcast(seen, 0)  # wrong: AG902
    dist.all_reduce(w.grad)  # wrong
else:  # wrong
    dist.all_reduce(w.grad)  # wrong
    dist.broadcast(seen, 0)  # wrong
dist.all_reduce(w.grad)  # right
dist.broadcast(seen, 0)  # right
