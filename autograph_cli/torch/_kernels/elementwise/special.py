"""Special functions of statistics: the error function, gamma and their relatives, all computed in double precision."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays import Array, many_dims
from ..._core.base.dtypes import cpp_name
from ..._core.base.state import process_state
from .. import half_precision
from ..variants import chosen
from . import _series as series

Pieces = tuple[Any, Callable[[Any], Any]]
BERNOULLI = tuple(
    map(
        float,
        (
            1 / 6,
            -1 / 30,
            1 / 42,
            -1 / 30,
            5 / 66,
            -691 / 2730,
            7 / 6,
            -3617 / 510,
            43867 / 798,
            -174611 / 330,
            854513 / 138,
            -236364091 / 2730,
        ),
    )
)
"""The Bernoulli numbers B2, B4, B6, ..."""

# fmt: off
NORMAL_MIDDLE = (
    (2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987, 13731.69376550946,
     1971.5909503065513, 133.14166789178438, 3.3871328727963665),
    (5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597, 5394.196021424751,
     687.1870074920579, 42.31333070160091, 1.0),
)
NORMAL_TAIL = (
    (0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684, 3.6478483247632045,
     5.769497221460691, 4.630337846156546, 1.4234371107496835),
    (1.0507500716444169e-09, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008, 0.6897673349851,
     1.6763848301838038, 2.053191626637759, 1.0),
)
NORMAL_END = (
    (2.0103343992922881e-07, 2.7115555687434876e-05, 0.0012426609473880784, 0.026532189526576124,
     0.29656057182850487, 1.7848265399172913, 5.463784911164114, 6.657904643501103),
    (2.0442631033899397e-15, 1.421511758316446e-07, 1.8463183175100548e-05, 0.0007868691311456133,
     0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0),
)
"""Ratios of polynomials, the highest powers first: of Wichura, Algorithm AS 241 (1988)."""
# fmt: on


def widened(run: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that is computed in float64 and rounded to the dtype of its arguments (integers: the default dtype)."""

    @functools.wraps(run)
    def kernel(self: Any, *arrays: Any) -> Any:
        kinds = [a.dtype for a in arrays if hasattr(a, "dtype")]
        kind = kinds[0]
        if kind.kind in "biu":
            kind = next((k for k in kinds if k.kind not in "biu"), process_state.default_dtype)
        if kind.kind == "c":
            name = run.__name__.removeprefix("special_")
            raise NotImplementedError(f""""{name}_cpu" not implemented for '{cpp_name(kind)}'""")
        wide = [self.xp.asarray(a, np.float64) if hasattr(a, "dtype") else a for a in arrays]
        return run(self, *wide).astype(kind, copy=False)[()]

    return kernel


def ladder(f: Any, x: Any, p: int) -> Any:
    """x + (1 - p) / 2, ..., x - 1 / 2, x: in a new last dimension."""
    return f.add(f.arange_like(-p / 2 + 0.5, 0.5, 0.5, x), f.unsqueeze(x, x.ndim))


@chosen
def chebyshev(x: Any, coefficients: tuple[float, ...]) -> Any:
    """A Chebyshev series at x in [-1, 1], by Clenshaw's recurrence."""
    twice, b, before = x + x, 0.0, 0.0
    for c in coefficients[:0:-1]:
        b, before = c + twice * b - before, b
    return coefficients[0] + x * b - before


@chosen
def rational(x: Any, above: tuple[float, ...], below: tuple[float, ...]) -> Any:
    """The ratio of two polynomials of one degree, the highest powers first, by Horner's rule."""
    top, bottom = above[0], below[0]
    for a, b in zip(above[1:], below[1:], strict=True):
        top, bottom = top * x + a, bottom * x + b
    return top / bottom


def as_floating(a: Array) -> Any:
    """Integers and booleans as the default dtype, before a number beside them takes their dtype."""
    return a.astype(process_state.default_dtype) if a.dtype.kind in "biu" else a


def number_first(name: str) -> Callable[..., Any]:
    """A kernel of two arrays as one of a number and an array."""

    def kernel(self: Any, x: Any, y: Any) -> Any:
        y, x = self.with_number(as_floating(y), x)
        return getattr(self, name)(x, y)

    return kernel


def number_second(name: str) -> Callable[..., Any]:
    """A kernel of two arrays as one of an array and a number."""
    return lambda self, x, y: getattr(self, name)(*self.with_number(as_floating(x), y))


