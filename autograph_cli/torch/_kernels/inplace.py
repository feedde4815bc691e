"""In-place arithmetic on raw arrays: what optimizers are written in. A name that ends in `_` changes its first
argument.

Numbers are Python floats or NumPy scalars; each is rounded to the dtype once and kept, for loops use the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .._arrays import Array
from .._arrays.backends import ELSEWHERE, backend_of

KEPT_NUMBERS = 512


class Updates:
    """The arithmetic of one backend `xp` in one dtype."""

    def __init__(self, xp: Any, dtype: Any) -> None:
        self.xp = xp
        self.dtype = dtype
        self.rules: Any = None
        """The rules of optimizers that the backend has a kernel of its own for."""
        self._numbers: dict[Any, Any] = {}

    def number(self, value: Any) -> Any:
        """A number as a 0-d array, which array operators take faster than a number."""
        result = self._numbers.get(value)
        if result is None:
            if len(self._numbers) >= KEPT_NUMBERS:
                self._numbers.clear()
            # A scalar of NumPy is handed to a GPU with the call; a 0-d array would be a copy of its own.
            result = np.array(value, self.dtype) if self.xp is np else self.dtype.type(value)
            self._numbers[value] = result
        return result

    def opened(self, raw: Array) -> Any:
        """An array of real numbers, with a dimension at least, that stands for `raw` (and is its memory, if it can
        be)."""
        raw = self.xp.array(raw).reshape(1) if raw.ndim == 0 else raw
        return raw[..., None].view(self.dtype) if raw.dtype.kind == "c" else raw

    def closed(self, raw: Array, opened: Any) -> Any:
        """Return what to keep instead of `raw` after its `opened` form was changed."""
        if raw.ndim:
            return raw
        changed = opened.view(raw.dtype).reshape(())
        if isinstance(raw, np.generic):
            return changed[()]
        raw[...] = changed
        return raw

    # -- new arrays

    def add(self, a: Array, b: Array, alpha: Any = 1) -> Any:
        """a + alpha b."""
        if alpha == 1:
            return a + b
        out = b * self.number(alpha)
        out += a
        return out

    def mul(self, a: Array, b: Array) -> Any:
        """a b, of arrays."""
        return a * b

    def scale(self, a: Array, number: Any) -> Any:
        """a times a number."""
        return a * self.number(number)

    def addcmul(self, a: Array, b: Array, c: Any, value: Any) -> Any:
        """a + value b c."""
        out = b * self.number(value)
        out *= c
        out += a
        return out

    def neg(self, a: Array) -> Any:
        return -a

    def abs(self, a: Array) -> Any:
        return self.xp.abs(a)

    def sqrt(self, a: Array) -> Any:
        return self.xp.sqrt(a)

    def sign(self, a: Array) -> Any:
        return self.xp.sign(a)

    def by_sign(self, sign: Any, above: Any, zero: Any, below: Any) -> Any:
        """`above`, `zero` or `below` by the sign of each element; nan stays."""
        xp = self.xp
        made = xp.where(sign > 0, above, xp.where(sign < 0, below, xp.where(sign == 0, zero, sign)))
        return made.astype(self.dtype, copy=False)

    # -- in place

    def add_(self, a: Array, b: Array, alpha: Any = 1) -> Any:
        """a + alpha b."""
        a += b if alpha == 1 else b * self.number(alpha)
        return a

    def shift_(self, a: Array, number: Any) -> Any:
        """a plus a number."""
        a += self.number(number)
        return a

    def mul_(self, a: Array, b: Array) -> Any:
        """a b, of arrays."""
        a *= b
        return a

    def scale_(self, a: Array, number: Any) -> Any:
        """a times a number."""
        a *= self.number(number)
        return a

    def div_(self, a: Array, b: Array) -> Any:
        """a / b, of arrays."""
        a /= b
        return a

    def shrink_(self, a: Array, number: Any) -> Any:
        """a divided by a number."""
        a /= self.number(number)
        return a

    def addcmul_(self, a: Array, b: Array, c: Any, value: Any) -> Any:
        """a + value b c."""
        part = b * self.number(value)
        part *= c
        a += part
        return a

    def addcdiv_(self, a: Array, b: Array, c: Any, value: Any) -> Any:
        """a + value b / c."""
        part = b * self.number(value)
        part /= c
        a += part
        return a

    def lerp_(self, a: Array, b: Array, weight: Array) -> Any:
        """a + weight (b - a), from the nearer end."""
        part = b - a
        if weight < 0.5:
            part *= self.number(weight)
            a += part
        else:
            part *= self.number(1 - weight)
            self.xp.subtract(b, part, out=a)
        return a

    def sqrt_(self, a: Array) -> Any:
        return self.xp.sqrt(a, out=a)

    def maximum_(self, a: Array, b: Array) -> Any:
        return self.xp.maximum(a, b, out=a)

    def clamp_(self, a: Array, low: Any, high: Any) -> Any:
        return self.xp.clip(a, self.number(low), self.number(high), out=a)

    def copy_(self, a: Array, b: Array) -> Any:
        a[...] = b
        return a

    def detached(self, a: Array) -> Any:
        return a


class ReducedUpdates(Updates):
    """The arithmetic of a 16-bit dtype: on float32 arrays, each result rounded to the 16 bits, as PyTorch does."""

    def __init__(self, xp: Any, dtype: Any) -> None:
        super().__init__(xp, np.dtype(np.float32))
        self.narrow = dtype

    def opened(self, raw: Array) -> Any:
        return super().opened(raw.astype(self.dtype))

    def closed(self, raw: Array, opened: Any) -> Any:
        if isinstance(raw, np.generic):
            return opened.astype(self.narrow)[0]
        raw[...] = opened.reshape(raw.shape)
        return raw


def _rounded(name: str) -> Callable[..., Any]:
    compute = getattr(Updates, name)

    def run(self: ReducedUpdates, a: Array, *args: Any, **named: Any) -> Any:
        result = compute(self, a, *args, **named)
        result[...] = result.astype(self.narrow)
        return result

    return run


for _name in """
    add mul scale addcmul sqrt by_sign add_ shift_ mul_ scale_ div_ shrink_ addcmul_ addcdiv_ lerp_ sqrt_ clamp_
