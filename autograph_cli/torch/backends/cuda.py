"""`torch.backends.cuda`: the switches of attention choose its kernel, those of TF32 how a GPU multiplies float32;
others may be set, and switch nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from .._core.base.user_warnings import warn
from .._ops.layers.attention import KERNELS
from .._settings import get_float32_matmul_precision, set_float32_matmul_precision


class _Matmul(SimpleNamespace):
    """Switches of products."""

    @property
    def allow_tf32(self) -> bool:
        """Return whether a GPU may multiply float32 in TF32."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        set_float32_matmul_precision("high" if allowed else "highest")

    @property
    def fp32_precision(self) -> str:
        """`tf32` where a GPU may multiply float32 so."""
        return "tf32" if self.allow_tf32 else "none"

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        self.allow_tf32 = precision == "tf32"


matmul = _Matmul(
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
)


def is_built() -> bool:
    """False."""
    return False


def flash_sdp_enabled() -> bool:
    """Return what `enable_flash_sdp` was told."""
    return KERNELS["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """Return what `enable_mem_efficient_sdp` was told."""
    return KERNELS["mem_efficient"]


def math_sdp_enabled() -> bool:
    """Return what `enable_math_sdp` was told."""
    return KERNELS["math"]


def cudnn_sdp_enabled() -> bool:
    """Return what `enable_cudnn_sdp` was told."""
    return KERNELS["cudnn"]


def enable_flash_sdp(enabled: bool) -> None:
    """Return whether attention may take its fused kernel."""
    KERNELS["flash"] = enabled


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Taken note of."""
    KERNELS["mem_efficient"] = enabled


def enable_math_sdp(enabled: bool) -> None:
    """Return whether attention may be composed of operations."""
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
