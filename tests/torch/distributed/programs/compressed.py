"""Communication hooks: PyTorch's own ones, then one that notes the buckets in the order in which they are reduced."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as hooks
from torch.nn.parallel import DistributedDataParallel as DDP


def noting(state, bucket):
    losses.append([bucket.index(), bucket.is_last(), bucket.buffer().numel(), len(bucket.gradients())])
    work = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


dist.init_process_group("gloo")
rank = dist.get_rank()
losses = []
for hook in (hooks.allreduce_hook, hooks.fp16_compress_hook, hooks.fp16_compress_wrapper(hooks.allreduce_hook), noting):
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2)), bucket_cap_mb=0.001)
    model.register_comm_hook(state=None, hook=hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for step in range(3):
        loss = nn.functional.mse_loss(model(torch.randn(4, 8)), torch.ones(4, 2))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
dist.destroy_process_group()
