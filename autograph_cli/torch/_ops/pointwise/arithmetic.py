"""Arithmetic of two tensors, and of a tensor and a number."""

from __future__ import annotations

from typing import Any

from ..._core.operations.operation import operation, right_first
from ..._core.operations.registry import composite, overloaded, publish
from ..._core.tape.tensor import Tensor
from ..._core.tape.wrapped_numbers import wrap_number
from ..._core.transforms.transforms import zero_where
from ..._kernels.elementwise.pointwise import check_addcdiv


def check_sub(a: Any, b: Any) -> None:
    """Raise PyTorch's error where one of two is boolean and the other is not: raw arrays, or an array and a number."""
    if _is_boolean(a) != _is_boolean(b):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


def _is_boolean(x: Any) -> bool:
    return isinstance(x, bool) or (hasattr(x, "dtype") and x.dtype.kind == "b")


def scaled(f: Any, grad: Any, alpha: Any) -> Any:
    """The gradient behind a factor `alpha`: `grad * alpha` (conjugate), or `grad` itself where alpha is 1."""
    return grad if alpha == 1 else f.mul_Scalar(grad, f.conj_number(alpha))


def no_derivative(name: str, kind: type[Exception] = RuntimeError) -> Any:
    """The formula of an operation that PyTorch records but cannot differentiate; NotImplementedError where its table of
    derivatives says so."""
    text = f"derivative for aten::{name} is not implemented"
    if kind is NotImplementedError:
        text = f"the derivative for '{name}' is not implemented."

    def refuse(f: Any, grad: Any) -> Any:
        raise kind(text)

    return refuse


add = operation(
    "add(Tensor self, Tensor other, *, Scalar alpha=1)",
    doc="`input + alpha * other`.",
    promotes=True,
    opmath="numbers too",
    number_first=True,
    sign="+",
    symmetric=True,
    linear=True,
    vmap_inplace="broadcast",
    self=lambda f, grad: grad,
    other=lambda f, grad, alpha: scaled(f, grad, alpha),
)
sub = operation(
    "sub(Tensor self, Tensor other, *, Scalar alpha=1)",
    doc="`input - alpha * other`. RuntimeError for booleans.",
    promotes=True,
    opmath="numbers too",
    number_first=True,
    linear=True,
    vmap_inplace="inplace arithmetic",
    check=check_sub,
    self=lambda f, grad: grad,
    other=lambda f, grad, alpha: scaled(f, f.neg(grad), alpha),
)
mul = operation(
    "mul(Tensor self, Tensor other)",
    doc="`input * other`.",
    float8="numbers",
    promotes=True,
    opmath="exact numbers",
    number_first=True,
    sign="*",
    symmetric=True,
    linear="each",
    vmap_inplace="inplace arithmetic",
    commutes=True,
    self=lambda f, grad, other: grad * f.conj(other),
    other=lambda f, grad, self: grad * f.conj(self),
)
true_divide = operation(
    "div(Tensor self, Tensor other)",
    doc="`input / other`.",
    promotes="floating",
    opmath="exact numbers",
    number_first=True,
    tangent=lambda f, self_t, other_t, other, result, absent: f.div(
        f.sub(self_t, zero_where("other" in absent, other_t * result)), other
    ),
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad, other: f.div(grad, f.conj(other)),
    other=lambda f, grad, self, other: right_first(f.conj(f.div(f.div(self, other), other)), f.neg(grad)),
)
div_mode = operation(
    "div.Tensor_mode(Tensor self, Tensor other, *, str rounding_mode)",
    promotes=True,
    number_first=True,
    node="DivBackward2",
    saved={"rounding_mode": "rounding_mode"},
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad: f.zeros_like(grad),
    other=lambda f, grad, self, other: f.zeros_like(f.mul(grad, other)),
)
pow_tensor = operation(
    "pow(Tensor self, Tensor exponent)",
    promotes=True,
    node="PowBackward1",
    refuses={"b": "pow"},
    self=lambda f, grad, self, exponent: f.where(
        f.eq(exponent, f.zeros_like(exponent)),
        f.full_like_number(grad, 0),
        grad * f.conj(exponent * f.pow(self, f.sub_Scalar(exponent, 1))),
    ),
    exponent=lambda f, grad, self, exponent, result: (
        grad
        * f.where(
            f.zero_raised(self, exponent), f.zero_beside(result), f.conj(result * f.log(f.cast_like(self, result)))
        )
    ),
)
pow_scalar = operation(
    "pow.Tensor_Scalar(Tensor self, Scalar exponent)",
    pointwise=True,
    self=lambda f, grad, self, exponent: (
        f.zeros_like(grad)
        if exponent == 0
        else grad * f.conj(f.mul_Scalar(f.pow_Tensor_Scalar(self, exponent * 1.0 - 1), exponent * 1.0))
    ),
)
scalar_pow = operation(
    "pow.Scalar(Scalar self, Tensor exponent)",
    node="PowBackward2",
    pointwise=True,
    memory_format="contiguous",
    exponent=lambda f, grad, self, exponent, result: (
        grad
        * (
            f.conj(f.mul_Scalar(result, f.log_of_number(self, exponent)))
            if self != 0
            else f.where(
                f.zero_raised(self, exponent),
                f.zero_beside(result),
                f.conj(f.mul_Scalar(result, f.log_of_number(self, exponent))),
            )
        )
    ),
)

