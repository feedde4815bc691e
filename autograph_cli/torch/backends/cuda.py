"""`torch.backends.cuda`: absent. The switches may be set; those of attention choose its kernel on the CPU too."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from .._core.interrupts import contextmanager
from .._core.user_warnings import warn
from .._ops.attention import KERNELS

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)


def is_built() -> bool:
    """False."""
    return False


def flash_sdp_enabled() -> bool:
    """What `enable_flash_sdp` was told."""
    return KERNELS["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """What `enable_mem_efficient_sdp` was told."""
    return KERNELS["mem_efficient"]


def math_sdp_enabled() -> bool:
    """What `enable_math_sdp` was told."""
    return KERNELS["math"]


def cudnn_sdp_enabled() -> bool:
    """What `enable_cudnn_sdp` was told."""
    return KERNELS["cudnn"]


def enable_flash_sdp(enabled: bool) -> None:
    """Whether attention may take its fused kernel."""
    KERNELS["flash"] = enabled


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Taken note of."""
    KERNELS["mem_efficient"] = enabled


def enable_math_sdp(enabled: bool) -> None:
    """Whether attention may be composed of operations."""
    KERNELS["math"] = enabled


def enable_cudnn_sdp(enabled: bool) -> None:
    """Taken note of."""
    KERNELS["cudnn"] = enabled


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[Any]:
    """Within the block, other kernels are asked for."""
    warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please "
        "see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
    )
    before = dict(KERNELS)
    try:
        KERNELS.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
        yield {}
    finally:
        KERNELS.update(before)
