"""Functions of one tensor, element by element."""

from __future__ import annotations

import cmath
import math
from typing import Any

from ..._arrays.lazy import bits_of
from ..._arrays.stand_in import whole
from ..._core.base.layout import contiguous_format, preserve_format
from ..._core.base.memory_format import second_first
from ..._core.operations.operation import operation, operations, right_first
from ..._core.operations.registry import composite, functions, in_place_variant, methods, overloaded, publish
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms.batching import elementwise
from ..._core.transforms.transforms import zero_where
from .arithmetic import no_derivative

neg = operation(
    "neg(Tensor self)",
    zero_to_zero=True,
    doc="The negative of each element. RuntimeError for booleans.",
    pointwise=True,
    linear=True,
    self=lambda f, grad: f.neg(grad),
)
abs = operation(
    "abs(Tensor self)",
    doc="The absolute value of each element; of a complex one its modulus, which is real.",
    float8="numbers",
    pointwise=True,
    refuses={"b": "abs_cpu"},
    complex_inplace=False,
    zero_to_zero=True,
    self=lambda f, grad, self: grad * f.sgn(self),
)
exp = operation(
    "exp(Tensor self)",
    doc="e to the power of each element.",
    floating=True,
    self=lambda f, grad, result: grad * f.conj(result),
)
exp2 = operation(
    "exp2(Tensor self)",
    doc="2 to the power of each element.",
    floating=True,
    self=lambda f, grad, result: f.mul_Scalar(grad * f.conj(result), math.log(2)),
)
expm1 = operation(
    "expm1(Tensor self)",
    zero_to_zero=True,
    doc="`exp(input) - 1`, without the loss of digits near 0.",
    floating=True,
    self=lambda f, grad, result: grad * f.add_Scalar(f.conj(result), 1),
)
log = operation(
    "log(Tensor self)",
    doc="The natural logarithm of each element: -inf at 0, nan below it.",
    floating=True,
    self=lambda f, grad, self: f.div(grad, f.conj(self)),
)
log2 = operation(
    "log2(Tensor self)",
    doc="The logarithm to base 2 of each element: -inf at 0, nan below it.",
    floating=True,
    self=lambda f, grad, self: f.div(grad, f.mul_Scalar(f.conj(self), 0.6931471805599453)),
)
log10 = operation(
    "log10(Tensor self)",
    doc="The logarithm to base 10 of each element: -inf at 0, nan below it.",
    floating=True,
    self=lambda f, grad, self: f.div(grad, f.mul_Scalar(f.conj(self), 2.3025850929940456)),
)
log1p = operation(
    "log1p(Tensor self)",
    doc="`log(1 + input)`, without the loss of digits near 0.",
    floating=True,
    node="Log1PBackward0",
    zero_to_zero=True,
    self=lambda f, grad, self: f.div(grad, f.conj(f.add_Scalar(self, 1))),
)
sqrt = operation(
    "sqrt(Tensor self)",
    zero_to_zero=True,
    doc="The square root of each element: nan below 0.",
    floating=True,
    self=lambda f, grad, result: f.div(grad, f.mul_Scalar(f.conj(result), 2)),
)
rsqrt = operation(
    "rsqrt(Tensor self)",
    doc="`1 / sqrt(input)`: infinite at 0, nan below it.",
    floating=True,
    self=lambda f, grad, result: right_first(f.conj(f.pow_Tensor_Scalar(result, 3)), f.mul_Scalar(grad, -0.5)),
)
reciprocal = operation(
    "reciprocal(Tensor self)",
    doc="`1 / input`.",
    floating=True,
    self=lambda f, grad, result: right_first(f.conj(result * result), f.neg(grad)),
)
sin = operation(
    "sin(Tensor self)",
    zero_to_zero=True,
    doc="The sine of each element, in radians.",
    floating=True,
    self=lambda f, grad, self: grad * f.conj(f.cos(self)),
)
cos = operation(
    "cos(Tensor self)",
    doc="The cosine of each element, in radians.",
    floating=True,
    self=lambda f, grad, self: grad * f.neg(f.conj(f.sin(self))),
)
tan = operation(
    "tan(Tensor self)",
    doc="The tangent of each element, in radians.",
    floating=True,
    zero_to_zero=True,
    self=lambda f, grad, result: grad * f.conj(f.add_Scalar(f.pow_Tensor_Scalar(result, 2), 1)),
)
asin = operation(
    "asin(Tensor self)",
    doc="The inverse sine of each element, in [-pi / 2, pi / 2]; nan outside of [-1, 1].",
    floating=True,
    zero_to_zero=True,
    self=lambda f, grad, self: grad * f.conj(f.rsqrt(f.add_Scalar(f.neg(self) * self, 1))),
)
acos = operation(
    "acos(Tensor self)",
    doc="The inverse cosine of each element, in [0, pi]; nan outside of [-1, 1].",
    floating=True,
    self=lambda f, grad, self: grad * f.neg(f.conj(f.rsqrt(f.add_Scalar(f.neg(self) * self, 1)))),
)
atan = operation(
    "atan(Tensor self)",
    doc="The inverse tangent of each element, in [-pi / 2, pi / 2].",
    floating=True,
    zero_to_zero=True,
    self=lambda f, grad, self: f.div(grad, f.conj(f.add_Scalar(self * self, 1))),
)
sinh = operation(
    "sinh(Tensor self)",
    zero_to_zero=True,
    doc="The hyperbolic sine of each element.",
    floating=True,
    self=lambda f, grad, self: grad * f.conj(f.cosh(self)),
)
cosh = operation(
    "cosh(Tensor self)",
    doc="The hyperbolic cosine of each element.",
    floating=True,
    self=lambda f, grad, self: grad * f.conj(f.sinh(self)),
)
asinh = operation(
    "asinh(Tensor self)",
    doc="The inverse hyperbolic sine of each element.",
    floating=True,
    zero_to_zero=True,
    self=lambda f, grad, self: grad * f.conj(f.rsqrt(f.add_Scalar(f.pow_Tensor_Scalar(self, 2), 1))),
)
acosh = operation(
    "acosh(Tensor self)",
    doc="The inverse hyperbolic cosine of each element; nan below 1.",
    floating=True,
    self=lambda f, grad, self: (
        grad
        * f.conj(
            # Of one root the branch would be that of the left half plane's mirror image.
            f.rsqrt(f.add_Scalar(self, 1)) * f.rsqrt(f.sub_Scalar(self, 1))
            if f.is_complex(self)
            else f.rsqrt(f.sub_Scalar(self * self, 1))
        )
    ),
)
atanh = operation(
    "atanh(Tensor self)",
    doc="The inverse hyperbolic tangent of each element; infinite at -1 and 1, nan outside.",
    floating=True,
    zero_to_zero=True,
    self=lambda f, grad, self: f.div(
        f.mul_Scalar(grad, 1), f.conj(f.sub(f.full_like_number(self, 1), f.pow_Tensor_Scalar(self, 2)))
    ),
)
atan2 = operation(
    "atan2(Tensor self, Tensor other)",
    doc=("The angle of the point (x, y) = (`other`, `input`), in [-pi, pi]: the signs of both choose the quadrant."),
    promotes=True,
    strict=True,
    floating=True,
    vmap_inplace="broadcast",
    tangent=lambda f, self_t, other_t, self, other, absent: _atan2_tangent(f, self_t, other_t, self, other, absent),
    joint={("self", "other"): lambda f, grad, self, other: _atan2_gradients(f, grad, self, other)},
)
tanh = operation(
    "tanh(Tensor self)",
    zero_to_zero=True,
    doc="The hyperbolic tangent of each element.",
    floating=True,
    self=lambda f, grad, result: f.tanh_backward(grad, result),
)
tanh_backward = operation(
    "tanh_backward(Tensor grad_output, Tensor output)",
    pointwise=True,
    saves_all=True,
    grad_output=lambda f, grad, output: f.tanh_backward(grad, f.conj(output)),
    output=lambda f, grad, grad_output, output: f.conj(grad) * (f.mul_Scalar(f.conj(output), -2) * grad_output),
)
sigmoid = operation(
    "sigmoid(Tensor self)",
    doc="`1 / (1 + exp(-input))`.",
    floating=True,
    opmath=True,
    self=lambda f, grad, result: f.sigmoid_backward(grad, result),
)
sigmoid_backward = operation(
    "sigmoid_backward(Tensor grad_output, Tensor output)",
    pointwise=True,
    saves_all=True,
    grad_output=lambda f, grad, output: f.sigmoid_backward(grad, f.conj(output)),
    output=lambda f, grad, grad_output, output: (
        f.conj(grad) * grad_output * f.add_Scalar(f.mul_Scalar(f.conj(output), -2), 1)
    ),
)
relu = operation(
    "relu(Tensor self)",
    zero_to_zero=True,
    refuses={"b": RuntimeError("Boolean inputs not supported for relu")},
    doc="The element where it is positive, 0 elsewhere; the gradient at 0 is 0.",
    pointwise=True,
    self=lambda f, result, grad: f.threshold_backward(grad, result, 0),
)
threshold_backward = operation(
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold)",
    pointwise=True,
    memory_format=second_first,
    saves_all=True,
    grad_output=lambda f, self, grad, threshold: f.threshold_backward(grad, self, threshold),
    self=lambda f, grad: f.zeros_like(grad),
)
floor = operation(
    "floor(Tensor self)",
    doc="The largest integer that is not above each element, in its dtype. The gradient is zero.",
    pointwise=True,
    refuses={"b": "floor_vml_cpu", "c": NotImplementedError("floor is not supported for complex inputs")},
    zero_to_zero=True,
    self=lambda f, grad: f.zeros_like(grad),
)
ceil = operation(
    "ceil(Tensor self)",
    doc="The smallest integer that is not below each element, in its dtype. The gradient is zero.",
    pointwise=True,
    refuses={"b": "ceil_vml_cpu", "c": NotImplementedError("ceil is not supported for complex inputs")},
    zero_to_zero=True,
    self=lambda f, grad: f.zeros_like(grad),
)
trunc = operation(
    "trunc(Tensor self)",
    doc="The integer part of each element, in its dtype. The gradient is zero.",
    pointwise=True,
    refuses={"b": "trunc_vml_cpu", "c": NotImplementedError("trunc is not supported for complex inputs")},
    zero_to_zero=True,
    self=lambda f, grad: f.zeros_like(grad),
)
round_op = operation("round(Tensor self)", pointwise=True, zero_to_zero=True, self=lambda f, grad: f.zeros_like(grad))
round_decimals = operation(
    "round.decimals(Tensor self, *, int decimals)",
    node="RoundBackward1",
    pointwise=True,
    refuses={"biuc": "round_cpu"},
    zero_to_zero=True,
    self=lambda f, grad: f.zeros_like(grad),
)
frac = operation(
    "frac(Tensor self)",
    doc="The fractional part of each element, with its sign: `input - trunc(input)`.",
    pointwise=True,
    refuses={"biuc": "frac_cpu"},
    self=lambda f, grad: grad,
)
sign = operation(
    "sign(Tensor self)",
    doc=(
        "-1, 0 or 1 as each element is negative, zero or positive. The gradient is zero. RuntimeError for "
        "complex tensors."
    ),
    pointwise=True,
    refuses={
        "c": NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    },
    zero_to_zero=True,
    self=lambda f, grad: f.zeros_like(grad),
)
sgn = operation(
    "sgn(Tensor self)",
    zero_to_zero=True,
    doc="The direction of each element: its sign, or `input / abs(input)` of a complex one; 0 at 0.",
    pointwise=True,
    self=lambda f, grad, self, result: sgn_gradient(f, grad, self, result),
)
clone = operation("clone(Tensor self)", float8=True, pointwise=True, linear=True, self=lambda f, grad: grad)


