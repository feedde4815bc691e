"""Only rank 0 waits for the others, who do not come."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
w = torch.ones(3, requires_grad=True)
w.square().sum().backward()
dist.all_reduce(w.grad)
if dist.get_rank() == 0:
    torch.save(w, "w.pt")
    dist.barrier()  # wrong: AG902
dist.barrier()  # right
