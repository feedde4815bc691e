"""Variates of gamma, Poisson and binomial distributions, one by one, from the stream as PyTorch draws them.

Gamma by the method of Marsaglia and Tsang (2000); Poisson and binomial by those of Hörmann (1993), which reject from a
transformed uniform number, and where few events are expected by adding up what comes between events.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._core.streams.stream import Stream
from ..variants import chosen

# PyTorch's constants are of single precision, also where it computes in double.
THIRD = float(np.float32(1.0) / np.float32(3.0))
SQUEEZE = float(np.float32(0.0331))
FEW = 10
"""The expected events below which they are few."""


def drawn(name: str, stream: Stream, *given: Array, **settings: bool) -> Array:
    """One variate after the other in double precision, for each element of arrays of one shape."""
    flat = [np.ascontiguousarray(a, np.float64).ravel() for a in given]
    return _each(name, stream, flat, settings).reshape(given[0].shape)


@chosen
def _each(name: str, stream: Stream, flat: list[Array], settings: dict[str, bool]) -> Array:
    variate: Any = {"gamma": gamma, "poisson": poisson, "binomial": binomial}[name]
    rows = zip(*(a.tolist() for a in flat), strict=True)
    return np.array([variate(stream, *row, **settings) for row in rows], np.float64)


def _unit(stream: Stream) -> float:
    return (int(stream.bits64(1)[0]) & (1 << 53) - 1) * 2.0**-53


def _normal(stream: Stream) -> float:
    """One of a pair of standard normals, of which the other is kept for the next."""
    if (spare := stream.spare_normal) is not None:
        stream.spare_normal = None
        return spare
    angle = 2.0 * math.pi * _unit(stream)
    radius = math.sqrt(-2.0 * math.log1p(-_unit(stream)))
    stream.spare_normal = radius * math.sin(angle)
    return radius * math.cos(angle)


def gamma(stream: Stream, shape: float, narrow: bool = False) -> float:
    """One gamma variate of the given shape and scale 1; `narrow`: of a shape that is kept in single precision."""
    kept: Any = np.float32 if narrow else float
    scale = 1.0
    if shape < 1.0:
        if shape == 0.0:
            return 0.0
        scale = (1.0 - _unit(stream)) ** float(kept(1.0 / shape))
        shape = float(kept(shape + 1.0))
    d = float(kept(shape - THIRD))
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        y = 0.0
        while y <= 0.0:
            x = _normal(stream)
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - _unit(stream)
        square = x * x
        if u < 1.0 - SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def poisson(stream: Stream, rate: float) -> int:
    """Return how many events there are at a rate. RuntimeError for a negative one."""
    if not rate >= 0:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if rate == 0:
        return 0
    return _many_events(stream, rate) if rate >= FEW else _few_events(stream, rate)


def _few_events(stream: Stream, rate: float) -> int:
    end, product, count = math.exp(-rate), 1.0, 0
    while True:
        product *= _unit(stream)
        if product <= end:
            return count
        count += 1


def _many_events(stream: Stream, rate: float) -> int:
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    sure = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = _unit(stream) - 0.5, _unit(stream)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= sure:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        if math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= -rate + k * math.log(
            rate
        ) - math.lgamma(k + 1):
            return k


def binomial(stream: Stream, count: float, prob: float, narrow: bool = False) -> float:
    """Return how often something of a probability happens in so many trials; `narrow`: given in single precision."""
    if count <= 0 or prob <= 0:
        return 0
    if prob >= 1:
        return count
    if math.isnan(prob):
        return math.nan
    if prob > 0.5:
        return count - _successes(stream, count, 1 - prob, narrow)
    return _successes(stream, count, prob, narrow)


def _successes(stream: Stream, count: float, prob: float, narrow: bool) -> float:
    expected = float(np.float32(count * prob)) if narrow else count * prob
    return _many_successes(stream, count, prob) if expected >= FEW else _few_successes(stream, count, prob)


def _few_successes(stream: Stream, count: float, prob: float) -> int:
    rest, trials, result = math.log1p(-prob), 0.0, 0
    while True:
        u = _unit(stream)
        trials += math.ceil(math.log(u) / rest) if u else math.inf
        if trials > count:
            return result
        result += 1


# The rest of Stirling's series for log k!, as a table for small k.
_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _tail(k: float) -> float:
    if k <= 9:
        return _TAILS[int(k)]
    square = (k + 1) ** 2
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _many_successes(stream: Stream, count: float, prob: float) -> int:
    deviation = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    sure, odds = 0.92 - 4.2 / b, prob / (1 - prob)
    alpha, m = (2.83 + 5.1 / b) * deviation, math.floor((count + 1) * prob)
    while True:
        u, v = _unit(stream) - 0.5, _unit(stream)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c)
        if us >= 0.07 and v <= sure:
            return k
        if k < 0 or k > count:
            continue
        bound = (
            (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _tail(m)
            + _tail(count - m)
            - _tail(k)
            - _tail(count - k)
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k
