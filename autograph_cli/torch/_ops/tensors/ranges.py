"""Numbers in a row: arange, range, linspace, logspace, eye, and the indices of triangles.

PyTorch computes rows of floats in blocks of one 32-byte register, and rounds each product and sum once. The last
bits of its results come from that, so the same is done here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core.base import dtypes
from ..._core.base.dtype_checks import refuse
from ..._core.base.errors import refused
from ..._core.base.state import process_state, thread_state
from ..._core.base.user_warnings import warn
from ..._core.operations.registry import composite
from ..._core.running.device_dispatch import kernels
from ..._core.streams.generator import _multiply_add as multiply_add
from ..._core.tape.tensor import Tensor
from ._data import cast, narrow
from .creation import finish, fitting, number, placed

REGISTER = 32
"""Bytes."""


@composite(method=False)
def arange(
    *args: Any,
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """The numbers from `start` (0) up to, not including, `end`, by `step` (1); RuntimeError if that never ends.

    >>> from autograph_cli import torch
    >>> torch.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    start, end, step = _bounds("arange", args, start, end, step)
    wanted = (
        placed("arange", dtype, layout, device, pin_memory) if dtype is not None or out is None else out._ag_raw.dtype
    )
    whole = not [x for x in (start, end, step) if not isinstance(x, int)]
    if dtype is None and out is None:
        floats = not whole and any(isinstance(x, float) for x in (start, end, step))
        wanted = process_state.default_dtype if floats else dtypes.int64.numpy
    _require_real("arange_cpu", wanted)
    _check_steps(start, end, step)
    if wanted == np.int64:
        start, end, step = int(start), int(end), int(step)
        if not step:
            raise refused(ValueError, "step must be nonzero")
        whole = True
    count = -((start - end) // step) if whole else math.ceil((end - start) / step)
    return finish("arange", _row(start, step, count, wanted), requires_grad, out)


@composite(method=False)
def range(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """The numbers from `start` up to and including `end`; deprecated in favour of `arange`."""
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end)."
    )
    start, end, step = _bounds("range", (), start, end, step) if end is not None else (0, start, step)
    wanted = placed("range", dtype, layout, device, pin_memory)
    _require_real("range_cpu", wanted)
    _check_steps(start, end, step)
    return finish("range", _row(start, step, int((end - start) / step + 1), wanted), requires_grad, out)


