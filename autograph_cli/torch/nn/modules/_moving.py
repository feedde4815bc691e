"""Moves of a module's parameters and buffers to another device or dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _namespace as torch
from ..._core.arguments.parsing import parser
from ..._core.base.user_warnings import warn
from ..._core.tape.tensor import Tensor


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, the dtype, `non_blocking` and the memory format that arguments of `Module.to` name, or None."""
    if "copy" in kwargs:
        raise RuntimeError(".to() does not accept copy argument")
    read = parser("Tensor", "to")
    if read is not None:
        read.check(args, kwargs)
    given = [*args, *(kwargs[k] for k in ("device", "dtype", "tensor") if k in kwargs)]
    other = next((x for x in given if isinstance(x, Tensor)), None)
    dtype = next((x for x in given if isinstance(x, torch.dtype)), None if other is None else other.dtype)
    device = next((x for x in given if isinstance(x, (str, torch.device)) or type(x) is int), None)
    if device is not None:
        device = torch.device(device)
    elif other is not None:
        device = other.device
    flags = [x for x in args if isinstance(x, bool)]
    return device, dtype, bool(flags[0] if flags else kwargs.get("non_blocking")), kwargs.get("memory_format")


def converter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    """Return what `Module.to(*args, **kwargs)` makes of each tensor; TypeError for an integer dtype."""
    device, dtype, _, memory_format = parse_to(*args, **kwargs)
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
    if dtype is not None and dtype.is_complex:
        warn(
            "Complex modules are a new feature under active development whose design may change, and some modules "
            "might not work as expected when using complex tensors as parameters or buffers. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work "
            "as expected."
        )

    def convert(t: Any) -> Any:
        if t.is_meta and device is not None and device.type != "meta":
            raise NotImplementedError(
                "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                "torch.nn.Module.to() when moving module from meta to a different device."
            )
        kind = dtype if t.is_floating_point() or t.is_complex() else None
        return t.to(device=device, dtype=kind, memory_format=memory_format if t.dim() in (4, 5) else None)

    return convert


def cast(name: str) -> Callable[[Any], Any]:
    """The method that casts all floating point parameters and buffers as the tensors' method `name` does."""

    def run(self: Any) -> Any:
        return self._apply(lambda t: getattr(t, name)() if t.is_floating_point() else t)

    run.__name__, run.__qualname__ = name, f"Module.{name}"
    run.__doc__ = f"Cast all floating point parameters and buffers to {name}."
    return run
