"""Regions in which operations choose the dtype that they compute in."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from .._arrays.cuda import is_available
from .._core.base.device import device as _device
from .._core.base.dtypes import bfloat16, dtype, float16, float64
from .._core.base.user_warnings import warn
from .._core.running.autocast import DEFAULTS, settings, switch
from .._core.tape.tensor import Tensor

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


class autocast:
    """Within the block, or in a function that it decorates, operations choose a dtype: many a lower one, some float32.

    Products, convolutions and the like compute in `dtype`; losses, decompositions and Fourier transforms in float32;
    the rest in what they are given. A leaf that asks for a gradient is cast once (`cache_enabled`), until the outermost
    block ends. Without a GPU, that for one warns and does nothing. ValueError for a device that is not given by name,
    RuntimeError for one without autocast.

    >>> from autograph_cli import torch
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = settings.caches if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._can_be_enabled()

    def _can_be_enabled(self) -> bool:
        if self.device == "cuda" and not is_available():
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            return False
        if self.device == "cuda" or self.fast_dtype in (bfloat16, float16):
            return True
        name = self.device.upper()
        warn(
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
        )
        return False

    def __enter__(self) -> autocast:
        enabled, lower = _with_enabled(self.device, self._enabled), _with_dtype(self.device, self.fast_dtype)
        self._before = settings.enabled, settings.lower, settings.caches
        settings.nesting += 1
        settings.caches = self._cache_enabled
        switch(enabled, lower)
        return self

    def __exit__(self, *_: Any) -> None:
        enabled, lower, settings.caches = self._before
        settings.nesting -= 1
        switch(enabled, lower)
        if not settings.nesting:
            settings.casts.clear()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as "
                "a context manager? For example:\n    with torch.autocast(device_type=...):\n        output = "
                "model(input)"
            )

        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated


def _outside(region: autocast) -> int:
    """Return how many frames up the script is from the warning of a region."""
    return 3 if type(region) is autocast else 4


# ---------------------------------------------------------------- what is set


def _autocasting(device_type: str, unknown: str) -> str:
    name: str = _device(device_type).type
    if name not in DEFAULTS:
        raise RuntimeError(unknown)
    return name


def is_autocast_available(device_type: str) -> bool:
    """Return whether there are regions for a device; RuntimeError for what is no device."""
    return _device(device_type).type in DEFAULTS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether operations on a device choose their dtype at present."""
    return (
        _autocasting(device_type, "unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
        in settings.enabled
    )


def set_autocast_enabled(*args: Any) -> None:
    """`(device, enabled)`, or `(enabled)` for a GPU: let operations choose their dtype, or not, from here on."""
    switch(_with_enabled(*args), settings.lower)


def _with_enabled(*args: Any) -> frozenset[str]:
    device_type, enabled = args if len(args) == 2 else ("cuda", *args)
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_autocast_enabled(): argument 'enabled' (position {len(args)}) must be bool, not "
            f"{type(enabled).__name__}"
        )
    name = _autocasting(device_type, "unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    return settings.enabled | {name} if enabled else settings.enabled - {name}


def get_autocast_dtype(device_type: str) -> dtype:
    """The lower dtype of regions on a device."""
    if not isinstance(device_type, str):
        raise TypeError(
            f"get_autocast_dtype(): argument 'device_type' (position 1) must be str, not {type(device_type).__name__}"
        )
    return settings.lower[_autocasting(device_type, "unsupported scalarType")]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the lower dtype of regions on a device."""
    switch(settings.enabled, _with_dtype(device_type, dtype))


def _with_dtype(device_type: str, kind: dtype) -> Mapping[str, dtype]:
    return {**settings.lower, _autocasting(device_type, "unsupported scalarType"): kind}


def is_autocast_cache_enabled() -> bool:
    """Return whether the cast of a leaf is kept for its next use."""
    return settings.caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Return whether the cast of a leaf is to be kept for its next use."""
    settings.caches = enabled


def clear_autocast_cache() -> None:
    """Forget the casts of leaves."""
    settings.casts.clear()


def autocast_increment_nesting() -> int:
    """Enter one more region; how many there are."""
    settings.nesting += 1
    return settings.nesting


def autocast_decrement_nesting() -> int:
    """Leave a region; how many are left."""
    settings.nesting -= 1
    return settings.nesting


def _former(name: str, instead: str, device_type: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """The former name of a function, which was one device's."""
    argument = {"is": "", "get": ""}.get(name.split("_")[0], name.rpartition("_")[2])
    argument = "enabled" if argument == "enabled" and not name.startswith("is") else argument
    shown = f"'{device_type}', {argument}" if argument else f"'{device_type}'"

    def former(*args: Any) -> Any:
        warn(
            f"torch.{name}({argument}) is deprecated. Please use torch.{instead}({shown}) instead.", DeprecationWarning
        )
        return run(device_type, *args)

    former.__name__ = former.__qualname__ = name
    former.__doc__ = f"`torch.{instead}({shown})`, deprecated."
    return former


FORMER = {
    f"{verb}_autocast_{short}_{what}": _former(f"{verb}_autocast_{short}_{what}", run.__name__, device_type, run)
    for verb, what, run in (
        ("is", "enabled", is_autocast_enabled),
        ("set", "enabled", set_autocast_enabled),
        ("get", "dtype", get_autocast_dtype),
        ("set", "dtype", set_autocast_dtype),
    )
    for short, device_type in (("cpu", "cpu"), ("gpu", "cuda"), ("ipu", "ipu"), ("xla", "xla"))
    if (short, what) != ("gpu", "enabled")
}
"""Functions of `torch` that are deprecated, by name."""


# ---------------------------------------------------------------- custom Functions


def _cast(value: Any, device_type: str, kind: dtype) -> Any:
    """Tensors of at most 32 bits of floating point, also those in lists, tuples and mappings, in another dtype."""
    if isinstance(value, Tensor):
        narrow = value.is_floating_point() and value.dtype is not float64
        return value.to(kind) if narrow and value.device.type == device_type else value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, kind): _cast(v, device_type, kind) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(v, device_type, kind) for v in value])
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorates the `forward` of a custom Function: `custom_bwd` then knows how it ran.

    With `cast_inputs`, in a region its tensors are cast to that dtype and the region is left.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._dtype = get_autocast_dtype(device_type)
        inside = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = inside and cast_inputs is None
        if cast_inputs is None or not inside:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorates the `backward` of a custom Function: it runs in a region if its `forward` did."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorated
