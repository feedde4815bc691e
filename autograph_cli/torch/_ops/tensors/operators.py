"""The operators of Tensor: `+ - * / // % ** @`, their reflected and in-place forms, unary ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.arguments.operands import is_operand
from ..._core.arguments.overrides import NOBODY, asked_instead, looks
from ..._core.base.state import process_state
from ..._core.operations.registry import in_place_operator, methods
from ..._core.tape.tensor import Tensor
from ..._core.tape.wrapped_numbers import plain_number, wrap_number
from ..matrices import linear
from ..pointwise import arithmetic, unary as unary


def _guarded(run: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """An operator that leaves operands it does not know to the other side."""

    @looks
    def operator(self: Tensor, other: Any) -> Any:
        if process_state.asks and (result := asked_instead(operator, (self, other), {})) is not NOBODY:
            return result
        return run(self, plain_number(other)) if is_operand(other) else NotImplemented

    return operator


def _of_tensors(run: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """An operator that leaves everything else than tensors to the other side."""

    @looks
    def operator(self: Tensor, other: Any) -> Any:
        if process_state.asks and (result := asked_instead(operator, (self, other), {})) is not NOBODY:
            return result
        return run(self, other) if isinstance(other, Tensor) else NotImplemented

    return operator


def _reversed_division(self: Tensor, other: Any) -> Any:
    return unary.reciprocal(self) * other


def _operator(run: Any) -> Any:
    return run.op.operator


methods.update(
    {
        "__add__": _operator(arithmetic.add),
        "__radd__": _operator(arithmetic.add),
        "__sub__": _operator(arithmetic.sub),
        "__rsub__": _guarded(arithmetic.rsub),
        "__mul__": _operator(arithmetic.mul),
        "__rmul__": _operator(arithmetic.mul),
        "__truediv__": _operator(arithmetic.true_divide),
        "__rtruediv__": _reversed_division,
        "__floordiv__": _guarded(arithmetic.floor_divide),
        "__rfloordiv__": _guarded(lambda self, other: arithmetic.floor_divide(_tensor(other, self), self)),
        "__mod__": _guarded(arithmetic.remainder_),
        "__rmod__": _guarded(lambda self, other: arithmetic.remainder_(other, self)),
        "__pow__": _guarded(arithmetic.pow),
        "__rpow__": _guarded(lambda self, other: arithmetic.pow(other, self)),
        "__matmul__": _of_tensors(linear.matmul),
        "__rmatmul__": _of_tensors(lambda self, other: linear.matmul(other, self)),
        "__neg__": unary.neg,
        "__pos__": unary.positive,
        "__abs__": unary.abs,
    }
)

for _symbol, _name in {
    "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_",
    "__ipow__": "pow_",
}.items():
    methods[_symbol] = _guarded(methods[_name])
methods |= {
    f"__i{run.op.name}__": in_place_operator(run.op) for run in (arithmetic.add, arithmetic.sub, arithmetic.mul)
}


def _tensor(number: Any, like: Tensor) -> Tensor:
    return number if isinstance(number, Tensor) else wrap_number(number, like)
