"""`torch.backends.cuda`: absent; the switches may be set, and switch nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False, fp32_precision="none",
)  # fmt: skip
_kernels = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """False."""
    return False


def flash_sdp_enabled() -> bool:
    """What `enable_flash_sdp` was told."""
    return _kernels["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """What `enable_mem_efficient_sdp` was told."""
    return _kernels["mem_efficient"]


def math_sdp_enabled() -> bool:
    """What `enable_math_sdp` was told."""
    return _kernels["math"]


def cudnn_sdp_enabled() -> bool:
    """What `enable_cudnn_sdp` was told."""
    return _kernels["cudnn"]


def enable_flash_sdp(enabled: bool) -> None:
    """Taken note of: attention has one kernel."""
    _kernels["flash"] = enabled


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Taken note of."""
    _kernels["mem_efficient"] = enabled


def enable_math_sdp(enabled: bool) -> None:
    """Taken note of."""
    _kernels["math"] = enabled


def enable_cudnn_sdp(enabled: bool) -> None:
    """Taken note of."""
    _kernels["cudnn"] = enabled


@contextlib.contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
               enable_cudnn: bool = True) -> Iterator[Any]:  # fmt: skip
    """Within the block, other kernels are asked for."""
    before = dict(_kernels)
    _kernels.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _kernels.update(before)