# With numbers: what PyTorch's own formulas record when they multiply or add a number.
mul_scalar = operation(
    "mul.Scalar(Tensor self, Scalar other)",
    node="MulBackward1",
    pointwise=True,
    linear=True,
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad, other: f.mul_Scalar(grad, f.conj_number(other)),
)
div_scalar = operation(
    "div.Scalar(Tensor self, Scalar other)",
    node="DivBackward1",
    pointwise=True,
    linear=True,
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad, other: f.div_Scalar(grad, f.conj_number(other)),
)
add_scalar = operation(
    "add.Scalar(Tensor self, Scalar other, Scalar alpha=1)",
    node="AddBackward1",
    pointwise=True,
    vmap_inplace="broadcast",
    self=lambda f, grad: grad,
)
sub_scalar = operation(
    "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1)",
    node="SubBackward1",
    pointwise=True,
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad: grad,
)
rsub_scalar = operation(
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1)",
    node="RsubBackward1",
    pointwise=True,
    self=lambda f, grad, alpha: scaled(f, f.neg(grad), alpha),
)
rsub_tensor = operation(
    "rsub(Tensor self, Tensor other, *, Scalar alpha=1)",
    promotes=True,
    linear=True,
    check=check_sub,
    self=lambda f, grad, alpha: scaled(f, f.neg(grad), alpha),
    other=lambda f, grad: grad,
)
remainder = operation(
    "remainder(Tensor self, Tensor other)",
    promotes=True,
    node="RemainderBackward1",
    self=lambda f, grad: grad,
    other=lambda f, grad, self, other: right_first(f.div_Tensor_mode(self, other, rounding_mode="floor"), f.neg(grad)),
)
remainder_of_scalar = operation(
    "remainder.Scalar_Tensor(Tensor self, Tensor other)",
    "remainder",
    promotes=True,
    has_derivative=False,
    other=no_derivative("remainder"),
)
remainder_scalar = operation(
    "remainder.Scalar(Tensor self, Scalar other)", node="RemainderBackward0", pointwise=True, self=lambda f, grad: grad
)
fmod = operation(
    "fmod(Tensor self, Tensor other)",
    promotes=True,
    node="FmodBackward1",
    self=lambda f, grad: grad,
    other=lambda f, grad, self, other: right_first(f.div_Tensor_mode(self, other, rounding_mode="trunc"), f.neg(grad)),
)
fmod_scalar = operation(
    "fmod.Scalar(Tensor self, Scalar other)", node="FmodBackward0", pointwise=True, self=lambda f, grad: grad
)
floor_divide_tensor = operation(
    "floor_divide(Tensor self, Tensor other)",
    promotes=True,
    has_derivative=False,
    self=no_derivative("floor_divide"),
    other=no_derivative("floor_divide"),
)
floor_divide_scalar = operation(
    "floor_divide.Scalar(Tensor self, Scalar other)",
    has_derivative=False,
    pointwise=True,
    self=no_derivative("floor_divide"),
)


def _of_extreme(f: Any, grad: Any, same: Any, lost: Any) -> Any:
    """The gradient of the larger or smaller one of each pair, of which equal ones have half."""
    return f.masked_fill_Scalar(f.where(same, f.div_Scalar(grad, 2), grad), lost, 0)


maximum = operation(
    "maximum(Tensor self, Tensor other)",
    doc="The larger element of each pair, nan where one of them is; equal ones share the gradient.",
    promotes=True,
    strict=True,
    symmetric=True,
    refuses={"c": RuntimeError("maximum not implemented for complex tensors.")},
    self=lambda f, self, other, grad: _of_extreme(f, grad, f.eq(self, other), f.lt(self, other)),
    other=lambda f, self, other, grad: _of_extreme(f, grad, f.eq(self, other), f.gt(self, other)),
)
minimum = operation(
    "minimum(Tensor self, Tensor other)",
    doc="The smaller element of each pair, nan where one of them is; equal ones share the gradient.",
    promotes=True,
    strict=True,
    symmetric=True,
    refuses={"c": RuntimeError("minimum not implemented for complex tensors.")},
    self=lambda f, self, other, grad: _of_extreme(f, grad, f.eq(self, other), f.gt(self, other)),
    other=lambda f, self, other, grad: _of_extreme(f, grad, f.eq(self, other), f.lt(self, other)),
)


def _of_product(
    f: Any, self_t: Any, tensor1_t: Any, tensor2_t: Any, tensor1: Any, tensor2: Any, value: Any, absent: Any
) -> Any:
    second = scaled(f, zero_where("tensor2" in absent, tensor2_t * tensor1), value)  # C++ begins at the right
    first = scaled(f, zero_where("tensor1" in absent, tensor1_t * tensor2), value)
    return f.add(f.add(self_t, first), second)


