"""Kernels of a GPU that do in one pass over memory what their composed forms do in several.

`cupy.fuse` runs each function once, with variables in place of arrays, and makes a kernel of what was done with them:
arithmetic, functions of elements, and one sum over an axis are all that may stand in one. An argument may be None.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

ROOT, COEFFICIENT = math.sqrt(2 / math.pi), 0.044715
"""The constants of the tanh that stands for the error function in gelu."""
FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""All of them, by name; the first argument is CuPy."""


def _fused(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS[function.__name__] = function
    return function


class Fused:
    """The functions as kernels of CuPy."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def __getattr__(self, name: str) -> Any:
        result = self._cupy.fuse(kernel_name=name)(functools.partial(FUNCTIONS[name], self._cupy))
        setattr(self, name, result)
        return result


# ---------------------------------------------------------------- softmax; its logarithm is cross entropy's


@_fused
def sum_of_powers(xp: Any, x: Any, top: Any) -> Any:
    return xp.sum(xp.exp(x - top), axis=-1)


@_fused
def softmax(xp: Any, x: Any, top: Any, total: Any, out: Any) -> None:
    out[...] = xp.exp(x - top) / total


@_fused
def log_softmax(xp: Any, x: Any, top: Any, total: Any, out: Any) -> None:
    out[...] = x - top - xp.log(total)


@_fused
def sum_of_products(xp: Any, x: Any, y: Any) -> Any:
    return xp.sum(x * y, axis=-1)


@_fused
def softmax_backward(xp: Any, grad: Any, output: Any, total: Any, out: Any) -> None:
    out[...] = output * (grad - total)


@_fused
def log_softmax_backward(xp: Any, grad: Any, output: Any, total: Any, out: Any) -> None:
    out[...] = grad - xp.exp(output) * total


# ---------------------------------------------------------------- layer norm


@_fused
def sum_of_squares(xp: Any, x: Any, mean: Any) -> Any:
    return xp.sum((x - mean) * (x - mean), axis=-1)


@_fused
def normalize(xp: Any, x: Any, mean: Any, rstd: Any, weight: Any, bias: Any) -> Any:
    out = (x - mean) * rstd
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


@_fused
def sum_of_weighted(xp: Any, grad: Any, weight: Any, x: Any, mean: Any, rstd: Any) -> Any:
    return xp.sum((grad if weight is None else grad * weight) * ((x - mean) * rstd), axis=-1)


@_fused
def normalize_backward(
    xp: Any, grad: Any, weight: Any, x: Any, mean: Any, rstd: Any, along: Any, across: Any, count: Any
) -> Any:
    scaled = grad if weight is None else grad * weight
    return (scaled - ((x - mean) * rstd * along + across) / count) * rstd


@_fused
def sum_of_columns(xp: Any, grad: Any, x: Any, mean: Any, rstd: Any) -> Any:
    return xp.sum(grad * ((x - mean) * rstd), axis=0)


# ---------------------------------------------------------------- activations


@_fused
def threshold_backward(xp: Any, grad: Any, x: Any, threshold: Any, out: Any) -> None:
    out[...] = xp.where(x <= threshold, 0.0, grad)


@_fused
def tanh_backward(xp: Any, grad: Any, output: Any, out: Any) -> None:
    out[...] = grad * (1.0 - output * output)


@_fused
def sigmoid_backward(xp: Any, grad: Any, output: Any, out: Any) -> None:
    out[...] = grad * ((1.0 - output) * output)


def _erf(x: Any) -> Any:
    return importlib.import_module("cupyx.scipy.special").erf(x)


@_fused
def gelu(xp: Any, x: Any, out: Any) -> None:
    out[...] = x * (_erf(x * math.sqrt(0.5)) + 1.0) * 0.5


@_fused
def gelu_backward(xp: Any, grad: Any, x: Any, out: Any) -> None:
    density = xp.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
    out[...] = grad * ((_erf(x * math.sqrt(0.5)) + 1.0) * 0.5 + x * density)


@_fused
def gelu_tanh(xp: Any, x: Any, out: Any) -> None:
    out[...] = x * (xp.tanh((x * x * COEFFICIENT + 1.0) * x * ROOT) + 1.0) * 0.5


@_fused
def gelu_tanh_backward(xp: Any, grad: Any, x: Any, out: Any) -> None:
    t = xp.tanh((x * x * COEFFICIENT + 1.0) * x * ROOT)
    slope = (x * x * (3 * COEFFICIENT) + 1.0) * x * ROOT * (1.0 - t * t)
    out[...] = grad * ((slope + t + 1.0) * 0.5)


# ---------------------------------------------------------------- optimizers


def _decayed(p: Any, grad: Any, decay: Any) -> Any:
    return grad if decay is None else grad + p * decay


@_fused
def adam(
    xp: Any, p: Any, grad: Any, mean: Any, square: Any, largest: Any, decay: Any, shrink: Any, rest1: Any, beta2: Any,
    rest2: Any, correction: Any, eps: Any, step_size: Any,
) -> None:  # fmt: skip
    if shrink is not None:
        p *= shrink
    grad = _decayed(p, grad, decay)
    mean += (grad - mean) * rest1
    square *= beta2
    square += grad * grad * rest2
    if largest is not None:
        largest[...] = xp.maximum(largest, square)
        square = largest
    p += mean * step_size / (xp.sqrt(square) / correction + eps)


@_fused
def sgd(xp: Any, p: Any, grad: Any, buffer: Any, lr: Any, momentum: Any, share: Any, decay: Any, nesterov: Any) -> None:
    grad = _decayed(p, grad, decay)
    if buffer is not None:
        buffer *= momentum
        buffer += grad * share
        grad = buffer if nesterov is None else grad + buffer * momentum
    p += grad * lr


class Rules:
    """The rules of optimizers (see optim/_elementwise.py), one kernel for a parameter; those that are not here are
    composed."""

    def __init__(self, fused: Fused) -> None:
        self._fused = fused

    def fits(self, arrays: tuple[Any, ...]) -> bool:
        """Return whether the kernels take these arrays."""
        return True

    def adam(self, f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        decay, shrink, *rest = numbers
        coupled = None if decay == 0 or shrink is not None else decay
        mean, square, *largest = state
        self._fused.adam(
            p, grad, mean, square, largest[0] if largest else None, coupled, None if decay == 0 else shrink, *rest
        )

    def sgd(self, f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        lr, momentum, share, decay, nesterov = numbers
        buffer = state[0] if state else None
        share = 1.0 if share is None else share  # at first the buffer is full of 0
        self._fused.sgd(p, grad, buffer, lr, momentum, share, None if decay == 0 else decay, nesterov or None)
