"""The device of new tensors: `device=`, the default device, or the device of the tensor that they are created like."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._arrays import cuda, dispatched
from ..._arrays.backends import ELSEWHERE, NUMPY, WITHOUT_MEMORY, Backend
from ..._arrays.meta import on_meta
from ..._core.base import device as devices
from ..._core.base.memory_format import strides_of
from ..._core.base.state import process_state, thread_state
from ..._core.operations.registry import functions, methods
from ..._core.tape.tensor import Tensor, make
from .conversion import on_device, to_meta

Maker = Callable[..., Any]

_FROM_NOTHING = tuple(
    """
    arange as_tensor asarray empty empty_strided empty_permuted eye full linspace logspace normal ones rand randint
    randn randperm range scalar_tensor tensor tril_indices triu_indices zeros
    """.split()
)
"""Functions whose results the default device places too."""
_LIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like")
_BESIDE = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")


def placed_by_default(make_new: Maker) -> Maker:
    """A function that makes tensors where `device=` or the default device says."""

    @functools.wraps(make_new)
    def run(*args: Any, **named: Any) -> Any:
        if process_state.special and thread_state.watcher is not None:
            result = dispatched.made(make_new.__name__, run, args, named)
            if result is not None:
                return result
        if process_state.default_device is None and not named:
            return make_new(*args)
        if named.get("pin_memory") and cuda.is_available():
            return run(*args, **{**named, "pin_memory": False}).pin_memory()
        if process_state.default_device is None and "device" not in named and "out" not in named:
            return make_new(*args, **named)
        where = named.get("device") if named.get("out") is None else named["out"].device
        if where is None:
            if process_state.default_device is None:
                return make_new(*args, **named)
            where = process_state.default_device
        place = devices.check(where)
        if place is devices.CPU:
            return make_new(*args, **named)
        named.pop("device", None)
        return _made_on(place, make_new, args, named)

    return run


def placed_like_first(make_new: Maker) -> Maker:
    """A function that makes tensors on the device of its first argument, unless `device=` says otherwise."""

    @functools.wraps(make_new)
    def run(*args: Any, **named: Any) -> Any:
        first: Any = args[0] if args else named.get("input")
        kind = first._ag_raw.__class__ if isinstance(first, Tensor) else None
        if thread_state.watcher is not None or kind is dispatched.Dispatched:
            result = dispatched.made_like(make_new.__name__, run, args, named)
            if result is not None:
                return result
        if "device" not in named and kind not in ELSEWHERE:
            return make_new(*args, **named)
        where = named.pop("device", None)
        here = first.device if isinstance(first, Tensor) else devices.CPU
        place = here if where is None else devices.check(where)
        if place != here and isinstance(first, Tensor):
            args = (_empty_on(place, first), *args[1:])
        if place == devices.CPU:
            return make_new(*args, **named)
        return _made_on(place, make_new, args, named)

    return run


def _empty_on(place: devices.device, like: Tensor) -> Tensor:
    """New memory on a device, laid out as a tensor."""
    known: dict[str, Backend] = {"cpu": NUMPY, "meta": WITHOUT_MEMORY}
    backend = known.get(place.type) or cuda.opened()
    return make(backend.empty_strided(like._ag_raw.shape, strides_of(like._ag_raw), like._ag_raw.dtype))


def _made_on(place: devices.device, make_new: Maker, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if place == devices.META:
        with on_meta():
            result = make_new(*args, **named)
        return result if result.is_meta else to_meta(result, result._ag_raw.dtype)
    with cuda.on_gpu(place):
        result = make_new(*args, **named)
    if result.device == place:
        return result
    if result is args[0] or result.grad_fn is not None:
        return on_device(result, place, result._ag_raw.dtype)
    result._ag_raw = cuda.moved(result._ag_raw, place)
    return result


for _name in _FROM_NOTHING:
    if _name in functions:
        functions[_name] = placed_by_default(functions[_name])
for _name in _LIKE:
    functions[_name] = placed_like_first(functions[_name])
for _name in _BESIDE:
    methods[_name] = placed_like_first(methods[_name])
