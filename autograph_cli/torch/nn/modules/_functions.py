"""`torch.nn.modules._functions`: normalization by the statistics of the batches of all ranks."""

from __future__ import annotations

from typing import Any

from ... import _namespace as torch, distributed as dist
from ...autograd.function import Function, once_differentiable


def group_and_size(process_group: Any) -> tuple[Any, int]:
    """The group of a layer, and how many ranks it has; 1 where there are no groups."""
    group = dist.group.WORLD if process_group is None else process_group
    return group, dist.get_world_size(group) if dist.is_initialized() else 1


def _by_channel(x: Any, like: Any) -> Any:
    """A value for each channel, to be broadcast over `like`."""
    return x.view(1, -1, *(1 for _ in like.shape[2:]))


def _all_statistics(x: Any, group: Any, size: int) -> tuple[Any, Any, Any]:
    """The number of elements in a channel, its mean and its biased variance, over the batches of all ranks."""
    dims = [d for d in range(x.dim()) if d != 1]
    count = x.numel() // x.shape[1]
    if count:
        var, mean = torch.var_mean(x, dims, correction=0)
    else:
        var = mean = torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)
    mine = torch.cat([mean, var, torch.full((1,), float(count), dtype=x.dtype, device=x.device)])
    gathered = [torch.empty_like(mine) for _ in range(size)]
    dist.all_gather(gathered, mine, group=group)
    parts = torch.stack(gathered)
    channels = x.shape[1]
    means, variances, counts = parts[:, :channels], parts[:, channels:-1], parts[:, -1:]
    total = counts.sum()
    mean = (means * counts).sum(0) / total
    return total, mean, ((variances + (means - mean).square()) * counts).sum(0) / total


class SyncBatchNorm(Function):
    """Batch normalization whose statistics, and their gradients, are those of all ranks (Ioffe and Szegedy, 2015)."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Any,
        weight: Any,
        bias: Any,
        running_mean: Any,
        running_var: Any,
        eps: float,
        momentum: float,
        process_group: Any,
        world_size: int,
    ) -> Any:
        x = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
        total, mean, var = _all_statistics(x, process_group, world_size)
        if total.item() <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
            running_var.mul_(1 - momentum).add_(var * (total / (total - 1)), alpha=momentum)
        scale = torch.rsqrt(var + eps)
        ctx.save_for_backward(input, weight, mean, scale, total)
        ctx.process_group = process_group
        out = (x - _by_channel(mean, x)) * _by_channel(scale, x)
        if weight is not None:
            out = out * _by_channel(weight, x)
        if bias is not None:
            out = out + _by_channel(bias, x)
        return out.to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Any) -> Any:
        input, weight, mean, scale, total = ctx.saved_tensors
        dims = [d for d in range(input.dim()) if d != 1]
        centered, grad = input.to(mean.dtype) - _by_channel(mean, input), grad_output.to(mean.dtype)
        sums = torch.stack([grad.sum(dims), (grad * centered).sum(dims)])
        grad_weight, grad_bias = sums[1] * scale, sums[0].clone()
        grad_input = None
        if ctx.needs_input_grad[0]:
            dist.all_reduce(sums, group=ctx.process_group)
            of_mean, of_variance = sums / total
            factor = scale if weight is None else scale * weight.to(mean.dtype)
            grad_input = (
                grad - _by_channel(of_mean, input) - centered * _by_channel(of_variance * scale.square(), input)
            )
            grad_input = (grad_input * _by_channel(factor, input)).to(input.dtype)
        wanted = ctx.needs_input_grad
        own = [
            g.to(weight.dtype) if wants else None
            for g, wants in zip((grad_weight, grad_bias), wanted[1:3], strict=True)
        ]
        return (grad_input, *own, *[None] * 6)
