"""`torch.nn.attention`: which kernels attention may use; the engine has one, so it computes the same with each."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from ..backends import cuda


class SDPBackend(enum.IntEnum):
    """The kernels that PyTorch has for `scaled_dot_product_attention`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    __repr__ = __str__ = lambda self: f"SDPBackend.{self.name}"


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[Any]:
    """Within the block, these kernels are asked for; AssertionError for what names none."""
    wanted = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(wanted, (list, tuple)) or not all(isinstance(b, SDPBackend) for b in wanted):
        raise AssertionError(f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}")
    asked = {
        "enable_flash": SDPBackend.FLASH_ATTENTION in wanted, "enable_math": SDPBackend.MATH in wanted,
        "enable_mem_efficient": SDPBackend.EFFICIENT_ATTENTION in wanted, "enable_cudnn": SDPBackend.CUDNN_ATTENTION in wanted,
    }  # fmt: skip
    with cuda.sdp_kernel(**asked):
        yield {}


__all__ = ["SDPBackend", "sdpa_kernel"]
