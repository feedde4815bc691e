"""Functions of two or more tensors, element by element, beyond arithmetic."""

from __future__ import annotations

import math
from typing import Any

from ..._core.base import dtypes
from ..._core.operations.operation import operation
from ..._core.operations.registry import composite, overloaded, publish
from ..._core.running.inplace import run_inplace
from ..._core.tape.tensor import Tensor
from ..._core.transforms.transforms import zero_where
from ..tensors.results import named_result
from . import arithmetic

copysign_tensor = operation(
    "copysign.Tensor(Tensor self, Tensor other)",
    promotes=True,
    node="CopysignBackward0",
    vmap_inplace="broadcast",
    self=lambda f, grad, self, result: (
        grad * f.masked_fill_Scalar(f.div(result, self), f.eq(self, f.zeros_like(self)), 0)
    ),
    other=lambda f, grad: f.zeros_like(grad),
)
copysign_scalar = operation(
    "copysign.Scalar(Tensor self, Scalar other)",
    node="CopysignBackward1",
    pointwise=True,
    vmap_inplace="broadcast",
    self=lambda f, grad, self, result: (
        grad * f.masked_fill_Scalar(f.div(result, self), f.eq(self, f.zeros_like(self)), 0)
    ),
)
fmax = operation(
    "fmax(Tensor self, Tensor other)",
    doc=("The larger element of each pair; where one is nan, the other. Of equal ones `input` gets the gradient."),
    promotes=True,
    strict=True,
    refuses={"c": RuntimeError("fmax not implemented for complex tensors.")},
    self=lambda f, grad, self, other: f.masked_fill_Scalar(
        grad, f.logical_not(f.logical_or(f.ge(self, other), f.isnan(other))), 0
    ),
    other=lambda f, grad, self, other: f.masked_fill_Scalar(grad, f.logical_or(f.ge(self, other), f.isnan(other)), 0),
)
fmin = operation(
    "fmin(Tensor self, Tensor other)",
    doc=("The smaller element of each pair; where one is nan, the other. Of equal ones `input` gets the gradient."),
    promotes=True,
    strict=True,
    refuses={"c": RuntimeError("fmin not implemented for complex tensors.")},
    self=lambda f, grad, self, other: f.masked_fill_Scalar(
        grad, f.logical_not(f.logical_or(f.le(self, other), f.isnan(other))), 0
    ),
    other=lambda f, grad, self, other: f.masked_fill_Scalar(grad, f.logical_or(f.le(self, other), f.isnan(other)), 0),
)


def _of_hypotenuse(f: Any, self_t: Any, other_t: Any, self: Any, other: Any, result: Any, absent: Any) -> Any:
    second = zero_where("other" in absent, f.div(other_t * other, result))  # C++ begins at the right
    return zero_where("self" in absent, f.div(self_t * self, result)) + second


hypot = operation(
    "hypot(Tensor self, Tensor other)",
    refuses={"biu": "hypot_cpu"},
    doc="`sqrt(input ** 2 + other ** 2)`.",
    promotes=True,
    strict=True,
    tangent=lambda f, self_t, other_t, self, other, result, absent: _of_hypotenuse(
        f, self_t, other_t, self, other, result, absent
    ),
    self=lambda f, grad, self, result: f.div(grad * self, result),
    other=lambda f, grad, other, result: f.div(grad * other, result),
)


logaddexp = operation(
    "logaddexp(Tensor self, Tensor other)",
    refuses={"biu": "logaddexp_cpu"},
    doc="`log(exp(input) + exp(other))`, computed from the larger one so that nothing overflows.",
    promotes=True,
    strict=True,
    self=lambda f, grad, self, other: f.div(grad, f.conj(f.add_Scalar(f.exp(f.sub(other, self)), 1))),
    other=lambda f, grad, self, other: f.div(grad, f.conj(f.add_Scalar(f.exp(f.sub(self, other)), 1))),
)
logaddexp2 = operation(
    "logaddexp2(Tensor self, Tensor other)",
    refuses={"biu": "logaddexp2_cpu"},
    doc="`log2(2 ** input + 2 ** other)`, computed from the larger one so that nothing overflows.",
    promotes=True,
    strict=True,
    self=lambda f, grad, self, other: f.div(grad, f.add_Scalar(f.pow_Scalar(2, f.sub(other, self)), 1)),
    other=lambda f, grad, self, other: f.div(grad, f.add_Scalar(f.pow_Scalar(2, f.sub(self, other)), 1)),
)
nextafter = operation(
    "nextafter(Tensor self, Tensor other)",
    refuses={"biu": "nextafter_cpu"},
    doc="The floating point number that follows each element in the direction of `other`.",
    promotes=True,
    strict=True,
    self=lambda f, grad, self, other: f.where(f.ne(self, other), grad, f.zero_beside(grad)),
    other=lambda f, grad, other: f.zeros_like(other),
)
gcd = operation(
    "gcd(Tensor self, Tensor other)",
    doc="The greatest common divisor of each pair of integers, not negative; `gcd(0, 0)` is 0.",
    promotes=True,
    strict=True,
)
lcm = operation(
    "lcm(Tensor self, Tensor other)",
    doc="The least common multiple of each pair of integers, not negative.",
    promotes=True,
    strict=True,
)
heaviside_op = operation(
    "heaviside(Tensor self, Tensor values)",
    has_derivative=False,
    pointwise=True,
    self=arithmetic.no_derivative("heaviside"),
    values=arithmetic.no_derivative("heaviside"),
)
ldexp = operation(
    "ldexp.Tensor(Tensor self, Tensor other)",
    node="LdexpBackward0",
    pointwise=True,
    self=lambda f, grad, other: grad * f.conj(f.pow_Scalar(2, other)),
    other=lambda f, grad, result: f.mul_Scalar(grad * f.conj(result), math.log(2)),
)
lerp_scalar = operation(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight)",
    refuses={"biu": "lerp_kernel_scalar"},
    node="LerpBackward0",
    pointwise=True,
    self=lambda f, grad, weight: grad if weight == 0 else f.mul_Scalar(grad, 1 - f.conj_number(weight)),
    end=lambda f, grad, weight: f.mul_Scalar(grad, f.conj_number(weight)),
)
lerp_tensor = operation(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight)",
    refuses={"biu": "lerp_kernel_tensor"},
    node="LerpBackward1",
    promotes=True,
    strict=True,
    self=lambda f, grad, weight: grad * f.conj(f.sub(f.full_like_number(weight, 1), weight)),
    end=lambda f, grad, weight: grad * f.conj(weight),
    weight=lambda f, grad, self, end: grad * f.conj(f.sub(end, self)),
)


def _between(f: Any, x: Any, low: Any, high: Any) -> Any:
    if low is None:
        return f.le(x, high)
    return f.ge(x, low) if high is None else f.logical_and(f.ge(x, low), f.le(x, high))


def _kept(f: Any, mask: Any, grad: Any) -> Any:
    return f.where(mask, grad, f.zero_beside(grad))


def _bounds_gradients(f: Any, grad: Any, x: Any, low: Any, high: Any, mask: Any) -> tuple[Any, Any]:
    """Return what was cut off at a bound goes to the bound; to the upper one where the bounds cross."""
    if low is None or high is None:
        at_low = None if low is None else _kept(f, f.lt(x, low), grad)
        return at_low, None if high is None else _kept(f, f.gt(x, high), grad)
    first = _kept(f, f.logical_and(f.lt(x, low), f.lt(low, high)), grad) if mask[0] else None
    return first, _kept(f, f.logical_or(f.gt(x, high), f.lt(high, low)), grad) if mask[1] else None


clamp_tensor = operation(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None)",
    refuses={"c": NotImplementedError("clamp is not supported for complex types")},
    promotes=True,
    node="ClampBackward0",
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad, self, min, max: _kept(f, _between(f, self, min, max), grad),
    joint={("min", "max"): lambda f, grad, self, min, max, mask: _bounds_gradients(f, grad, self, min, max, mask)},
)
clamp_min_tensor = operation(
    "clamp_min.Tensor(Tensor self, Tensor min)",
    lambda f, a, min: f.clamp_Tensor(a, min, None),
    refuses={"c": NotImplementedError("clamp is not supported for complex types")},
    promotes=True,
    node="ClampMinBackward1",
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad, self, min: _kept(f, f.ge(self, min), grad),
    min=lambda f, grad, self, min: _kept(f, f.lt(self, min), grad),
)
clamp_max_tensor = operation(
    "clamp_max.Tensor(Tensor self, Tensor max)",
    lambda f, a, max: f.clamp_Tensor(a, None, max),
    refuses={"c": NotImplementedError("clamp is not supported for complex types")},
    promotes=True,
    node="ClampMaxBackward1",
    vmap_inplace="inplace arithmetic",
    self=lambda f, grad, self, max: _kept(f, f.le(self, max), grad),
    max=lambda f, grad, self, max: _kept(f, f.gt(self, max), grad),
)
deg2rad = operation(
    "deg2rad(Tensor self)",
    refuses={"c": RuntimeError("deg2rad is not supported for complex tensors.")},
    doc="Degrees as radians: each element times pi / 180.",
    floating=True,
    node="Deg2RadBackward0",
    self=lambda f, grad: f.mul_Scalar(grad, math.pi / 180),
)
rad2deg = operation(
    "rad2deg(Tensor self)",
    refuses={"c": RuntimeError("rad2deg is not supported for complex tensors.")},
    doc="Radians as degrees: each element times 180 / pi.",
    floating=True,
    node="Rad2DegBackward0",
    self=lambda f, grad: f.mul_Scalar(grad, 180 / math.pi),
)


nan_to_num = operation(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)",
    complex_gradient=False,
    doc=(
        "Each nan as `nan`, and the infinities as `posinf` and `neginf`, which default to the largest and "
        "the smallest finite number.\n\n"
        "The gradient is zero where an element was replaced."
    ),
    pointwise=True,
    self=lambda f, grad, self: grad * f.isfinite(self),
)


signbit = operation(
    "signbit(Tensor self)",
    doc=("Where the sign bit of an element is set, as booleans: of -0.0 it is. RuntimeError for complex tensors."),
    pointwise=True,
)


frexp_op = operation(
    "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    node="FrexpBackward0",
    nondifferentiable=("exponent",),
    pointwise=True,
    self=lambda f, grad, exponent: f.div(grad, f.cast_like(f.exp2(exponent), grad)),
)
conj_physically = operation(
    "_conj_physical(Tensor self)",
    node="ConjPhysicalBackward0",
    pointwise=True,
    linear=True,
    self=lambda f, grad: f._conj_physical(grad),
)
publish(hypot, nextafter, gcd, lcm, nan_to_num, deg2rad, rad2deg, inplace=True)
publish(conj_physically, logaddexp, logaddexp2, fmax, fmin, signbit)


@overloaded()
def copysign(input: Tensor, other: Any) -> Any:
    """The size of each element with the sign of another."""
    return (copysign_tensor if isinstance(other, Tensor) else copysign_scalar), input, other


@composite(out=True)
def conj_physical(input: Tensor) -> Tensor:
    """The conjugate in memory of its own; a real tensor itself."""
    return conj_physically(input) if input._ag_raw.dtype.kind == "c" else input


_conj_in_place = operation(
    "conj_physical_(Tensor self)",
    "_conj_physical",
    node="ConjPhysicalBackward1",
    self=lambda f, grad: f._conj_physical(grad),
)


@composite(name="conj_physical_")
def conj_physical_(input: Tensor) -> Tensor:
    """`conj_physical` in place."""
    return run_inplace(_conj_in_place.op, (input,))


@overloaded()
def heaviside(input: Tensor, values: Tensor) -> Any:
    """0 below zero, 1 above, `values` at zero."""
    if input._ag_raw.dtype.kind == "c" or values._ag_raw.dtype.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input._ag_raw.dtype != values._ag_raw.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return heaviside_op, input, values


@overloaded(method=True)
def ldexp_(input: Tensor, other: Tensor) -> Any:
    """input * 2**other."""
    return ldexp, input, other


@composite(out=True)
def frexp(input: Tensor) -> Any:
    """Each number as a mantissa in [0.5, 1) and a power of 2."""
    return _frexp_result(*frexp_op(input))


def _power_operands(input: Any, exponent: Any) -> tuple[Any, Any]:
    complexes = any(
        x._ag_raw.dtype.kind == "c" if isinstance(x, Tensor) else isinstance(x, complex) for x in (input, exponent)
    )
    wide = dtypes.complex128 if complexes else dtypes.float64
    return tuple(
        x.to(wide) if isinstance(x, Tensor) else (complex if complexes else float)(x) for x in (input, exponent)
    )  # type: ignore[return-value]


@composite(out=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """`pow` in double precision."""
    result: Tensor = arithmetic.pow(*_power_operands(input, exponent))
    return result


@composite(function=False, name="float_power_")
def float_power_(input: Tensor, exponent: Any) -> Tensor:
    """`float_power` in place; RuntimeError for a tensor of less than double precision."""
    base, power = _power_operands(input, exponent)
    if base is not input:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dtypes.cpp_name(input._ag_raw.dtype)} but the "
            f"operation's result requires dtype {dtypes.cpp_name(base._ag_raw.dtype)}"
        )
    result: Tensor = input.pow_(power)
    return result


_frexp_result = named_result("frexp", "mantissa", "exponent")


@overloaded()
def lerp(input: Tensor, end: Tensor, weight: Any) -> Any:
    """`input + weight * (end - input)`, from `input` at weight 0 to `end` at 1; `weight` is a number or a tensor.

    Arguments are broadcast. RuntimeError if their dtypes differ, but for a weight of no dimensions.
    """
    for name, x in (("end", end), ("weight", weight)):
        if isinstance(x, Tensor) and x._ag_raw.dtype != input._ag_raw.dtype and (x is end or x.ndim):
            mine, theirs = (dtypes.c_name(t._ag_raw.dtype) for t in (input, x))
            raise RuntimeError(f"expected dtype {mine} for `{name}` but got dtype {theirs}")
    if isinstance(weight, Tensor):
        return lerp_tensor, input, end, weight
    return lerp_scalar, input, end, weight