def _of_quotient(
    f: Any, self_t: Any, tensor1_t: Any, tensor2_t: Any, tensor1: Any, tensor2: Any, value: Any, absent: Any
) -> Any:
    change = f.div(tensor2_t * f.div(tensor1, tensor2), tensor2)
    second = scaled(f, zero_where("tensor2" in absent, change), value)
    first = scaled(f, zero_where("tensor1" in absent, f.div(tensor1_t, tensor2)), value)
    return f.sub(f.add(self_t, first), second)


addcmul = operation(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)",
    refuses={"b": "addcmul_cpu_out"},
    doc="`input + value * tensor1 * tensor2`.",
    promotes=True,
    opmath=True,
    tangent=_of_product,
    self=lambda f, grad: grad,
    tensor1=lambda f, grad, tensor2, value: grad * f.conj(f.mul_Scalar(tensor2, value)),
    tensor2=lambda f, grad, tensor1, value: grad * f.conj(f.mul_Scalar(tensor1, value)),
)


def _divided_by(f: Any, grad: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    squared = f.mul(tensor2, tensor2)
    return right_first(f.conj(f.div(f.mul_Scalar(tensor1, value), squared)), f.neg(grad))


addcdiv = operation(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)",
    doc=("`input + value * tensor1 / tensor2`.\n\nRuntimeError for integers, whose quotient would not be one."),
    promotes=True,
    opmath=True,
    check=lambda a, x, y: check_addcdiv(x, y),
    tangent=_of_quotient,
    self=lambda f, grad: grad,
    tensor1=lambda f, grad, tensor2, value: grad * f.conj(f.div(f.full_like_number(tensor2, value), tensor2)),
    tensor2=_divided_by,
)

publish(mul, inplace=True, aliases=("multiply",))
publish(maximum, minimum)
publish(addcmul, addcdiv, inplace=True)
publish(add, inplace=True)
publish(sub, inplace=True, aliases=("subtract",))


@composite(function=True, method=False)
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Any:
    """`other - alpha * input`. RuntimeError for booleans."""
    if isinstance(other, (Tensor, bool)):
        return rsub_tensor(input, other, alpha=alpha)
    check_sub(input._ag_raw, other)
    return rsub_scalar(input, other, alpha)


@overloaded(aliases=("divide",))
def div(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Any:
    """`input / other`, rounded towards zero (`rounding_mode="trunc"`) or down (`"floor"`).

    Arguments are broadcast and cast to a common dtype; without rounding, integers become the default dtype. A
    rounded quotient
    has a gradient of zero. RuntimeError for another mode, or for integers divided by zero with one.
    """
    if rounding_mode is None:
        return true_divide, input, other
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return _div_mode, input, other, rounding_mode


def _div_mode(input: Tensor, other: Any, rounding_mode: str) -> Any:
    return div_mode(input, other, rounding_mode=rounding_mode)


vars(_div_mode)["op"] = div_mode.op


@overloaded()
def true_divide_(input: Tensor, other: Any) -> Any:
    """`input / other`: `div` without rounding."""
    return true_divide, input, other


@overloaded()
def floor_divide(input: Any, other: Any) -> Any:
    """`input / other` rounded down. It has no derivative.

    Arguments are broadcast and cast to a common dtype. RuntimeError for integers divided by zero.
    """
    if not isinstance(input, Tensor):
        return floor_divide_tensor, wrap_number(input, other), other
    return (floor_divide_tensor if isinstance(other, Tensor) else floor_divide_scalar), input, other


@overloaded()
def pow(input: Any, exponent: Any) -> Any:
    """`input ** exponent`; one of both may be a number.

    Arguments are broadcast and cast to a common dtype. RuntimeError for integers to a negative integer power.
    """
    if not isinstance(input, Tensor):
        return scalar_pow, input, exponent
    return (pow_tensor if isinstance(exponent, Tensor) else pow_scalar), input, exponent


@overloaded()
def remainder_(input: Any, other: Any) -> Any:
    """Return what is left of `input` after division by `other`, with the sign of `other`, as `%` in Python.

    Arguments are broadcast and cast to a common dtype. RuntimeError for integers divided by zero.
    """
    if not isinstance(input, Tensor):
        return remainder_of_scalar, wrap_number(input, other), other
    return (remainder if isinstance(other, Tensor) else remainder_scalar), input, other


@overloaded()
def fmod_(input: Tensor, other: Any) -> Any:
    """Return what is left of `input` after division by `other`, with the sign of `input`, as `fmod` in C.

    Arguments are broadcast and cast to a common dtype. RuntimeError for integers divided by zero.
    """
    return (fmod if isinstance(other, Tensor) else fmod_scalar), input, other


@overloaded()
def square(input: Tensor) -> Any:
    """`input ** 2`."""
    return pow_scalar, input, 2
