"""`torch.cuda.amp`: the former names of what is in `torch.amp`."""

from __future__ import annotations

from typing import Any

from .. import amp
from .._core.base.user_warnings import warn

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _deprecated(name: str) -> None:
    warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
        FutureWarning,
    )


class autocast(amp.autocast):
    """`torch.amp.autocast` for a GPU: disabled."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        _deprecated("autocast")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """`torch.amp.GradScaler` for a GPU: disabled."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("GradScaler")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, **options: Any) -> Any:
    """`torch.amp.custom_fwd` for a GPU."""
    return amp.custom_fwd(fwd, device_type="cuda", **options)


def custom_bwd(bwd: Any = None) -> Any:
    """`torch.amp.custom_bwd` for a GPU."""
    return amp.custom_bwd(bwd, device_type="cuda")