@composite(method=False)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """`steps` numbers, evenly spaced, the first `start` and the last `end`; RuntimeError for a negative count.

    >>> from autograph_cli import torch
    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    start, end = _line_ends("linspace", start, end, dtype)
    steps = _count("linspace", steps)
    wanted = placed("linspace", dtype, layout, device, pin_memory, _default_of(start, end), out)
    if wanted.kind == "b":
        raise NotImplementedError("\"linspace_cpu\" not implemented for 'Bool'")
    return finish("linspace", _even(start, end, steps, wanted), requires_grad, out)


@composite(method=False)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """`base` to the power of each of `linspace(start, end, steps)`."""
    start, end = _line_ends("logspace", start, end, dtype)
    steps = _count("logspace", steps)
    wanted = placed("logspace", dtype, layout, device, pin_memory, _default_of(start, end), out)
    exact = wanted if wanted.kind == "c" else np.dtype(np.float64)
    raw = (
        _library().power(exact.type(base), _even(start, end, steps, exact))
        if steps > 1
        else _library().full(steps, base, exact) ** start
    )
    return finish("logspace", cast(raw, wanted), requires_grad, out)


@composite(method=False)
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """The matrix of shape (n, m) with ones on its diagonal; `m` is `n` if left out."""
    for name, position, x in (("n", 1, n), ("m", 2, n if m is None else m)):
        if not hasattr(x, "__index__"):
            raise refused(
                TypeError, f"eye(): argument '{name}' (position {position}) must be int, not {type(x).__name__}"
            )
        if int(x) < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {x}")
    wanted = placed("eye", dtype, layout, device, pin_memory, out=out)
    return finish("eye", _library().eye(int(n), None if m is None else int(m), dtype=wanted), requires_grad, out)


def _check_lengths(row: int, col: int) -> None:
    for name, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{name} must be non-negative, got{n}")


@composite(method=False)
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """The positions on and below a diagonal of a (row, col) matrix, of shape (2, count)."""
    _check_lengths(row, col)
    return _triangle("tril_indices", _library().tri(row, col, offset, dtype=bool), dtype, device, layout)


@composite(method=False)
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """The positions on and above a diagonal of a (row, col) matrix, of shape (2, count)."""
    _check_lengths(row, col)
    return _triangle("triu_indices", ~_library().tri(row, col, offset - 1, dtype=bool), dtype, device, layout)


def _triangle(name: str, mask: Any, dtype: Any, device: Any, layout: Any) -> Tensor:
    wanted = placed(name, dtype, layout, device, False, np.dtype(np.int64))
    refuse(name, np.empty(0, wanted), "bfcV")
    return finish(name, _library().stack(_library().nonzero(mask)).astype(wanted), False)


# ---------------------------------------------------------------- arguments


def _bounds(name: str, args: tuple[Any, ...], start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    if len(args) == 1:
        end = args[0] if end is None else end
        start = start if end is args[0] else args[0]
    elif len(args) > 1:
        start, end, step = (*args, step)[:3]
    if end is None or len(args) > 3:
        kinds = ", ".join(type(x).__name__ for x in args)
        raise refused(TypeError, f"{name}() received an invalid combination of arguments - got ({kinds})")
    positions = (2, 1, 3) if len(args) < 2 else (1, 2, 3)
    named = zip(("start", "end", "step"), positions, (start, end, step), strict=True)
    first, last, by = [number(name, label, position, x) for label, position, x in named]
    return first, last, by


def _check_steps(start: Any, end: Any, step: Any) -> None:
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if start.__class__ is int and end.__class__ is int and (end - start) * step >= 0:
        return
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * math.copysign(1, step) < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _require_real(kernel: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind in "bc" or dtype in dtypes.FLOAT8:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.cpp_name(dtype)}'")


def _line_ends(name: str, start: Any, end: Any, dtype: Any) -> tuple[Any, Any]:
    given = {"start": start, "end": end}
    many = {what: x.ndim for what, x in given.items() if isinstance(x, Tensor)}
    if any(many.values()):
        shown = " and ".join(f"{what} with {n} dimension(s)" for what, n in many.items())
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {shown}.")
    result = number(name, "start", 1, start), number(name, "end", 2, end)
    kind = None if dtype is None else dtypes.numpy_dtype(dtype)
    if kind is not None and kind.kind != "c" and any(isinstance(x, complex) for x in result):
        shown = dtypes.c_name(dtypes.complex_default())
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {shown} can't be safely cast to passed dtype {dtypes.cpp_name(kind)}"
        )
    return result


def _count(name: str, steps: Any) -> int:
    if not hasattr(steps, "__index__"):
        raise refused(
            TypeError, f"{name}() received an invalid combination of arguments - got (int, int, {type(steps).__name__})"
        )
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return int(steps)


def _default_of(*bounds: Any) -> np.dtype[Any]:
    return dtypes.complex_default() if any(isinstance(x, complex) for x in bounds) else process_state.default_dtype


# ---------------------------------------------------------------- values


def _library() -> Any:
    """Return what makes arrays where tensors are made now; without memory they are made on the CPU first."""
    return np if thread_state.place is None else kernels().xp


def _check_bytes(count: int, dtype: np.dtype[Any]) -> None:
    if count * dtype.itemsize >= 1 << 63:  # NumPy's `arange` of so many is empty
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{count}]")


def _row(start: Any, step: Any, count: int, dtype: np.dtype[Any]) -> Any:
    """start + step * i, as PyTorch rounds it."""
    _check_bytes(count, dtype)
    xp = _library()
    if dtype.kind in "iu":
        first, by = int(start), int(step)
        behind = first + by * (count - 1) + (1 if by > 0 else -1)
        return xp.arange(first, behind, by, dtype=np.int64).astype(dtype, copy=False)
    i = xp.arange(count, dtype=np.float64)
    exact = narrow(multiply_add(i, float(step), float(start)), dtype)
    lanes = REGISTER // dtype.itemsize
    in_blocks = count - count % (2 * lanes)
    lane = xp.arange(count) % lanes
    base = exact[xp.arange(count) - lane].astype(np.float64)
    blocked = narrow(multiply_add(lane.astype(np.float64), float(step), base), dtype)
    return xp.where(xp.arange(count) < in_blocks, blocked, exact)


def _even(start: Any, end: Any, steps: int, dtype: np.dtype[Any]) -> Any:
    """Evenly spaced numbers, counted from `start` in the first half and back from `end` in the second."""
    _check_bytes(steps, dtype)
    xp = _library()
    if dtype.kind == "c":
        real, imag = (
            _even(complex(start).real, complex(end).real, steps, _half(dtype)),
            _even(complex(start).imag, complex(end).imag, steps, _half(dtype)),
        )
        return (real + 1j * imag).astype(dtype)
    whole = dtype.kind in "iu"
    work = np.dtype(np.float64) if whole else dtype
    low, high = (work.type(fitting(x, dtype)) for x in (start, end))
    if steps < 2:
        return xp.full(steps, low, work).astype(dtype)
    step = (high - low) / work.type(steps - 1)
    i = xp.arange(steps)
    if work.itemsize == 2:
        # Numbers of 16 bits have no such instruction: each step is rounded.
        up, down = low + step * i.astype(work), high - step * (steps - 1 - i).astype(work)
    else:
        up = multiply_add(i.astype(np.float64), float(step), float(low))
        down = multiply_add((steps - 1 - i).astype(np.float64), -float(step), float(high))
    return xp.where(i < steps // 2, up, down).astype(dtype)


def _half(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtypes.FROM_NUMPY[dtype].to_real().numpy
