"""Gradients averaged by hand, those of the biases forgotten."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
loss = model(torch.full((2, 3), 1.0 + dist.get_rank())).mean()
loss.backward()
for name, parameter in model.named_parameters():
    if name == "weight":  # wrong
        dist.all_reduce(parameter.grad, dist.ReduceOp.AVG)  # wrong: AG903
    dist.all_reduce(parameter.grad, dist.ReduceOp.AVG)  # right
