"""The error function, the normal distribution, and the activation made of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import Array
from ..blockwise import by_blocks
from ._series import ARTANH_ERF

_STEP, _REACH = 256, 6
"""Points of the table for each 1, and the last of them."""


def _erf_table() -> Any:
    """erf and its slope at multiples of 1/256."""
    centers = np.arange(_REACH * _STEP + 1) / _STEP
    return np.stack([[math.erf(c) for c in centers], 2 / math.sqrt(math.pi) * np.exp(-centers * centers)])


_ERF = _erf_table()
ERF_BY_POINT = np.ascontiguousarray(_ERF.T)
_NARROW = tuple(map(np.float32, ARTANH_ERF))
NARROW_ARRAY = np.array(_NARROW)
ROOT = math.sqrt(2 / math.pi)
_FAR = np.float32(4)
"""Beyond it erf is 1 in float32."""


class Gaussian:
    """Kernels made of the integral of exp(-x**2)."""

    xp: Any
    number: Any

    def error_function(self, a: Array) -> Any:
        """erf of numbers in double precision, to the last digit."""
        return by_blocks(self._erf_by_table, a) if a.ndim else self._erf_by_table(self.xp.asarray(a).reshape(1))[0]

    def _erf_by_table(self, a: Array) -> Any:
        """The Taylor polynomial around the nearest point c of a table: erf(c) + slope(c) h (1 + rest).

        The rest has Hermite polynomials of c times powers of h, up to the fourth: h is 1/512 at most.
        """
        near = self.xp.minimum(abs(a), _REACH)
        position = self.xp.rint(near * _STEP)
        c = position * (1 / _STEP)
        near -= c
        index = self.xp.fmax(position, 0).astype("int64")
        values, slopes = self.xp.asarray(_ERF)
        square = c * c
        rest = (square * (2 / 15) - 2 / 5) * square + 1 / 10
        rest = rest * near + (0.5 - square * (1 / 3)) * c
        rest = rest * near + (square * (2 / 3) - 1 / 3)
        rest = (rest * near - c) * near
        near *= slopes.take(index)
        total = (near * rest + near) + values.take(index)
        return self.xp.copysign(total, a, out=total)

    def _erf_by_tanh(self, a: Array) -> Any:
        """tanh(x p(x**2)) for a polynomial p: 1e-7 from erf at most, in single precision."""
        x = a.clip(-_FAR, _FAR)
        square = x * x
        total = square * _NARROW[-1]
        for c in _NARROW[-2:0:-1]:
            total += c
            total *= square
        total += _NARROW[0]
        total *= x
        return self.xp.tanh(total, out=total)

    def _normal(self, a: Array) -> Any:
        """The normal distribution."""
        scaled = a * self.number(math.sqrt(0.5), a)
        result = self._erf_by_tanh(scaled) if a.itemsize == 4 else self._erf_by_table(scaled)
        result += self.number(1, a)
        result *= self.number(0.5, a)
        return result

    def gelu(self, a: Array, approximate: str = "none") -> Any:
        return self._in_float(self._gelu_tanh if approximate == "tanh" else self._gelu, a)

    def gelu_backward(self, grad: Array, a: Array, approximate: str = "none") -> Any:
        return self._in_float(self._gelu_tanh_backward if approximate == "tanh" else self._gelu_backward, grad, a)

    def _in_float(self, run: Any, *arrays: Any) -> Any:
        """Block by block, numbers of 16 bits as float32."""
        kind, shape = arrays[-1].dtype, arrays[-1].shape
        if kind.itemsize == 2:
            arrays = tuple(x.astype("float32") for x in arrays)
        found = by_blocks(run, *arrays) if shape else run(*(self.xp.asarray(x).reshape(1) for x in arrays))[0]
        return found if found.dtype == kind else found.astype(kind)

    def _gelu(self, a: Array) -> Any:
        result = self._normal(a)
        result *= a
        return result

    def _gelu_backward(self, grad: Array, a: Array) -> Any:
        slope = a * a
        slope *= self.number(-0.5, a)
        self.xp.exp(slope, out=slope)
        slope *= self.number(1 / math.sqrt(2 * math.pi), a)
        slope *= a
        slope += self._normal(a)
        return slope * grad

    def _gelu_inner(self, a: Array) -> Any:
        """The tanh that stands for the error function."""
        inner = a * a
        inner *= self.number(ROOT * 0.044715, a)
        inner += self.number(ROOT, a)
        inner *= a
        return self.xp.tanh(inner, out=inner)

    def _gelu_tanh(self, a: Array) -> Any:
        result = self._gelu_inner(a)
        result += self.number(1, a)
        result *= self.number(0.5, a)
        result *= a
        return result

    def _gelu_tanh_backward(self, grad: Array, a: Array) -> Any:
        one, half = self.number(1, a), self.number(0.5, a)
        t = self._gelu_inner(a)
        slope = a * a
        slope *= self.number(ROOT * 3 * 0.044715, a)
        slope += self.number(ROOT, a)
        slope *= a
        slope *= one - t * t
        slope += t
        slope += one
        slope *= half
        return slope * grad