""".split():
    setattr(ReducedUpdates, _name, _rounded(_name))

_REDUCED = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
_made: dict[Any, Updates] = {}


def updates(raw: Array) -> Updates:
    """The arithmetic for arrays of the dtype and the device of `raw`."""
    dtype = raw.dtype
    made = _made if raw.__class__ not in ELSEWHERE else ELSEWHERE[raw.__class__].kernels.updates
    result: Updates | None = made.get(dtype)
    if result is None:
        kind = ReducedUpdates if dtype in _REDUCED else Updates
        wide = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
        kernels = backend_of(raw).kernels
        result = made[dtype] = kind(kernels.xp, wide)
        if kind is Updates and dtype.kind == "f":
            result.rules = kernels.rules
    return result


def orthogonalize(a: Array, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """The matrix `a` with its singular values pulled towards 1, as bfloat16.

    Each step maps them by the odd polynomial x (c0 + c1 x^2 + c2 x^4).
    """
    first, second, third = (np.float32(c) for c in coefficients)
    tall = a.shape[0] > a.shape[1]
    x = _coarse(a.T if tall else a)
    length = _coarse((x * x).sum(dtype=np.float32) ** np.float32(0.5))
    x = _coarse(x / backend_of(a).kernels.xp.maximum(length, np.float32(eps)))
    for _ in range(steps):
        gram = _coarse(x @ x.T)
        change = _coarse(second * gram + third * (gram @ gram))
        x = _coarse(first * x + change @ x)
    return (x.T if tall else x).astype(ml_dtypes.bfloat16)


def _coarse(a: Array) -> Any:
    """float32 with the precision of bfloat16."""
    return a.astype(ml_dtypes.bfloat16).astype(np.float32)
