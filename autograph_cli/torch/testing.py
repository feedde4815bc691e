"""`torch.testing`: whether two results are the same, and how they differ."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._core.operations.registry import functions
from ._core.tape.tensor import Tensor

__all__ = ["assert_close", "make_tensor"]

_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip
Message = Any


class _Rules:
    """The rules of an `assert_close` call."""

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, checks: dict[str, bool]) -> None:
        if (rtol is None) != (atol is None):
            raise ValueError(
                "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                f"{'rtol' if rtol is None else 'atol'}."
            )
        self.given = None if rtol is None else (rtol, atol)
        self.equal_nan = equal_nan
        self.checks = checks

    def tolerances(self, *dtypes: str) -> tuple[Any, Any]:
        """(rtol, atol): those given, or the widest of the dtypes' own."""
        if self.given is not None:
            return self.given
        found = [_TOLERANCES.get(name, (0.0, 0.0)) for name in dtypes]
        return max(r for r, _ in found), max(a for _, a in found)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """AssertionError unless two tensors or numbers, or all in two containers, are equal up to a tolerance.

    The tolerance is the dtype's own if none is given. TypeError for what cannot be compared.

    >>> from autograph_cli import torch
    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    rules = _Rules(rtol, atol, equal_nan, {"dtype": check_dtype, "stride()": check_stride, "device": check_device})
    try:
        _compare(actual, expected, rules, ())
    except AssertionError as error:
        text = str(error)
        raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg) from None


def _compare(actual: Any, expected: Any, rules: _Rules, path: tuple[Any, ...]) -> None:
    if isinstance(actual, Tensor) and isinstance(expected, Tensor):
        problem = _tensors(actual, expected, rules)
    elif _both(actual, expected, Mapping):
        _mappings(actual, expected, rules, path)
        return
    elif _both(actual, expected, Sequence) and not isinstance(actual, (str, bytes)):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}" + _at(path))
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, b, rules, (*path, i))
        return
    elif _both(actual, expected, bool):
        problem = "" if actual is expected else f"Booleans mismatch: {actual} is not {expected}"
    elif _both(actual, expected, numbers.Number):
        problem = _numbers(actual, expected, rules)
    elif actual is None and expected is None:
        return
    else:
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}." + _at(path)
        )
    if problem:
        raise AssertionError(problem + _at(path))


def _both(a: Any, b: Any, kind: Any) -> bool:
    return isinstance(a, kind) and isinstance(b, kind)


def _at(path: tuple[Any, ...]) -> str:
    return "\n\nThe failure occurred for item " + "".join(f"[{key!r}]" for key in path) if path else ""


def _mappings(actual: Any, expected: Any, rules: _Rules, path: tuple[Any, ...]) -> None:
    missing, extra = sorted(set(expected) - set(actual), key=str), sorted(set(actual) - set(expected), key=str)
    if missing or extra:
        raise AssertionError(
            f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {missing}\n"
            f"Additional keys in the actual mapping: {extra}" + _at(path)
        )
    for key in actual:
        _compare(actual[key], expected[key], rules, (*path, key))


def _numbers(actual: Any, expected: Any, rules: _Rules) -> str:
    if rules.checks["dtype"] and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    kinds = [
        "complex128" if isinstance(x, complex) else "float64" if isinstance(x, float) else "int64"
        for x in (actual, expected)
    ]
    return _scalars(actual, expected, rules.tolerances(*kinds), rules.equal_nan)


def _scalars(actual: Any, expected: Any, tolerances: tuple[Any, Any], equal_nan: bool) -> str:
    rtol, atol = tolerances
    if actual == expected or (equal_nan and actual != actual and expected != expected):
        return ""
    difference = abs(actual - expected)
    if difference <= atol + rtol * abs(expected) and abs(expected) != float("inf"):
        return ""
    relative = difference / abs(expected) if expected else float("inf")
    exact = not rtol and not atol
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{'' if exact else f' (up to {atol} allowed)'}\n"
        f"Relative difference: {relative}{'' if exact else f' (up to {rtol} allowed)'}"
    )


def _tensors(actual: Tensor, expected: Tensor, rules: _Rules) -> str:
    facts = {
        "shape": (actual.shape, expected.shape),
        "device": (actual.device, expected.device),
        "dtype": (actual.dtype, expected.dtype),
        "stride()": (actual.stride(), expected.stride()),
    }
    for name, (a, b) in facts.items():
        if a != b and rules.checks.get(name, True):
            return f"The values for attribute '{name}' do not match: {a} != {b}."
    if actual.is_meta or expected.is_meta:
        return ""
    if not actual.ndim:
        dtypes = (actual.dtype.name, expected.dtype.name)
        return _scalars(actual._ag_raw.item(), expected._ag_raw.item(), rules.tolerances(*dtypes), rules.equal_nan)
    return _differences(actual, expected, rules.tolerances(actual.dtype.name, expected.dtype.name), rules.equal_nan)


def _differences(actual: Tensor, expected: Tensor, tolerances: tuple[Any, Any], equal_nan: bool) -> str:
    rtol, atol = tolerances
    common = functions["promote_types"](actual.dtype, expected.dtype)
    a, b = (np.asarray(t._ag_raw.astype(common.numpy)) for t in (actual, expected))
    if a.dtype == bool:
        a, b = a.astype(np.int64), b.astype(np.int64)
    with np.errstate(all="ignore"):
        difference = abs(a - b)
        close = (a == b) | ((difference <= atol + rtol * abs(b)) & np.isfinite(b.astype(np.complex128)))
        if equal_nan:
            close |= (a != a) & (b != b)
        if close.all():
            return ""
        size = difference.astype(np.float64)
        ratio = difference / abs(b)
        relative = (ratio if a.dtype.kind in "fc" else ratio.astype(np.float32)).astype(np.float64)
    exact = not rtol and not atol
    size[close], relative[close] = 0, 0
    rows = []
    for kind, values, allowed, real in (("absolute", size, atol, difference), ("relative", relative, rtol, None)):
        at = tuple(int(i) for i in np.unravel_index(_greatest(values), values.shape))
        shown = values[at].item() if real is None else real[at].item()
        rows.append(
            f"Greatest {kind} difference: {shown} at index {at}{'' if exact else f' (up to {allowed} allowed)'}"
        )
    wrong = int((~close).sum())
    head = f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
    return f"{head}Mismatched elements: {wrong} / {a.size} ({wrong / a.size:.1%})\n" + "\n".join(rows)


def _greatest(values: Any) -> int:
    """Return where the largest value is; the first nan, if there is one."""
    return int(np.argmax(values))


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    """A tensor of random elements from `low` (-9) up to `high` (9, or 10 for integers)."""
    if options:
        raise TypeError(f"make_tensor(): {', '.join(options)} is not available in autograph's engine yet")
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    made: Tensor = functions["empty"](sizes, dtype=dtype, device=device)
    if dtype.is_floating_point or dtype.is_complex:
        real = functions["view_as_real"](made) if dtype.is_complex else made
        real.uniform_(-9 if low is None else low, 9 if high is None else high)
    elif dtype.name == "bool":
        made.random_(0, 2)
    else:
        made.random_(int((-9 if dtype.is_signed else 0) if low is None else low), int(10 if high is None else high))
    return made.requires_grad_(requires_grad)