_conj = operation(
    "_conj(Tensor self)",
    node="ConjBackward0",
    view=True,
    rereads=True,
    pointwise=True,
    self=lambda f, grad: f._conj(grad),
)
_neg_view = operation(
    "_neg_view(Tensor self)",
    view=True,
    rereads=True,
    pointwise=True,
    self=lambda f, grad: f.neg(grad),
)

publish(
    abs,
    exp,
    exp2,
    expm1,
    log,
    log2,
    log10,
    log1p,
    sqrt,
    rsqrt,
    reciprocal,
    sin,
    cos,
    tan,
    sinh,
    cosh,
    tanh,
    sigmoid,
    relu,
    floor,
    ceil,
    frac,
    inplace=True,
)
publish(_conj, _neg_view)
publish(sgn, inplace=True)
publish(sign, inplace=True)
publish(neg, inplace=True, aliases=("negative",))
publish(trunc, inplace=True, aliases=("fix",))
publish(abs, inplace=True, aliases=("absolute",))
publish(asin, inplace=True, aliases=("arcsin",))
publish(acos, inplace=True, aliases=("arccos",))
publish(atan, inplace=True, aliases=("arctan",))
for _inverse in (asinh, acosh, atanh):
    # In place these have nodes of their own, and all that is equal otherwise.
    _name = _inverse.op.name
    _changing = operation(
        f"{_name}_(Tensor self)",
        _name,
        floating=True,
        node=f"{_name.capitalize()}Backward1",
        self=no_derivative(f"inplace version of {_name}", NotImplementedError),
    )
    publish(_inverse, aliases=(f"arc{_name[1:]}",))
    for _alias in (f"{_name}_", f"arc{_name[1:]}_"):
        methods[_alias] = functions[_alias] = in_place_variant(_changing.op)
