"""`torch.nn.attention`: by which kernel `scaled_dot_product_attention` computes, and so which nodes it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from ..._ops.layers.attention import KERNELS

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(Enum):
    """Kernels of attention. The engine has two, as PyTorch has on the CPU: the fused one and composed operations
    (`MATH`)."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value


_NAMES = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict[str, Any]]:
    """Within the block, attention takes one of these kernels: a `SDPBackend` or a list of them.

    AssertionError for anything else. Where none of them can be taken, the call of attention raises a RuntimeError.

    >>> from autograph_cli import torch
    >>> x = torch.ones(1, 1, 2, 4, requires_grad=True)
    >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(x, x, x).grad_fn.name()
    'UnsafeViewBackward0'
    """
    if not isinstance(backends, (list, SDPBackend)):
        kind = type(backends).__name__
        raise AssertionError(f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {kind}")
    wanted = set(backends) if isinstance(backends, list) else {backends}
    before = dict(KERNELS)
    now = {name: backend in wanted for name, backend in _NAMES.items()}
    try:
        KERNELS.update(now)
        yield {}
    finally:
        KERNELS.update(before)
