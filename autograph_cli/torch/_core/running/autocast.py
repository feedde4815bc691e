"""Autocast: while it is on, an operation of these tables casts its tensors before it runs; what it is made of does not
cast again."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..base import dtypes
from ..base.op_namespace import operations
from ..base.state import process_state, thread_state
from ..tape.tensor import Tensor
from .autocast_on_gpu import BANNED, POLICIES, SET_DTYPE

if TYPE_CHECKING:
    from ..operations.operation import Operation

DEFAULTS: Mapping[str, dtypes.dtype] = {
    "cpu": dtypes.bfloat16, "cuda": dtypes.float16, "hpu": dtypes.bfloat16, "ipu": dtypes.float16,
    "maia": dtypes.bfloat16, "mps": dtypes.float16, "mtia": dtypes.float16, "xla": dtypes.bfloat16,
    "xpu": dtypes.float16,
}  # fmt: skip
"""The lower dtype of each device that has autocast."""


class Settings(threading.local):
    """The settings of this thread. `thread_state.autocast` is what follows from them for operations: the lower dtype of
    each device, None where it is off, and None while it is nowhere."""

    def __init__(self) -> None:
        self.enabled: frozenset[str] = frozenset()
        self.lower: Mapping[str, dtypes.dtype] = DEFAULTS
        self.caches = True
        self.nesting = 0
        self.casts: dict[int, tuple[Tensor, Tensor]] = {}
        """The leaf and its cast, by identity, of leaves that require a gradient."""


settings = Settings()


def switch(enabled: frozenset[str], lower: Mapping[str, dtypes.dtype]) -> None:
    """Turn autocast on for these devices, with these dtypes."""
    settings.enabled, settings.lower = enabled, lower
    cpu = lower["cpu"].numpy if "cpu" in enabled else None
    gpu = lower["cuda"].numpy if "cuda" in enabled else None
    wanted = None if cpu is None and gpu is None else {"cpu": cpu, "cuda": gpu}
    process_state.special += (wanted is not None) - (thread_state.autocast is not None)
    thread_state.autocast = wanted


# ---------------------------------------------------------------- casts


def adapted(op: Operation, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an operation, cast as its policy on their device says; RuntimeError where autocast bans it."""
    where = _where(args)
    policy = _policy(op.name, op.autocast, where)
    if policy == SET_DTYPE:
        return _with_dtype_of_result(op, args, where)
    return args if policy in ("", "lower_precision_result") else _all_cast(args, _goal(policy, args, where), where)


def _with_dtype_of_result(op: Operation, args: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    """The result in float32 where no dtype is chosen; the arguments in it where the operation has no such choice."""
    index = next((i for i, p in enumerate(op.schema.parameters) if p.name == "dtype"), None)
    if index is None:
        return _all_cast(args, dtypes.float32.numpy, where)
    if args[index] is not None or not _takes_part(args[0], where):
        return args
    return (*args[:index], dtypes.float32.numpy, *args[index + 1 :])


def _policy(name: str, on_cpu: str, where: str) -> str:
    """The policy of an operation on a device: that of its record, or of PyTorch's lists for a GPU."""
    if thread_state.autocast[where] is None:
        return ""
    policy = on_cpu if where == "cpu" else POLICIES.get(name, on_cpu if on_cpu == "lower_precision_result" else "")
    if policy == "banned":
        raise RuntimeError(BANNED)
    return policy


def _where(args: Iterable[Any]) -> str:
    """The device whose policies hold: that of a GPU, where there is a tensor of one."""
    return "cuda" if any(x.is_cuda for x in _tensors(args)) else "cpu"


def _all_cast(args: Iterable[Any], goal: np.dtype[Any], where: str) -> tuple[Any, ...]:
    """The last is cast first, as in PyTorch: the order decides in which order backward comes to the casts."""
    return tuple(_cast(x, goal, where) for x in reversed([*args]))[::-1]


def lowered(policy: str, results: list[Any], args: Iterable[Any]) -> list[Any]:
    """The raw results of an operation, in the lower dtype where that comes from inside of it."""
    lower = thread_state.autocast[_where(args)] if policy == "lower_precision_result" else None
    return results if lower is None else [raw.astype(lower) for raw in results]


def _goal(policy: str, args: Iterable[Any], where: str) -> np.dtype[Any]:
    if policy == "fp32":
        return dtypes.float32.numpy
    lower: np.dtype[Any] = thread_state.autocast[where]
    return lower if policy == "lower_precision_fp" else _widest(args, lower, where)


def _widest(args: Iterable[Any], lower: np.dtype[Any], where: str) -> np.dtype[Any]:
    result = lower
    for x in _tensors(args):
        kind = x._ag_raw.dtype
        if not _takes_part(x, where) or kind == result:
            continue
        if dtypes.float32.numpy not in (kind, result):
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
        result = dtypes.float32.numpy
    return result


def _tensors(args: Iterable[Any]) -> Iterator[Tensor]:
    for x in args:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from _tensors(x)


def _takes_part(x: Tensor, where: str) -> bool:
    """Return whether a tensor may be cast: floating point of at most 32 bits, on that device."""
    kind = x._ag_raw.dtype
    return dtypes.CATEGORY[kind] == dtypes.FLOATING and kind != dtypes.float64.numpy and x.device.type == where


def _cast(x: Any, goal: np.dtype[Any], where: str) -> Any:
    if isinstance(x, (tuple, list)):
        return [_cast(t, goal, where) for t in x] if any(isinstance(t, Tensor) for t in x) else x
    if not isinstance(x, Tensor) or x._ag_raw.dtype == goal or not _takes_part(x, where):
        return x
    single = x.dtype is dtypes.float32  # then the goal can only be the lower dtype
    if not (single and settings.caches and x.requires_grad and x.is_leaf and not x._is_view()):
        return operations._to_copy(x, goal)
    known = settings.casts.get(id(x))
    if known is not None and (known[1].requires_grad or not thread_state.records):
        return known[1]
    result = operations._to_copy(x, goal)
    settings.casts[id(x)] = x, result
    return result


# ---------------------------------------------------------------- functions that are composed of operations

F = TypeVar("F", bound=Callable[..., Any])


def autocasts(policy: str) -> Callable[[F], F]:
    """A function that is one operation to autocast: its tensors are cast, the operations that it is composed of cast
    nothing. "" for one that is so on a GPU only."""

    def decorate(run: F) -> F:
        @functools.wraps(run)
        def cast(*args: Any, **kwargs: Any) -> Any:
            if process_state.special and thread_state.autocast is not None:
                return composed(policy, run, args, kwargs)
            return run(*args, **kwargs)

        return cast  # type: ignore[return-value]

    return decorate


def composed(on_cpu: str, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a composed function as its policy says: with its tensors cast, and nothing in it."""
    given = (*args, *kwargs.values())
    where = _where(given)
    policy = _policy(run.__name__.rstrip("_"), on_cpu, where)
    if not policy:
        return run(*args, **kwargs)
    if policy == SET_DTYPE:
        kwargs = kwargs if kwargs.get("dtype") is not None else {**kwargs, "dtype": dtypes.float32}
    else:
        given = _all_cast(given, _goal(policy, given, where), where)
        args, kwargs = given[: len(args)], dict(zip(kwargs, given[len(args) :], strict=True))
    lower = thread_state.autocast
    thread_state.autocast = None
    try:
        return run(*args, **kwargs)
    finally:
        thread_state.autocast = lower