publish(atan2, inplace=True, aliases=("arctan2",))


def sgn_gradient(f: Any, grad: Any, self: Any, result: Any) -> Any:
    """0 for a real sign; for x / |x| what is left of the gradient across the direction of x."""
    if not f.is_complex(self):
        return f.zeros_like(grad)
    size = f.abs(self)
    across = f.div(f.sub(grad, result * result * f.conj(grad)), f.mul_Scalar(size, 2))
    return f.masked_fill_Scalar(across, f.eq(size, f.zeros_like(size)), 0)


def _atan2_gradients(f: Any, grad: Any, self: Any, other: Any) -> Any:
    square = other * other
    squares = self * self + square
    scale = f.masked_fill_Scalar(f.reciprocal(squares), f.eq(squares, f.zeros_like(squares)), 0)
    return grad * other * scale, grad * f.neg(self) * scale


def _atan2_tangent(f: Any, self_t: Any, other_t: Any, self: Any, other: Any, absent: Any) -> Any:
    square = f.pow_Tensor_Scalar(other, 2)  # C++ begins at the right
    squares = f.pow_Tensor_Scalar(self, 2) + square
    of_self = zero_where("self" in absent, other * self_t)
    return f.div(zero_where("other" in absent, f.neg(self) * other_t) + of_self, squares)


