"""`torch.nn.parallel.distributed`: where scripts find DistributedDataParallel."""

from . import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
