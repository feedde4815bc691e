"""Autocast: while it is on, an operation of these tables casts its tensors before it runs; what it is made of does not
cast again."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from . import dtypes
from .interrupts import uninterruptible
from .op_namespace import operations
from .state import process_state, thread_state
from .tensor import Tensor

DEFAULTS: Mapping[str, dtypes.dtype] = {
    "cpu": dtypes.bfloat16,
    "cuda": dtypes.float16,
    "hpu": dtypes.bfloat16,
    "ipu": dtypes.float16,
    "maia": dtypes.bfloat16,
    "mps": dtypes.float16,
    "mtia": dtypes.float16,
    "xla": dtypes.bfloat16,
    "xpu": dtypes.float16,
}
"""The lower dtype of each device that has autocast."""


class Settings(threading.local):
    """What is set in this thread. `thread_state.autocast` is what follows of it for operations: the dtype on the CPU,
    None while off."""

    def __init__(self) -> None:
        self.enabled: frozenset[str] = frozenset()
        self.lower: Mapping[str, dtypes.dtype] = DEFAULTS
        self.caches = True
        self.nesting = 0
        self.casts: dict[int, tuple[Tensor, Tensor]] = {}
        """Of leaves that ask for a gradient, by identity: the leaf and its cast."""


settings = Settings()


@uninterruptible
def switch(enabled: frozenset[str], lower: Mapping[str, dtypes.dtype]) -> None:
    """Turn autocast on for these devices, with these dtypes."""
    settings.enabled, settings.lower = enabled, lower
    wanted = lower["cpu"].numpy if "cpu" in enabled else None
    process_state.special += (wanted is not None) - (thread_state.autocast is not None)
    thread_state.autocast = wanted


# ---------------------------------------------------------------- casts


def adapted(policy: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an operation, cast as its policy says (see `Traits.autocast`)."""
    return args if policy in ("", "lower_precision_result") else _all_cast(args, _goal(policy, args))


def _all_cast(args: Iterable[Any], goal: np.dtype[Any]) -> tuple[Any, ...]:
    """The last is cast first, as in PyTorch: the order decides in which order backward comes to the casts."""
    return tuple(_cast(x, goal) for x in reversed([*args]))[::-1]


def lowered(policy: str, results: list[Any]) -> list[Any]:
    """The raw results of an operation, in the lower dtype where that comes from inside of it."""
    return [raw.astype(thread_state.autocast) for raw in results] if policy == "lower_precision_result" else results


def _goal(policy: str, args: Iterable[Any]) -> np.dtype[Any]:
    if policy == "fp32":
        return dtypes.float32.numpy
    lower: np.dtype[Any] = thread_state.autocast
    return lower if policy == "lower_precision_fp" else _widest(args, lower)


def _widest(args: Iterable[Any], lower: np.dtype[Any]) -> np.dtype[Any]:
    found = lower
    for x in _tensors(args):
        kind = x._raw.dtype
        if not _takes_part(x) or kind == found:
            continue
        if dtypes.float32.numpy not in (kind, found):
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
        found = dtypes.float32.numpy
    return found


def _tensors(args: Iterable[Any]) -> Iterator[Tensor]:
    for x in args:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from _tensors(x)


def _takes_part(x: Tensor) -> bool:
    """Whether a tensor may be cast: floating point of at most 32 bits, in the memory of the CPU."""
    kind = x._raw.dtype
    return dtypes.CATEGORY[kind] == dtypes.FLOATING and kind != dtypes.float64.numpy and not x.is_meta


def _cast(x: Any, goal: np.dtype[Any]) -> Any:
    if isinstance(x, (tuple, list)):
        return [_cast(t, goal) for t in x] if any(isinstance(t, Tensor) for t in x) else x
    if not isinstance(x, Tensor) or x._raw.dtype == goal or not _takes_part(x):
        return x
    single = x.dtype is dtypes.float32  # then the goal can only be the lower dtype
    if not (single and settings.caches and x.requires_grad and x.is_leaf and not x._is_view()):
        return operations._to_copy(x, goal)
    known = settings.casts.get(id(x))
    if known is not None and (known[1].requires_grad or not thread_state.records):
        return known[1]
    made = operations._to_copy(x, goal)
    settings.casts[id(x)] = x, made
    return made


# ---------------------------------------------------------------- functions that are composed of operations

F = TypeVar("F", bound=Callable[..., Any])


def autocasts(policy: str) -> Callable[[F], F]:
    """A function that is one operation to autocast: its tensors are cast, the operations that it is composed of cast
    nothing."""

    def decorate(run: F) -> F:
        @functools.wraps(run)
        def cast(*args: Any, **kwargs: Any) -> Any:
            if process_state.special and thread_state.autocast is not None:
                return composed(policy, run, args, kwargs)
            return run(*args, **kwargs)

        return cast  # type: ignore[return-value]

    return decorate


def composed(policy: str, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a composed function with its tensors cast."""
    goal = _goal(policy, (*args, *kwargs.values()))
    lower = thread_state.autocast
    kwargs = dict(zip(kwargs, _all_cast(kwargs.values(), goal), strict=True))
    args = _all_cast(args, goal)
    thread_state.autocast = None
    try:
        return run(*args, **kwargs)
    finally:
        thread_state.autocast = lower
