"""`cupy.fuse` of the stand-in: it runs the function, and refuses in it what CuPy cannot make a kernel of."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import bare, ndarray, refuse_host, wrapped

TAKEN = (ndarray, np.generic, int, float, complex, bool, type(None))
"""What a fused function may be given."""


class Variable:
    """What stands for an array or a number within a fused function."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, summed: bool = False) -> None:
        self.value, self.summed = value, summed

    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: self.value.ndim)

    @property
    def shape(self) -> Any:
        raise NotImplementedError("`shape` is not supported, currently.")

    def __bool__(self) -> bool:
        raise TypeError("Cannot convert to Python scalar in cupy.fuse")

    __int__ = __float__ = __complex__ = __bool__  # type: ignore[assignment]

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is not Ellipsis:
            raise ValueError("The fusion supports `[...]` or `[:]`.")
        self.value[...] = joined(value)[0]

    def astype(self, dtype: Any) -> Variable:
        return Variable(self.value.astype(dtype), self.summed)


def joined(*given: Any) -> list[Any]:
    """The values of variables that may stand beside each other: none is a sum where another is not."""
    variables = [x for x in given if isinstance(x, Variable)]
    if not variables or len({x.summed for x in variables}) > 1:
        raise TypeError("Shape mismatch")
    for x in given:
        if not isinstance(x, (Variable, int, float, complex, np.generic)):
            raise TypeError(f"Unsupported type {type(x)}")
    return [x.value if isinstance(x, Variable) else x for x in given]


def in_fusion(run: Callable[..., Any], *given: Any) -> Variable:
    """A function of elements, of variables."""
    return Variable(run(*joined(*given)), any(isinstance(x, Variable) and x.summed for x in given))


def _operator(name: str, run: Callable[..., Any]) -> None:
    setattr(Variable, f"__{name}__", lambda self, other: in_fusion(run, self, other))
    setattr(Variable, f"__r{name}__", lambda self, other: in_fusion(run, other, self))

    def change(self: Variable, other: Any) -> Variable:
        mine, others = joined(self, other)
        if not isinstance(mine, ndarray):
            raise TypeError("return arrays must be of ArrayType")
        mine[...] = run(mine, others)
        return self

    setattr(Variable, f"__i{name}__", change)


for _name in ("add", "sub", "mul", "truediv", "pow"):
    _operator(_name, getattr(operator, _name))


def _comparison(name: str, run: Callable[..., Any]) -> None:
    setattr(Variable, f"__{name}__", lambda self, other: in_fusion(run, self, other))


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _comparison(_name, getattr(operator, _name))
Variable.__neg__ = lambda self: in_fusion(operator.neg, self)  # type: ignore[attr-defined]


def sum_in_fusion(x: Variable, axis: Any = None) -> Variable:
    """The one sum that a fused function may have."""
    if x.summed:
        raise TypeError("a sum of a sum")
    return Variable(x.value.sum(axis), True)


class Fusion:
    """A fused function."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function, self.name = function, name

    def __call__(self, *args: Any) -> Any:
        for x in args:
            if not isinstance(x, TAKEN):
                raise TypeError(f"Invalid argument type for '{self.name}': ({type(x)})")
            refuse_host(x)
            if isinstance(x, ndarray) and x.dtype.name == "bfloat16":
                raise TypeError(f"{self.name}: no bfloat16 in a fused function")
        if not any(isinstance(x, ndarray) for x in args):
            return self._function(*args)
        found = self._function(*[None if x is None else Variable(x) for x in args])
        if not isinstance(found, (Variable, type(None))):
            raise TypeError(f"Fusion function can't return {type(found)}")
        # A kernel makes arrays row by row, whatever the order of those that it is given.
        return None if found is None else wrapped(np.ascontiguousarray(found.value._a).reshape(found.value.shape))


def fuse(*args: Any, kernel_name: str | None = None) -> Any:
    """A decorator, with or without a name for the kernel."""
    if args:
        return Fusion(args[0], args[0].__name__)
    return lambda function: Fusion(function, kernel_name or function.__name__)


def erf(x: Any) -> Any:
    """`cupyx.scipy.special.erf`."""
    if isinstance(x, Variable):
        return in_fusion(erf, x)
    dtype = np.result_type(x.dtype, np.float32) if x.dtype.kind == "f" else np.dtype(float)
    return wrapped(np.vectorize(math.erf, otypes=[float])(bare(x)).astype(dtype))
