"""`torch.nn.init`: fills tensors in place, outside the graph, with PyTorch's numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from .. import _namespace as torch
from .._core.arguments.overrides import looking
from .._core.base.user_warnings import warn

_GAINS = {
    "linear": 1,
    "sigmoid": 1,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
    **{f"conv{t}{n}d": 1 for t in ("", "_transpose") for n in (1, 2, 3)},
}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor by which a nonlinearity asks its weights to be larger; ValueError for one that is not known.

    >>> calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif not isinstance(param, bool) and isinstance(param, (int, float)):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _outside_the_graph(fill: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fill)
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            return fill(*args, **kwargs)

    return run


@looking
@_outside_the_graph
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Uniform numbers from `a` to `b`."""
    return tensor.uniform_(a, b, generator=generator)


@looking
@_outside_the_graph
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Normal numbers."""
    return tensor.normal_(mean, std, generator=generator)


@_outside_the_graph
def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Normal numbers within [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."
        )

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    if below(b) - below(a) > 0.3:
        return _drawn_again(tensor, lambda t: t.normal_(mean, std, generator=generator), lambda t: (t < a) | (t > b))
    nearest = min(max(mean, a), b) - mean

    def rejected(t: Any) -> Any:
        densities = torch.exp((nearest**2 - (t - mean) ** 2) / (2 * std**2))
        return torch.empty_like(t).uniform_(generator=generator) >= densities

    return _drawn_again(tensor, lambda t: t.uniform_(a, b, generator=generator), rejected)


def _drawn_again(tensor: Any, draw: Callable[[Any], Any], rejected: Callable[[Any], Any]) -> Any:
    """Draw all elements, and those that are rejected again until none is."""
    draw(tensor)
    left = rejected(tensor)
    while not tensor.is_meta and left.any():
        fresh = draw(torch.empty_like(tensor))
        tensor.copy_(torch.where(left, fresh, tensor))
        left = left & rejected(fresh)
    return tensor


@looking
@_outside_the_graph
def constant_(tensor: Any, val: float) -> Any:
    """One value."""
    return tensor.fill_(val)


@_outside_the_graph
def ones_(tensor: Any) -> Any:
    """Ones."""
    return tensor.fill_(1.0)


@_outside_the_graph
def zeros_(tensor: Any) -> Any:
    """Zeros."""
    return tensor.zero_()


@_outside_the_graph
def eye_(tensor: Any) -> Any:
    """The identity; ValueError unless 2-d."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if 0 not in tensor.stride():
        return tensor.copy_(torch.eye(*tensor.shape, device=tensor.device))
    tensor.zero_().diagonal().fill_(1)  # where rows are in the same memory
    return tensor


@_outside_the_graph
def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Convolution weights that hand on as many channels as they can; ValueError unless 3-d to 5-d."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.size(0) // groups
    tensor.zero_()
    middle = tuple(n // 2 for n in tensor.shape[2:])
    for g in range(groups):
        for d in range(min(per_group, tensor.size(1))):
            position = (g * per_group + d, d, *middle)
            tensor[position] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _fan(tensor: Any, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


@_outside_the_graph
def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Uniform numbers with standard deviation gain * sqrt(2 / (fan_in + fan_out))."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return tensor.uniform_(-bound, bound, generator=generator)


@_outside_the_graph
def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal numbers with standard deviation gain * sqrt(2 / (fan_in + fan_out))."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return tensor.normal_(0.0, std, generator=generator)


def _is_empty(tensor: Any) -> bool:
    if 0 not in tensor.shape:
        return False
    warn("Initializing zero-element tensors is a no-op")
    return True


@looking
@_outside_the_graph
def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Uniform numbers with standard deviation gain / sqrt(fan)."""
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * (calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)))
    return tensor.uniform_(-bound, bound, generator=generator)


@_outside_the_graph
def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Normal numbers with standard deviation gain / sqrt(fan)."""
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return tensor.normal_(0, std, generator=generator)


@_outside_the_graph
def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Rows, or columns, that are orthogonal; dimensions after the first count as one."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.size(0), tensor.numel() // tensor.size(0)
    flat = torch.empty((rows, columns), dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)
    q, r = torch.linalg.qr(flat.t() if rows < columns else flat)
    q = q * torch.diag(r).sign()
    return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)


@_outside_the_graph
def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal numbers, of which a part of each column is 0; ValueError unless 2-d."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(name: str) -> Callable[..., Any]:
    current = globals()[f"{name}_"]

    def run(*args: Any, **kwargs: Any) -> Any:
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning)
        return current(*args, **kwargs)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"The deprecated name of `{name}_`; it warns."
    return run


for _name in """
    uniform normal constant eye dirac xavier_uniform xavier_normal kaiming_uniform kaiming_normal orthogonal sparse
""".split():
    globals()[_name] = _deprecated(_name)
