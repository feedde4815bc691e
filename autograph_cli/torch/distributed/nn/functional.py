"""`torch.distributed.nn.functional`: calls between ranks that leave PyTorch's nodes, on results of their own.

The backward of each is a call between ranks too, so all ranks must run it.
"""

from __future__ import annotations

from typing import Any

from ... import _namespace as torch, distributed as dist
from ..._core.base.user_warnings import warn
from ...autograd.function import Function

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip

_SUM = dist.ReduceOp.SUM


def _deprecated(name: str, instead: str | None = None) -> None:
    warn(
        f"torch.distributed.nn.functional.{name} is deprecated, use "
        f"torch.distributed._functional_collectives.{instead or name} instead.",
        FutureWarning,
    )


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of rank `src`; its gradient is the sum of all ranks'."""
    _deprecated("broadcast")
    return _Broadcast.apply(src, group, tensor)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> Any:
    """The tensors of all ranks on rank `dst`, zeros on others."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    """The tensor that rank `src` has for this rank; `tensors` tell the size on others."""
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor: Any, dst: int, op: Any = _SUM, group: Any = None) -> Any:
    """The reduction of all ranks' tensors on rank `dst`."""
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(output: Any, input_list: Any, op: Any = _SUM, group: Any = None) -> Any:
    """This rank's element of the reduction of all ranks' lists, written into `output`."""
    _deprecated("reduce_scatter", "reduce_scatter_single")
    return _Reduce_Scatter.apply(op, group, output, *input_list)


def all_gather(tensor: Any, group: Any = None) -> Any:
    """The tensors of all ranks; the gradient of each goes back to its rank, where it is the sum of all ranks'."""
    _deprecated("all_gather", "all_gather_single")
    return _AllGather.apply(group, tensor)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> Any:
    """One tensor of each rank, written into a list."""
    return _AlltoAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Any:
    """A part of each rank's tensor, written into one tensor."""
    _deprecated("all_to_all_single")
    return _AlltoAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor: Any, op: Any = _SUM, group: Any = None) -> Any:
    """The reduction of all ranks' tensors, on each; its gradient is reduced likewise."""
    _deprecated("all_reduce")
    return _AllReduce.apply(op, group, tensor)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Any) -> Any:
        ctx.src, ctx.group, ctx.rank = src, group, dist.get_rank(group)
        tensor = tensor.clone()
        dist.broadcast(tensor, src, group=group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        gathered = _Reduce.apply(ctx.src, _SUM, ctx.group, grad)
        if ctx.src != ctx.rank:
            gathered.zero_()
        return None, None, gathered


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Any) -> Any:
        ctx.dst, ctx.group = dst, group
        found = [torch.zeros_like(tensor) for _ in range(dist.get_world_size(group))]
        dist.gather(tensor.contiguous(), found if dist.get_rank(group) == dst else None, dst, group=group)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Any) -> Any:
        ctx.src, ctx.group = src, group
        assert all(tensor.size() == tensors[0].size() for tensor in tensors)
        output = torch.zeros_like(tensors[0])
        dist.scatter(output, list(tensors) if dist.get_rank(group) == src else None, src, group=group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, src: int, op: Any, group: Any, tensor: Any) -> Any:
        ctx.src, ctx.group = src, group
        tensor = tensor.clone()
        dist.reduce(tensor, src, op=op, group=group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, None, _Broadcast.apply(ctx.src, ctx.group, grad)


class _Reduce_Scatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Any, *given: Any) -> Any:
        ctx.group = group
        tensor = tensor.contiguous()
        dist.reduce_scatter(tensor, [each.contiguous() for each in given], op=op, group=group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Any) -> Any:
        ctx.group = group
        tensor = tensor.contiguous()
        found = [torch.empty_like(tensor) for _ in range(dist.get_world_size(group))]
        dist.all_gather(found, tensor, group=group)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if dist.get_backend(ctx.group) in ("nccl", "xccl"):
            into = torch.empty_like(grads[dist.get_rank(ctx.group)])
            return None, _Reduce_Scatter.apply(_SUM, ctx.group, into, *grads)
        parts = _AlltoAll.apply(ctx.group, [torch.empty_like(grad) for grad in grads], *grads)
        return None, torch.sum(torch.stack(parts), dim=0)


class _AlltoAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, found: Any, *tensors: Any) -> Any:
        ctx.group, ctx.sizes = group, [tensor.size() for tensor in tensors]
        dist.all_to_all(found, [tensor.contiguous() for tensor in tensors], group=group)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        into = [torch.empty(size, device=grads[0].device, dtype=grads[0].dtype) for size in ctx.sizes]
        return None, None, *_AlltoAll.apply(ctx.group, into, *grads)


class _AlltoAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, output: Any, into: Any, given: Any, input: Any) -> Any:
        ctx.group, ctx.size, ctx.into, ctx.given = group, input.size(), given, into
        dist.all_to_all_single(output, input, into, given, group=group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        into = torch.empty(ctx.size, device=grad.device, dtype=grad.dtype)
        found = _AlltoAllSingle.apply(ctx.group, into, ctx.into, ctx.given, grad.contiguous())
        return None, None, None, None, found


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Any) -> Any:
        ctx.group, ctx.op = group, op
        tensor = tensor.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(tensor, op=op, group=group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)
