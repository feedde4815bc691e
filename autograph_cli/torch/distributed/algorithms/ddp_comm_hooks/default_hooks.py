"""`torch.distributed.algorithms.ddp_comm_hooks.default_hooks`: the mean over all ranks, in full or half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import _namespace as torch, distributed as dist

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def _mean(group: Any, tensor: Any) -> Any:
    """A future of the list of a tensor that becomes its mean over the group."""
    tensor.div_(dist.get_world_size(group))
    work: Any = dist.all_reduce(tensor, group=group, async_op=True)
    return work.get_future()


def allreduce_hook(process_group: Any, bucket: Any) -> Any:
    """The mean over the ranks, as DistributedDataParallel takes it without a hook."""
    return _mean(process_group, bucket.buffer()).then(lambda future: future.value()[0])


def _compressed(dtype: Any, process_group: Any, bucket: Any) -> Any:
    buffer = bucket.buffer()
    return _mean(process_group, buffer.to(dtype)).then(lambda future: buffer.copy_(future.value()[0]))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """The mean over the ranks, sent as float16."""
    return _compressed(torch.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """The mean over the ranks, sent as bfloat16."""
    return _compressed(torch.bfloat16, process_group, bucket)


def _wrapped(dtype: Any, hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def wrapper_hook(hook_state: Any, bucket: Any) -> Any:
        bucket.set_buffer(bucket.buffer().to(dtype))
        return hook(hook_state, bucket).then(lambda future: bucket.buffer().copy_(future.value()))

    return wrapper_hook


def fp16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A hook that gives `hook` the gradients as float16."""
    return _wrapped(torch.float16, hook)


def bf16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A hook that gives `hook` the gradients as bfloat16."""
    return _wrapped(torch.bfloat16, hook)
