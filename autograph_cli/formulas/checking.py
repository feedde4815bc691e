"""Compares formulas with what the graph computes on numbers that are drawn: one that differs is not to be printed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import sympy

from autograph_cli import torch
from autograph_cli.formulas.functions import Expr
from autograph_cli.formulas.replay import LATTICES, Played

Array = Any
Values = Mapping[Expr, Array]
TURNS = 18
"""The most draws of numbers, where a function is not defined for some or a mask picks as many as it did."""
NEEDED = 2
"""Draws at which a formula gives the graph's numbers."""
SECONDS = 10.0
_FAILED = (ArithmeticError, AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError)


class Evaluator:
    """The numbers of expressions, where symbols stand for arrays."""

    def __init__(
        self, values: Values, calls: Mapping[str, Callable[..., Any]], definitions: Mapping[Expr, Expr]
    ) -> None:
        self.values, self.calls, self.definitions = dict(values), calls, definitions

    def of(self, expr: Expr) -> Array:
        """The numbers of an expression; an error where one is not known."""
        if expr.is_Symbol:
            if expr not in self.values:
                self.values[expr] = self.of(self.definitions[expr])
            return self.values[expr]
        if expr.is_number and not expr.is_Function:
            return float(expr)
        own = _MIXING.get(type(expr).__name__)
        if own is not None:
            return own(self, *expr.args)
        args = [_number(self.of(arg)) for arg in expr.args]
        if expr.is_Add:
            return sum(args)
        if expr.is_Mul:
            return math.prod(args)
        if expr.is_Pow:
            return np.power(np.asarray(args[0], float), args[1])
        return _ELEMENTWISE[type(expr).__name__](*args)

    def call(self, written: Expr, *args: Expr) -> Array:
        """A call, by the engine's operation."""
        return self.calls[written.name](*map(self._tensor, args)).numpy()

    def pull(self, written: Expr, position: Expr, *args: Expr) -> Array:
        """A gradient taken back through a call."""
        *given, grad = map(self._tensor, args)
        by = given[int(position)].requires_grad_()
        made = self.calls[written.name](*given)
        grad = grad.expand(made.shape)
        return torch.autograd.grad(made, by, grad)[0].numpy()

    def _tensor(self, arg: Expr) -> Any:
        found = np.array(self.of(arg))
        return torch.from_numpy(found if found.dtype.kind in "bi" else found.astype(float))

    def compare(self, sign: Expr, left: Expr, right: Expr) -> Array:
        """Return whether a comparison holds."""
        return _SIGNS[sign.name](self.of(left), self.of(right))

    def sum(self, inner: Expr, dims: Expr, kept: Expr) -> Array:
        """A sum over some dimensions."""
        return np.sum(self.of(inner), axis=tuple(map(int, dims)) or None, keepdims=bool(kept))

    def norm(self, inner: Expr, dims: Expr, kept: Expr) -> Array:
        """The root of a sum of squares over some dimensions."""
        return np.sqrt(
            np.sum(np.square(_number(self.of(inner))), axis=tuple(map(int, dims)) or None, keepdims=bool(kept))
        )

    def swap(self, inner: Expr, *ends: Expr) -> Array:
        """Two dimensions exchanged."""
        first, second = map(int, ends or (-2, -1))
        return np.swapaxes(self.of(inner), first, second)

    def soften(self, inner: Expr, dim: Expr) -> Array:
        """Softmax."""
        x = np.asarray(self.of(inner), float)
        made = np.exp(x - x.max(axis=int(dim), keepdims=True))
        return made / made.sum(axis=int(dim), keepdims=True)

    def choose(self, chosen: Expr, left: Expr, right: Expr) -> Array:
        """One of two numbers."""
        return np.where(np.asarray(self.of(chosen)) != 0, self.of(left), self.of(right))


def _number(value: Array) -> Array:
    return value * 1.0 if np.asarray(value).dtype.kind == "b" else value