class Special:
    """Kernels of the error function's and the gamma function's families."""

    xp: Any
    held: Any
    sum: Any
    number: Any
    where: Any
    error_function: Any

    def piecewise(self, x: Any, *cases: Pieces) -> Any:
        """A function by pieces, each computed only where its condition holds; nan where none does."""
        if x.ndim and cases[0][0].all():
            return cases[0][1](x)
        out = self.xp.full(x.shape, math.nan)
        for where, function in cases:
            if where.any():
                out[where] = function(x[where])
        return out

    # ---------------------------------------------------------------- errors

    def _erfcx(self, x: Any) -> Any:
        """exp(x**2) erfc(x) for x >= 0."""
        t = self.xp.where(self.xp.isinf(x), 1.0, (x - 3.75) / (x + 3.75))
        return chebyshev(t, series.ERFCX) / (1 + 2 * x)

    def _exp_square(self, x: Any, sign: int) -> Any:
        """exp(sign x**2) without the error that rounding x**2 brings."""
        head = x.astype(np.float32).astype(np.float64)
        return self.xp.exp(sign * head * head) * self.xp.exp(sign * (x - head) * (x + head))

    def _erfc(self, x: Any) -> Any:
        """erfc(x) for x >= 1/2."""
        x = self.xp.minimum(x, 30.0)
        return self._erfcx(x) * self._exp_square(x, -1)

    def _library(self, name: str, x: Any, series: Callable[[Any], Any]) -> Any:
        """A function of C's library where arrays are NumPy's (it is faster than NumPy can add up a series), else the
        series."""
        if isinstance(x, np.ndarray):
            try:
                return np.fromiter(map(getattr(math, name), x.ravel().tolist()), np.float64, x.size).reshape(x.shape)
            except (ValueError, OverflowError):
                pass  # a pole: Python refuses what the series knows
        return series(x)

    @widened
    def erf(self, x: Any) -> Any:
        return self.error_function(x)

    @widened
    def erfc(self, x: Any) -> Any:
        return self._library("erfc", x, self.erfc_series)

    def erfc_series(self, x: Any) -> Any:
        return self.piecewise(
            x,
            (abs(x) <= 0.5, lambda x: 1 - self.error_function(x)),
            (x > 0.5, self._erfc),
            (x < -0.5, lambda x: self.xp.where(x < -1, 2 - self._erfc(-x), 1 - self.error_function(x))),
        )

    @widened
    def special_erfcx(self, x: Any) -> Any:
        return self.piecewise(
            x,
            (x >= 0, self._erfcx),
            (x < 0, lambda x: 2 * self._exp_square(self.xp.maximum(x, -30.0), 1) - self._erfcx(-x)),
        )

    @widened
    def erfinv(self, y: Any) -> Any:
        return self._quantile(y / 2, lambda at: (1 - abs(y[at])) / 2) * math.sqrt(0.5)

    def _quantile(self, middle: Any, tail: Callable[[Any], Any]) -> Any:
        """Return where the normal distribution function is 1/2 + `middle`, which at positions is `tail` away from 0 or
        1.

        Wichura's algorithm AS 241, good to 16 digits.
        """
        xp = self.xp
        out = middle * rational(0.180625 - middle * middle, *NORMAL_MIDDLE)
        far = abs(middle) > 0.425
        if far.any():
            out, at = xp.asarray(out), far.nonzero() if far.ndim else far
            root = xp.sqrt(-xp.log(tail(at)))
            found = self.piecewise(
                root,
                (root <= 5, lambda r: rational(r - 1.6, *NORMAL_TAIL)),
                ((root > 5) & (root < math.inf), lambda r: rational(r - 5, *NORMAL_END)),
                (root == math.inf, lambda r: r * 1.0),
            )
            out[at] = xp.copysign(found, middle[at])
        return out

    @widened
    def special_log_ndtr(self, x: Any) -> Any:
        return self._log_ndtr(x)

    def _log_ndtr(self, x: Any) -> Any:
        log, t = self.xp.log, math.sqrt(0.5)
        return self.piecewise(
            x,
            (x < -1, lambda x: log(self._erfcx(-x * t) / 2) - x * x / 2),
            (x >= -1, lambda x: self.xp.log1p(-self.erfc(x * t) / 2)),
        )

    @widened
    def special_ndtri(self, p: Any) -> Any:
        return self._quantile(p - 0.5, lambda at: self.xp.minimum(p[at], 1 - p[at]))

    # ---------------------------------------------------------------- logarithms

    @widened
    def xlogy(self, x: Any, y: Any) -> Any:
        return self._times_log(x, y, self.xp.log)

    @widened
    def special_xlog1py(self, x: Any, y: Any) -> Any:
        return self._times_log(x, y, self.xp.log1p)

    xlogy_self_scalar, xlogy_other_scalar = number_first("xlogy"), number_second("xlogy")
    special_xlog1py_self_scalar = number_first("special_xlog1py")
    special_xlog1py_other_scalar = number_second("special_xlog1py")

    def _times_log(self, x: Any, y: Any, log: Any) -> Any:
        return self.xp.where((x == 0) & (y == y), 0.0, x * log(y))  # nan of nan

    @widened
    def special_entr(self, x: Any) -> Any:
        return self.piecewise(x, (x > 0, lambda x: -x * self.xp.log(x)), (x == 0, abs), (x < 0, lambda x: x * math.inf))

    @widened
    def _logit(self, x: Any) -> Any:
        return self.xp.log(x / (1 - x))

    def logit(self, x: Any, eps: float | None = None) -> Any:
        return self._logit(
            x if eps is None else self.xp.clip(x, self.held(eps, x), self.number(1 - eps, x)).astype(x.dtype)
        )

    @half_precision.widened
    def sinc(self, x: Any) -> Any:
        turned = self.number(math.pi, x) * x
        return self.where(x == 0, self.number(1, x), self.xp.sin(turned) / turned)

    def arange_like(self, start: float, end: float, step: float, like: Any) -> Any:
        return self.xp.arange(start, end, step, like.dtype)

    # ---------------------------------------------------------------- gamma

    def sin_pi(self, x: Any) -> Any:
        """|sin(pi x)|, exact for large x."""
        return abs(self.xp.sin(math.pi * (x - self.xp.rint(x))))

    @widened
    def lgamma(self, x: Any) -> Any:
        return self._lgamma(x)

    def _lgamma(self, x: Any) -> Any:
        return self._library("lgamma", x, self.lgamma_series)

    def mvlgamma(self, x: Any, p: int) -> Any:
        constant = p * (p - 1) * math.log(math.pi) / 4
        return self.sum(self.lgamma(ladder(self, x, p)), (x.ndim,)) + self.number(constant, x)

    def lgamma_series(self, x: Any) -> Any:
        log = self.xp.log
        return self.piecewise(
            x,
            (self.xp.isinf(x), abs),
            ((x > 2.5) & (x < math.inf), self._lgamma_right),
            ((x >= 0.5) & (x <= 2.5), lambda x: (x - 1) * (x - 2) * chebyshev(x - 1.5, series.LGAMMA) + 0.0),
            ((x < 0.5) & (x > -math.inf), lambda x: log(math.pi / self.sin_pi(x)) - self.lgamma_series(1 - x)),
        )

    def _lgamma_right(self, x: Any) -> Any:
        """Stirling's series, at x or so far to its right that the series is exact."""
        product = self.xp.ones(x.shape)
        for _ in range(8):
            small = x < 8
            product, x = self.xp.where(small, product * x, product), self.xp.where(small, x + 1, x)
        tail, square = 0.0, x * x
        for k in range(7, -1, -1):
            tail = tail / square + BERNOULLI[k] / ((2 * k + 1) * (2 * k + 2))
        log = self.xp.log
        return (x - 0.5) * log(x) - x + math.log(2 * math.pi) / 2 + tail / x - log(product)

    @widened
    def digamma(self, x: Any) -> Any:
        return self._digamma(x)

    def _digamma(self, x: Any) -> Any:
        return self.piecewise(
            x,
            (x > 0, self._digamma_right),
            (x == 0, lambda x: self.xp.copysign(math.inf, -x)),
            (
                (x < 0) & (x != self.xp.trunc(x)),
                lambda x: self._digamma_right(1 - x) - math.pi / self.xp.tan(math.pi * self.xp.fmod(x, 1.0)),
            ),
        )

    def _digamma_right(self, x: Any) -> Any:
        shift = self.xp.zeros(x.shape)
        for _ in range(10):
            small = x < 10
            shift, x = self.xp.where(small, shift - 1 / x, shift), self.xp.where(small, x + 1, x)
        tail, square = 0.0, x * x
        for k in range(6, -1, -1):
            tail = (tail + BERNOULLI[k] / (2 * k + 2)) / square
        return shift + self.xp.log(x) - 0.5 / x - tail

    def polygamma(self, n: int, x: Any) -> Any:
        if n < 2:
            return self._trigamma(x) if n else self.digamma(x)
        zeta = self.special_zeta(
            self.xp.full(x.shape, n + 1.0, x.dtype if x.dtype.kind in "fV" else process_state.default_dtype), x
        )
        return zeta * zeta.dtype.type((1 if n % 2 else -1) * (math.factorial(n) if n <= 170 else math.inf))

    @widened
    def _trigamma(self, x: Any) -> Any:
        """As PyTorch computes it: six steps to the right, then the asymptotic series up to B6."""
        mirrored = x < 0.5
        if not mirrored.any():
            return self._trigamma_right(x)
        right = self._trigamma_right(self.xp.where(mirrored, 1 - x, x))
        return self.xp.where(mirrored, (math.pi / self.xp.sin(math.pi * x)) ** 2 - right, right)

    def _trigamma_right(self, x: Any) -> Any:
        result = 1 / (x * x)
        for _ in range(5):
            x = x + 1
            result = result + 1 / (x * x)
        x = x + 1
        square = 1 / (x * x)
        return result + (1 + 1 / (2 * x) + square * (1 / 6 - square * (1 / 30 - square * (1 / 42)))) / x

    @widened
    def special_zeta(self, s: Any, q: Any) -> Any:
        s, q = many_dims.broadcast_arrays(self.xp, s, q)
        whole = q == self.xp.floor(q)
        fine = (s > 1) & (q == q) & ((q > 0) | (~whole & (s == self.xp.floor(s))))
        out = self.xp.full(s.shape, math.nan)
        out[(s == 1) | ((s > 1) & (q <= 0) & whole)] = math.inf
        if fine.any():
            out[fine] = self._zeta(s[fine], q[fine])
        return out

    special_zeta_self_scalar, special_zeta_other_scalar = number_first("special_zeta"), number_second("special_zeta")

    def _zeta(self, s: Any, q: Any) -> Any:
        """The Euler-Maclaurin formula from a term at or above 9."""
        power = self.xp.power
        total = power(q, -s)
        steps = self.xp.maximum(9, self.xp.ceil(9 - q))
        for k in range(1, int(steps.max()) + 1):
            total = total + self.xp.where(k <= steps, power(q + k, -s), 0.0)
        a = q + steps
        last = power(a, -s)
        total = total + last * a / (s - 1) - 0.5 * last
        factor = s * last / a
        for k, b in enumerate(BERNOULLI):
            total = total + factor * (b / math.factorial(2 * k + 2))
            factor = factor * (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a)
        return total

    # ---------------------------------------------------------------- the incomplete gamma function

    @widened
    def igamma(self, a: Array, x: Any) -> Any:
        return self._incomplete(a, x, 0.0)

    @widened
    def igammac(self, a: Array, x: Any) -> Any:
        return self._incomplete(a, x, 1.0)

    def _incomplete(self, a: Array, x: Any, upper: float) -> Any:
        """The lower (upper = 0) or upper regularized function: a series left of the peak, a continued fraction right of
        it."""
        xp = self.xp
        a, x = many_dims.broadcast_arrays(xp, a, x)
        out = xp.full(a.shape, math.nan)
        valid = (a >= 0) & (x >= 0)
        out[valid & (((a == 0) & (x > 0)) | (xp.isinf(x) & ~xp.isinf(a)))] = 1 - upper
        out[valid & (a > 0) & ((x == 0) | (xp.isinf(a) & ~xp.isinf(x)))] = upper
        inside = (a > 0) & (x > 0) & ~xp.isinf(a) & ~xp.isinf(x)
        left = inside & ((x <= 1) | (x < a))
        for where, function, is_upper in ((left, self._lower_series, 0.0), (inside & ~left, self._upper_fraction, 1.0)):
            if where.any():
                b, y = a[where], x[where]
                value = function(b, y) * xp.exp(b * xp.log(y) - y - self._lgamma(b))
                out[where] = value if is_upper == upper else 1 - value
        return out

    def _lower_series(self, a: Array, x: Any) -> Any:
        term = total = 1 / a
        for k in range(1, 100000):
            term = term * x / (a + k)
            total = total + term
            if (term <= total * 1e-17).all():
                break
        return total

    def _upper_fraction(self, a: Array, x: Any) -> Any:
        """Legendre's continued fraction by Lentz's method."""
        b = x + 1 - a
        c, d = 1e300, 1 / b
        value = d
        for k in range(1, 100000):
            numerator = k * (a - k)
            b = b + 2
            d = 1 / (b + numerator * d)
            c = b + numerator / c
            value = value * c * d
            if (abs(c * d - 1) < 1e-16).all():
                break
        return value
