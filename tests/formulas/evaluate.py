"""Computes the value of a formula with NumPy, apart from how the formula was found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy

Array = Any


def evaluate(expr: Any, values: Mapping[str, Array]) -> Array:
    """The numbers that an expression stands for, where each symbol stands for an array."""
    if expr.is_Symbol:
        return values[expr.name]
    if expr.is_number and not expr.is_Function:
        return float(expr)
    own = _MIXING.get(type(expr).__name__)
    if own is not None:
        return own(expr, values)
    args = [evaluate(arg, values) for arg in expr.args]
    if expr.is_Add:
        return sum(args)
    if expr.is_Mul:
        return math.prod(args)
    if expr.is_Pow:
        return args[0] ** args[1]
    return _ELEMENTWISE[type(expr).__name__](*args)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


_ELEMENTWISE = {
    "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sinh": np.sinh,
    "cosh": np.cosh, "sigmoid": _sigmoid, "relu": lambda x: np.maximum(x, 0),
    "step": lambda x: (np.asarray(x) > 0) * 1.0, "sign": np.sign, "absolute": np.abs,
    "softplus": lambda x: np.log1p(np.exp(x)), "where": lambda chosen, x, y: np.where(chosen, x, y),
    "larger": np.maximum, "smaller": np.minimum, "clamp": np.clip, "bounded": np.clip,
    "erf": np.vectorize(math.erf, otypes=[float]),
}  # fmt: skip


def _compared(expr: Any, values: Mapping[str, Array]) -> Array:
    left, right = (evaluate(arg, values) for arg in expr.args[1:])
    return {">": np.greater, "<": np.less, "≥": np.greater_equal, "≤": np.less_equal, "=": np.equal}[expr.args[0].name](
        left, right
    ) * 1.0


def _total(expr: Any, values: Mapping[str, Array]) -> Array:
    dims = tuple(map(int, expr.args[1])) or None
    return np.sum(evaluate(expr.args[0], values), axis=dims, keepdims=bool(expr.args[2]))


def _transpose(expr: Any, values: Mapping[str, Array]) -> Array:
    first, second = map(int, expr.args[1:]) if len(expr.args) > 1 else (-2, -1)
    return np.swapaxes(evaluate(expr.args[0], values), first, second)


def _softmax(expr: Any, values: Mapping[str, Array]) -> Array:
    x = np.exp(evaluate(expr.args[0], values))
    return x / x.sum(axis=int(expr.args[1]), keepdims=True)


def _onehot(expr: Any, values: Mapping[str, Array]) -> Array:
    classes = np.asarray(evaluate(expr.args[0], values)).astype(int)
    return (classes[:, None] == np.arange(values["classes"])) * 1.0


_MIXING = {
    "compared": _compared,
    "total": _total,
    "transpose": _transpose,
    "softmax": _softmax,
    "log_softmax": lambda expr, values: np.log(_softmax(expr, values)),
    "onehot": _onehot,
    "matmul": lambda expr, values: np.matmul(*(evaluate(arg, values) for arg in expr.args)),
    "dot": lambda expr, values: np.dot(*(evaluate(arg, values) for arg in expr.args)),
    "outer": lambda expr, values: np.multiply.outer(*(evaluate(arg, values) for arg in expr.args)),
    "reshape": lambda expr, values: np.reshape(evaluate(expr.args[0], values), tuple(map(int, expr.args[1]))),
    "ones": lambda expr, values: np.ones(tuple(map(int, expr.args[0]))),
    "norm": lambda expr, values: np.sqrt(
        np.sum(
            evaluate(expr.args[0], values) ** 2, axis=tuple(map(int, expr.args[1])) or None, keepdims=bool(expr.args[2])
        )
    ),
}
assert sympy.__version__