_SIGNS = {
    ">": np.greater, "<": np.less, "≥": np.greater_equal, "≤": np.less_equal, "=": np.equal, "≠": np.not_equal,
}  # fmt: skip
_ELEMENTWISE: dict[str, Callable[..., Array]] = {
    **{name: getattr(np, name) for name in ["exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cosh", "sign"]},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ["sin", "cos", "tan", "sinh", "cosh", "tanh"]},
    "atan2": np.arctan2,
    "Abs": np.abs,
    "absolute": np.abs,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "step": lambda x: (np.asarray(x) > 0) * 1.0,
    "softplus": lambda x: np.logaddexp(0, x),
    "larger": np.maximum,
    "smaller": np.minimum,
    "clamp": np.clip,
    "bounded": np.clip,
    "erf": np.vectorize(math.erf, otypes=[float]),
}
_MIXING: dict[str, Callable[..., Array]] = {
    "called": Evaluator.call,
    "picked": Evaluator.call,
    "pulled": Evaluator.pull,
    "placed": lambda on, written, *args: on.pull(written, sympy.Integer(0), *args),
    "compared": Evaluator.compare,
    "where": Evaluator.choose,
    "total": Evaluator.sum,
    "norm": Evaluator.norm,
    "transpose": Evaluator.swap,
    "softmax": Evaluator.soften,
    "log_softmax": lambda on, *args: np.log(on.soften(*args)),
    "onehot": lambda on, of, count: (np.asarray(on.of(of))[..., None] == np.arange(int(count))) * 1.0,
    "matmul": lambda on, left, right: np.matmul(_number(on.of(left)), _number(on.of(right))),
    "dot": lambda on, left, right: np.dot(_number(on.of(left)), _number(on.of(right))),
    "outer": lambda on, left, right: np.multiply.outer(_number(on.of(left)), _number(on.of(right))),
    "reshape": lambda on, inner, shape: np.reshape(on.of(inner), tuple(map(int, shape))),
    "ones": lambda on, shape: np.ones(tuple(map(int, shape))),
}


class Trial:
    """One formula on trial: what it has to give at a draw, and how it did."""

    def __init__(self, expr: Expr, expected: Callable[[Played], Array | None]) -> None:
        self.expr, self.expected = expr, expected
        self.met, self.failed = 0, False

    @property
    def passed(self) -> bool:
        """Return whether it gave the graph's numbers at as many draws as are needed, and others at none."""
        return self.met >= NEEDED and not self.failed

    def at(self, played: Played, evaluator: Evaluator) -> None:
        """Compare at one draw; where the graph's numbers are not finite nothing is known."""
        expected = self.expected(played)
        if expected is None or not np.all(np.isfinite(expected)):
            return
        try:
            found = np.broadcast_to(np.asarray(evaluator.of(self.expr), float), expected.shape)
        except _FAILED:
            self.failed = True
            return
        if played.turn < LATTICES:
            found = np.where(np.isfinite(found), found, expected)  # not defined there, which the formula shows
        room = 1e-8 * max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        self.failed |= not np.allclose(found, expected, rtol=1e-6, atol=room)
        self.met += played.turn >= LATTICES


def judge(trials: Iterable[Trial], play: Callable[[int], Played], evaluator: Callable[[Played], Evaluator]) -> None:
    """Try formulas at draws until each was right at two, or wrong at one."""
    waiting = list(trials)
    until = time.monotonic() + SECONDS
    with np.errstate(all="ignore"):
        for turn in range(TURNS):
            if turn >= LATTICES + NEEDED and (not waiting or time.monotonic() > until):
                break
            played = play(turn)
            own = evaluator(played)
            for trial in waiting:
                trial.at(played, own)
            if turn >= LATTICES:
                waiting = [trial for trial in waiting if not (trial.failed or trial.met >= NEEDED)]
