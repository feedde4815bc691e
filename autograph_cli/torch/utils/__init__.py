"""`torch.utils`: what stands beside the engine."""

from __future__ import annotations

import importlib
from typing import Any

from .. import _missing
from .._core.tensor import Tensor
from ._swapping import swap_tensors

__all__ = ["swap_tensors"]
_PARTS = ("checkpoint", "data", "hooks", "tensorboard")


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange all that two tensors are: class, memory, history, gradient, hooks, attributes.

    RuntimeError where the node of a graph that accumulates into one of them is alive.

    >>> from autograph_cli import torch
    >>> a, b = torch.zeros(1), torch.ones(1)
    >>> torch.utils.swap_tensors(a, b)
    >>> a
    tensor([1.])
    """
    for name, t in (("t1", t1), ("t2", t2)):
        meta = t._meta
        if meta is not None and meta.accumulator is not None and meta.accumulator() is not None:
            raise RuntimeError(f"Cannot swap {name} because the AccumulateGrad node of a graph refers to it")
    for part in ("__class__", "__dict__", "_raw", "_edge", "_counter", "_meta"):
        one, other = getattr(t1, part), getattr(t2, part)
        setattr(t1, part, other)
        setattr(t2, part, one)


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f".{name}", __name__)
    raise _missing.error(__name__, name, globals())
