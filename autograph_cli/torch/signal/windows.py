"""Window functions: `sym=True` for designing filters, `sym=False` for periodic ones."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .._core.arguments.parsing import Parser, parser
from .._core.base import dtypes, layout
from .._core.base.errors import refused
from .._core.base.state import process_state
from .._core.operations.registry import functions
from .._core.tape.tensor import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming",
    "hann", "kaiser", "nuttall",
]  # fmt: skip


def _check(name: str, m: int, dtype: Any, how: Any) -> None:
    if m < 0:
        raise refused(ValueError, f"{name} requires non-negative window length, got M={m}")
    if how is not None and how is not layout.strided:
        raise refused(ValueError, f"{name} is implemented for strided tensors only, got: {how}")
    if dtype not in (dtypes.float32, dtypes.float64):
        raise refused(ValueError, f"{name} expects float32 or float64 dtypes, got: {dtype}")


def _period(m: int, sym: bool) -> int:
    return m if not sym and m > 1 else m - 1


def _positive(what: str, x: Any) -> None:
    if x <= 0:
        raise refused(ValueError, f"{what} must be positive, got: {x} instead.")


def _not_negative(what: str, x: Any) -> None:
    if x < 0:
        raise refused(ValueError, f"{what} must be non-negative, got: {x} instead.")


_PLACED = {"dtype": None, "layout": layout.strided, "device": None, "requires_grad": False}


def _fitting(name: str) -> Parser:
    result = parser("torch", name)
    assert result is not None
    return result


_CHECKS: dict[str, Callable[[Any], None]] = {
    "tau": partial(_positive, "Tau"),
    "std": partial(_positive, "Standard deviation"),
    "beta": partial(_not_negative, "beta"),
}
"""The check of each parameter, which runs even if the window has no element."""


def _window(shape: Callable[..., Any]) -> Callable[..., Tensor]:
    """A public window from `shape(M, sym, row, **parameters)`, where `row(start, end)` is a row of M numbers."""
    name = shape.__name__.lstrip("_")

    def run(M: int, *args: Any, **named: Any) -> Tensor:
        if args:
            beside = (
                f" positional arguments (and {len(named)} keyword-only argument{'s' * (len(named) > 1)})"
                if named
                else ""
            )
            raise refused(TypeError, f"{name}() takes 1 positional argument but {1 + len(args)}{beside} were given")
        given = {k: named.pop(k, default) for k, default in _PLACED.items()}
        sym, dtype, layout = named.pop("sym", True), given["dtype"], given["layout"]
        try:
            inspect.signature(shape).bind(M, sym, None, **named)
        except TypeError as error:
            raise refused(TypeError, f"{name}() {error}") from None
        dtype = dtypes.FROM_NUMPY[process_state.default_dtype] if dtype is None else dtype
        _check(name, M, dtype, layout)
        given["dtype"] = dtype
        for parameter, check in _CHECKS.items():
            if parameter in named:
                check(named[parameter])
        placement = {k: given[k] for k in ("dtype", "device", "requires_grad")}
        if M == 0:
            _fitting("empty").check(((0,),), given)
            nothing: Tensor = functions["empty"]((0,), **placement)
            return nothing

        def row(start: float, end: float) -> Any:
            _fitting("linspace").check((), {"start": start, "end": end, "steps": M, **given})
            return functions["linspace"](start, end, M, **placement)

        made: Tensor = shape(M, sym, row, **named)
        return functions["ones"]((1,), **placement) if made is None else made

    run.__name__ = run.__qualname__ = name
    run.__doc__ = shape.__doc__
    run.__module__ = __name__
    return run


@_window
def exponential(m: int, sym: bool, row: Any, *, center: float | None = None, tau: float = 1.0) -> Any:
    """exp(-|n - center| / tau)."""
    if sym and center is not None:
        raise refused(ValueError, "Center must be None for symmetric windows")
    middle = _period(m, sym) / 2.0 if center is None else center
    return (-row(-middle / tau, (-middle + (m - 1)) / tau).abs()).exp()


@_window
def cosine(m: int, sym: bool, row: Any) -> Any:
    """Half a period of a sine."""
    step = math.pi / (m + 1 if not sym and m > 1 else m)
    return row(0.5 * step, (0.5 + (m - 1)) * step).sin()


@_window
def gaussian(m: int, sym: bool, row: Any, *, std: float = 1.0) -> Any:
    """exp(-(n / std)**2 / 2) around the middle."""
    start, scale = -_period(m, sym) / 2.0, 1 / (std * math.sqrt(2))
    return (-(row(start * scale, (start + (m - 1)) * scale) ** 2)).exp()


@_window
def kaiser(m: int, sym: bool, row: Any, *, beta: float = 12.0) -> Any:
    """The window of Kaiser and Bessel."""
    if m == 1:
        return None
    scale = 2.0 * beta / (m if not sym else m - 1)
    k = row(-beta, min(beta, -beta + (m - 1) * scale))
    i0 = functions["i0"]
    return i0((beta * beta - k**2).sqrt()) / i0(functions["tensor"](beta, dtype=k.dtype, device=k.device))


def _cosines(m: int, sym: bool, row: Any, a: Any) -> Any:
    if m == 1:
        return None
    step = 2 * math.pi / (m if not sym else m - 1)
    k = row(0, (m - 1) * step)
    weights = functions["tensor"]([(-1) ** i * w for i, w in enumerate(a)], dtype=k.dtype, device=k.device)
    i = functions["arange"](len(a), dtype=k.dtype, device=k.device)
    return (weights.unsqueeze(-1) * (i.unsqueeze(-1) * k).cos()).sum(0)


@_window
def general_cosine(m: int, sym: bool, row: Any, a: Any) -> Any:
    """A sum of cosines with alternating signs and the weights `a`."""
    if not isinstance(a, Iterable):
        raise refused(TypeError, "Coefficients must be a list/tuple")
    if not a:
        raise refused(ValueError, "Coefficients cannot be empty")
    return _cosines(m, sym, row, list(a))


@_window
def general_hamming(m: int, sym: bool, row: Any, alpha: float = 0.54) -> Any:
    """alpha - (1 - alpha) cos(2 pi n / (M - 1))."""
    return _cosines(m, sym, row, [alpha, 1 - alpha])


@_window
def hamming(m: int, sym: bool, row: Any) -> Any:
    """`general_hamming` with alpha = 0.54."""
    return _cosines(m, sym, row, [0.54, 0.46])


@_window
def hann(m: int, sym: bool, row: Any) -> Any:
    """`general_hamming` with alpha = 0.5."""
    return _cosines(m, sym, row, [0.5, 0.5])


@_window
def blackman(m: int, sym: bool, row: Any) -> Any:
    """Three cosines: 0.42, 0.5, 0.08."""
    return _cosines(m, sym, row, [0.42, 0.5, 0.08])


@_window
def nuttall(m: int, sym: bool, row: Any) -> Any:
    """Four cosines with a minimal side lobe."""
    return _cosines(m, sym, row, [0.3635819, 0.4891775, 0.1365995, 0.0106411])


@_window
def bartlett(m: int, sym: bool, row: Any) -> Any:
    """A triangle that begins and ends at 0."""
    if m == 1:
        return None
    return 1 - row(-1.0, -1.0 + (m - 1) * 2 / (m if not sym else m - 1)).abs()


# ---------------------------------------------------------------- torch.hann_window and its kin


def _classic(name: str, window: Callable[..., Tensor]) -> None:
    def run(
        window_length: int,
        periodic: bool = True,
        *args: Any,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **named: Any,
    ) -> Tensor:
        if window_length < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
        wanted = dtypes.FROM_NUMPY[process_state.default_dtype] if dtype is None else dtype
        made = window(window_length, *args, sym=not periodic, dtype=dtypes.float64, device=device, **named)
        return made.to(wanted).requires_grad_(requires_grad)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"`torch.signal.windows.{window.__name__}`, periodic unless told otherwise."
    functions[name] = run


def _hamming(m: int, alpha: float = 0.54, beta: float = 0.46, **named: Any) -> Tensor:
    return general_cosine(m, a=[alpha, beta], **named)


def _kaiser(m: int, beta: float = 12.0, **named: Any) -> Tensor:
    return kaiser(m, beta=beta, **named)


for _name, _made in (
    ("hann_window", hann),
    ("hamming_window", _hamming),
    ("blackman_window", blackman),
    ("bartlett_window", bartlett),
    ("kaiser_window", _kaiser),
):
    _classic(_name, _made)