@composite(formula=True)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate: a view that conjugates what is read. A real tensor is returned as it is."""
    return _conj(input) if input._ag_raw.dtype.kind == "c" else input


def is_conj(input: Tensor) -> bool:
    """Return whether the elements are conjugated when they are read."""
    return bits_of(whole(input._ag_raw))[0]


def is_neg(input: Tensor) -> bool:
    """Return whether the elements are negated when they are read."""
    return bits_of(whole(input._ag_raw))[1]


@composite(formula=True)
def resolve_conj(input: Tensor) -> Tensor:
    """A copy with the conjugated elements in memory; the tensor itself where they are."""
    return clone(input) if is_conj(input) else input


@composite()
def resolve_neg(input: Tensor) -> Tensor:
    """A copy with the negated elements in memory; the tensor itself where they are."""
    return clone(input) if is_neg(input) else input


@composite()
def clone_(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy; its elements keep their order in memory unless a format is named."""
    if memory_format in (None, preserve_format) or (
        memory_format is contiguous_format and input._ag_raw.flags.c_contiguous
    ):
        return clone(input)
    result: Tensor = operations.clone_format(input, memory_format)
    return result


@composite()
def positive(input: Tensor) -> Tensor:
    """The tensor itself. RuntimeError for booleans."""
    if input._ag_raw.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@overloaded()
def round(input: Tensor, *, decimals: int | None = None) -> Any:
    """The nearest integer to each element, halves to the even one; with `decimals`, the nearest multiple of 10 **
    -decimals.

    The dtype stays. The gradient is zero.
    """
    if input._ag_raw.dtype.kind == "c":
        raise NotImplementedError("round is not supported for complex inputs")
    if input._ag_raw.dtype.kind == "b":
        raise NotImplementedError("\"round_vml_cpu\" not implemented for 'Bool'")
    if decimals is None and input._ag_raw.dtype.kind in "iu":
        return clone, input
    return (round_op, input) if decimals is None else (round_with, input, decimals)


def round_with(input: Tensor, decimals: int) -> Tensor:
    return round_decimals(input, decimals=decimals)


vars(round_with)["op"] = round_decimals.op


def zero_beside(grad: Tensor) -> Tensor:
    """A 0-d zero of the dtype of `grad`."""
    return make(grad._ag_raw.dtype.type(0))


def conj_number(number: Any) -> Any:
    return number.conjugate() if isinstance(number, complex) else number


def log_of_number(number: Any, beside: Tensor) -> Any:
    """The logarithm of a Python number as a Python number, complex beside a complex tensor; 0 has -inf."""
    if number and (isinstance(number, complex) or beside._ag_raw.dtype.kind == "c"):
        return cmath.log(number)
    return math.log(number) if number > 0 else (-math.inf if number == 0 else math.nan)


def zero_raised(base: Any, exponent: Tensor) -> Tensor:
    """Return where 0 is raised to what is no less than 0: there x**y * log x has the limit 0."""
    given = base._ag_raw if isinstance(base, Tensor) else base
    return make(kernels(exponent._ag_raw).zero_raised(given, exponent._ag_raw))


def full_like_number(x: Tensor, number: Any) -> Tensor:
    """A number as a 0-d tensor of the dtype of `x`."""
    return make(x._ag_raw.dtype.type(number))


for _helper in (
    zero_beside,
    conj_number,
    log_of_number,
    elementwise(zero_raised),
    full_like_number,
):
    setattr(operations, _helper.__name__, _helper)
