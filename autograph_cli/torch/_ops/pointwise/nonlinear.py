"""Activations beyond softmax: rectifiers, shrinkers, gates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays.backends import device_of
from ..._arrays.cuda import moved
from ..._arrays.meta import Meta
from ..._arrays.stand_in import cannot_batch
from ..._core.arguments.arg_check import hands_on
from ..._core.base import dtypes
from ..._core.base.device import CPU
from ..._core.base.dtype_checks import refuse
from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..._core.base.state import thread_state
from ..._core.operations.docstrings import documented, in_place
from ..._core.operations.operation import Formula, OperationFunction, operation, operations
from ..._core.operations.registry import composite, functions, methods, with_out
from ..._core.running.autocast import autocasts
from ..._core.running.device_dispatch import kernels
from ..._core.running.inplace import run_inplace
from ..._core.streams import generator
from ..._core.streams.generator import stream_of
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching
from ..._core.transforms.transforms import beside
from ..shaping import views
from . import activations
from .arithmetic import no_derivative
from .comparison import finfo

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def undifferentiated(name: str) -> Any:
    """A formula for a backward that PyTorch gives a node of its own, but no derivative."""

    def formula(f: Any, grad: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return formula


def _with_backward(
    schema: str, gradient: Formula, node: str, needs: str, twice: Formula | None = None, doc: str = "", **traits: Any
) -> OperationFunction:
    """A function of one tensor whose backward, `<name>_backward(grad, self, ...)`, is linear in the gradient.

    `gradient` calls that. `needs`: the further arguments as a schema writes them. `twice`: the gradient of the backward
    by `self`, zero unless given.
    """
    name = schema.partition("(")[0]
    run = operation(schema, doc=doc, node=f"{node}Backward0", pointwise=True, **traits, self=gradient)
    operation(
        f"{name}_backward(Tensor grad_output, Tensor self{', ' * bool(needs)}{needs})",
        node=f"{node}BackwardBackward0",
        pointwise=True,
        saves_all=True,
        grad_output=gradient,
        self=twice or (lambda f, grad: f.zeros_like(grad)),
    )
    return run


# ---------------------------------------------------------------- formulas


def _gelu_twice(f: Any, grad: Any, grad_output: Any, x: Any, approximate: str) -> Any:
    """The second derivative of gelu times both gradients, in the order of PyTorch's own operations."""
    both = grad * grad_output
    if approximate != "tanh":
        square = x * x
        density = f.mul_Scalar(f.exp(f.mul_Scalar(square, -0.5)), 1 / math.sqrt(2 * math.pi))
        return both * f.sub(f.mul_Scalar(density, 2), square * density)
    k, c = math.sqrt(2 / math.pi), 0.044715
    inner = f.mul_Scalar(x + f.mul_Scalar(f.pow_Tensor_Scalar(x, 3), c), k)
    slope = f.mul_Scalar(f.add_Scalar(f.mul_Scalar(x, 3 * c) * x, 1), k)
    t, half = f.tanh(inner), f.mul_Scalar(x, 0.5)
    square, sech = t * t, f.div(f.full_like_number(inner, 1), f.cosh(inner))
    curve = f.sub(f.full_like_number(square, 1), square)
    fall = f.mul_Scalar(sech, 2) * (f.neg(sech) * t) * slope
    bend = f.mul_Scalar(f.mul_Scalar(x, 6 * c), k)
    return both * (f.mul_Scalar(f.mul_Scalar(curve, 0.5) * slope, 2) + half * slope * fall + half * curve * bend)


def _elu_twice(
    f: Any, grad: Any, grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, x: Any
) -> Any:
    """The derivative of elu's backward by its input: there is none where elu is straight, 0 included."""
    curve = f.mul_Scalar(grad * grad_output, input_scale)
    if not is_result:
        curve = f.elu_backward(curve, alpha, scale, input_scale, is_result, x)
    return curve * f.cast_like(f.lt(x, f.full_like_number(x, 0)), grad)


_NEGATIVE = (
    "In-place {} backward calculation is triggered with a negative slope which is not supported. This is caused by "
    "calling in-place forward function with a negative slope, please call out-of-place version instead."
)
_NO_LEAK = (
    f"{_NEGATIVE.format('leakyReLu')} File an issue at https://github.com/pytorch/pytorch if you do require supporting "
    "in-place leakRelu backward calculation with negative slope"
)


def _rising(slope: Any, text: str = _NO_LEAK) -> Any:
    """A slope below 0; RuntimeError for a negative one, with which the sign of the input is lost in place."""
    if slope < 0:
        raise RuntimeError(text)
    return slope


def _rrelu_backward(f: Any, grad: Any, result: Any, noise: Any, lower: Any, upper: Any, training: bool) -> Any:
    """The gradient of rrelu in place."""
    if not training:
        _rising((lower + upper) / 2)
    return f.rrelu_with_noise_backward(grad, result, noise, lower, upper, training)


def _one_minus(x: Tensor) -> Tensor:
    """1 - x as PyTorch's C++ has it: a tensor of ones comes first."""
    ones = beside(x, lambda like, size: make(kernels(like._ag_raw).ones(size, like._ag_raw.dtype)[()]), tuple(x.shape))
    return operations.sub(ones, x)


def _silu_backward(grad: Tensor, self: Tensor) -> Tensor:
    """The gradient of silu as PyTorch composes it under create_graph."""
    f = operations
    s = f.sigmoid(self)
    slope = f.add_Scalar(self * _one_minus(s), 1)
    return grad * s * slope


def _mish_backward(grad: Tensor, self: Tensor) -> Tensor:
    f = operations
    s, t = f.sigmoid(self), f.tanh(f.log1p(f.exp(self)))
    rest = _one_minus(t * t)
    return grad * f.add(t, self * s * rest)


def _log_sigmoid_twice(f: Any, grad: Any, grad_output: Any, x: Any) -> Any:
    s = f.sigmoid(x)
    return grad * grad_output * f.sub_Scalar(s, 1) * s


def _prelu_again(f: Any, grads: Any, x: Any, weight: Any) -> Any:
    """The derivative of prelu's backward by its gradient."""
    by_input, by_weight = grads
    parts = [] if by_input is None else [by_input * weight]
    parts += [] if by_weight is None else [by_weight * x]
    low = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    high = f.full_like_number(low, 0) if by_input is None else by_input
    return f.where(f.ge(x, f.full_like_number(x, 0)), high, low)


def _prelu_half(f: Any, part: Any, grad_output: Any, x: Any) -> Any:
    if part is None:
        return f.zeros_like(x)
    return f.masked_fill_Scalar(grad_output * part, f.ge(x, f.full_like_number(x, 0)), 0)


operations.silu_backward, operations.mish_backward = _silu_backward, _mish_backward

# ---------------------------------------------------------------- operations

gelu_op = _with_backward(
    "gelu(Tensor self, str approximate='none')",
    lambda f, grad, self, approximate: f.gelu_backward(grad, self, approximate),
    "Gelu",
    "str approximate",
    refuses={"biuc": "GeluKernelImpl"},
    memory_format="preserve",
    twice=lambda f, grad, grad_output, self, approximate: _gelu_twice(f, grad, grad_output, self, approximate),
)
silu_op = operation(
    "silu(Tensor self)",
    pointwise=True,
    refuses={"biu": "silu_cpu"},
    self=lambda f, grad, self: f.silu_backward(grad, self),
)
mish_op = operation(
    "mish(Tensor self)",
    pointwise=True,
    refuses={"biuc": "mish_cpu"},
    self=lambda f, grad, self: f.mish_backward(grad, self),
)
hardtanh_op = _with_backward(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1)",
    lambda f, grad, self, min_val, max_val: f.hardtanh_backward(grad, self, min_val, max_val),
    "Hardtanh",
    "Scalar min_val, Scalar max_val",
    refuses={"c": NotImplementedError("clamp is not supported for complex types")},
)
hardshrink_op = _with_backward(
    "hardshrink(Tensor self, Scalar lambd=0.5)",
    lambda f, grad, self, lambd: f.hardshrink_backward(grad, self, lambd),
    "Hardshrink",
    "Scalar lambd",
    doc="0 where an element is within `lambd` of 0, the element elsewhere.",
    refuses={"biuc": "hardshrink_cpu"},
)
softshrink_op = _with_backward(
    "softshrink(Tensor self, Scalar lambd=0.5)",
    lambda f, grad, self, lambd: f.softshrink_backward(grad, self, lambd),
    "Softshrink",
    "Scalar lambd",
    refuses={"biuc": "softshrink_check"},
)
hardswish_op = _with_backward(
    "hardswish(Tensor self)",
    lambda f, grad, self: f.hardswish_backward(grad, self),
    "Hardswish",
    "",
    refuses={"biuc": "hardswish_cpu"},
    twice=lambda f, grad, grad_output, self: f.where(
        f.lt(f.abs(self), f.full_like_number(self, 3)), f.div_Scalar(grad * grad_output, 3), f.zeros_of((), grad)
    ),
)
hardsigmoid_op = operation(
    "hardsigmoid(Tensor self)",
    pointwise=True,
    refuses={"biuc": "hardsigmoid_cpu"},
    self=lambda f, grad, self: f.hardsigmoid_backward(grad, self),
)
operation(
    "hardsigmoid_backward(Tensor grad_output, Tensor self)",
    has_derivative=False,
    pointwise=True,
    saves_all=True,
    grad_output=no_derivative("hardsigmoid_backward"),
    self=no_derivative("hardsigmoid_backward"),
)
elu_op = operation(
    "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)",
    pointwise=True,
    refuses={"biuc": "elu_cpu"},
    self=lambda f, grad, self, alpha, scale, input_scale: f.elu_backward(grad, alpha, scale, input_scale, False, self),
)
celu_op = operation(
    "celu(Tensor self, Scalar alpha=1.0)",
    pointwise=True,
    refuses={"biuc": "elu_cpu"},
    self=lambda f, grad, self, alpha: f.elu_backward(grad, alpha, 1, 1 / alpha, False, self),
)
operation(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor "
    "self_or_result)",
    pointwise=True,
    saves_all=True,
    grad_output=lambda f, grad, alpha, scale, input_scale, is_result, self_or_result: f.elu_backward(
        grad, alpha, scale, input_scale, is_result, self_or_result
    ),
    self_or_result=lambda f, grad, grad_output, alpha, scale, input_scale, is_result, self_or_result: _elu_twice(
        f, grad, grad_output, alpha, scale, input_scale, is_result, self_or_result
    ),
)
threshold_op = operation(
    "threshold(Tensor self, Scalar threshold, Scalar value)",
    pointwise=True,
    refuses={"bc": "threshold_cpu"},
    self=lambda f, self, grad, threshold: f.threshold_backward(grad, self, threshold),
)
prelu_op = operation(
    "_prelu_kernel(Tensor self, Tensor weight)",
    refuses={"biuc": "prelu_cpu"},
    node="PreluKernelBackward0",
    batch=batching.pointwise,
    joint={("self", "weight"): lambda f, grad, self, weight: f._prelu_kernel_backward(grad, self, weight)},
)
operation(
    "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
    node="PreluKernelBackwardBackward0",
    batch=batching.leading,
    saves_all=True,
    grad_output=lambda f, grads, self, weight: _prelu_again(f, grads, self, weight),
    self=lambda f, grads, grad_output, self: _prelu_half(f, grads[1], grad_output, self),
    weight=lambda f, grads, grad_output, self: _prelu_half(f, grads[0], grad_output, self),
)
log_sigmoid_op = operation(
    "log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
    node="LogSigmoidBackward0",
    nondifferentiable=("buffer",),
    refuses={"biuc": "log_sigmoid_cpu"},
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, buffer: f.log_sigmoid_backward(grad, self, buffer),
)
operation(
    "log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer)",
    constants=("buffer",),
    pointwise=True,
    saves_all=True,
    grad_output=lambda f, grad, self, buffer: f.log_sigmoid_backward(grad, self, buffer),
    self=lambda f, grad, grad_output, self: _log_sigmoid_twice(f, grad, grad_output, self),
)
rrelu_op = operation(
    "rrelu_with_noise(Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training)",
    constants=("noise",),
    refuses={"biuc": "leaky_relu_cpu"},
    memory_format="contiguous",
    batch=batching.leading,
    self=lambda f, grad, self, noise, lower, upper, training: f.rrelu_with_noise_backward(
        grad, self, noise, lower, upper, training
    ),
)
operation(
    "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool "
    "training)",
    pointwise=True,
    batch=batching.leading,
    saves_all=True,
    constants=("noise",),
    grad_output=lambda f, grad, self, noise, lower, upper, training: f.rrelu_with_noise_backward(
        grad, self, noise, lower, upper, training
    ),
    self=lambda f, grad: f.zeros_like(grad),
)

elu_in_place = operation(
    "elu_(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)",
    "elu",
    node="EluBackward1",
    pointwise=True,
    refuses={"biuc": "elu_cpu"},
    self=lambda f, grad, result, alpha, scale, input_scale: f.elu_backward(
        grad, _rising(alpha, _NEGATIVE.format("elu")), scale, input_scale, True, result
    ),
)
celu_in_place = operation(
    "celu_(Tensor self, Scalar alpha=1.0)",
    "celu",
    node="CeluBackward1",
    pointwise=True,
    refuses={"biuc": "elu_cpu"},
    self=lambda f, grad, result, alpha: f.elu_backward(
        grad, _rising(alpha, _NEGATIVE.format("elu")), 1, 1 / alpha, True, result
    ),
)
leaky_relu_in_place = operation(
    "leaky_relu_(Tensor self, Scalar negative_slope=0.01)",
    "leaky_relu",
    node="LeakyReluBackward1",
    pointwise=True,
    refuses={"biuc": "leaky_relu_cpu"},
    self=lambda f, result, grad, negative_slope: f.leaky_relu_backward(grad, result, _rising(negative_slope)),
)
threshold_in_place = operation(
    "threshold_(Tensor self, Scalar threshold, Scalar value)",
    "threshold",
    node="ThresholdBackward1",
    pointwise=True,
    refuses={"bc": "threshold_cpu"},
    self=lambda f, self, grad, threshold: f.threshold_backward(grad, self, threshold),
)
rrelu_in_place = operation(
    "rrelu_with_noise_(Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training)",
    "rrelu_with_noise",
    node="RreluWithNoiseBackward1",
    constants=("noise",),
    refuses={"biuc": "leaky_relu_cpu"},
    self=lambda f, grad, result, noise, lower, upper, training: _rrelu_backward(
        f, grad, result, noise, lower, upper, training
    ),
)


# ---------------------------------------------------------------- functions


def _apply(run: Any, changed: Any, input: Tensor, *args: Any, inplace: bool) -> Tensor:
    """An activation, or its in-place form (`changed`, where PyTorch has a node of its own for it)."""
    result: Tensor = run_inplace(changed.op, (input, *args)) if inplace else run(input, *args)
    return result


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the probability that a normal number is below x; 'tanh' approximates it."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return gelu_op(input, approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    if input._ag_raw.dtype.kind == "c" and input.requires_grad and thread_state.grad:
        raise RuntimeError("silu does not support automatic differentiation for outputs with complex dtype.")
    return _apply(silu_op, silu_op, input, inplace=inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))."""
    return _apply(mish_op, mish_op, input, inplace=inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, alpha * (exp(x) - 1) elsewhere."""
    return _apply(elu_op, elu_in_place, input, alpha, 1, 1, inplace=inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the constants that keep mean and variance."""
    return _apply(elu_op, elu_in_place, input, SELU_ALPHA, SELU_SCALE, 1, inplace=inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _apply(celu_op, celu_in_place, input, alpha, inplace=inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, negative_slope * x elsewhere."""
    return _apply(activations.leaky_relu_op, leaky_relu_in_place, input, negative_slope, inplace=inplace)


def _hardtanh_of(input: Any, min_val: Any = -1.0, max_val: Any = 1.0, inplace: Any = False) -> Any:
    if min_val > max_val:
        raise refused(ValueError, "min_val cannot be greater than max_val")
    return "nn", "hardtanh_" if inplace else "hardtanh", (input, min_val, max_val), {}


@hands_on(_hardtanh_of)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x kept between min_val and max_val."""
    if min_val > max_val:
        raise refused(ValueError, "min_val cannot be greater than max_val")
    if input._ag_raw.dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if input._ag_raw.dtype.kind == "u":
        min_val, max_val = int(min_val), int(max_val)
        if min_val < 0 or max_val < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return _apply(hardtanh_op, hardtanh_op, input, min_val, max_val, inplace=inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x kept between 0 and 6."""
    return hardtanh(input, 0, 6, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * relu6(x + 3) / 6."""
    return _apply(hardswish_op, hardswish_op, input, inplace=inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6."""
    return _apply(hardsigmoid_op, hardsigmoid_op, input, inplace=inplace)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, 0 within it."""
    if input.dtype.is_floating_point and not 0 <= lambd <= finfo(input.dtype).max:
        kind = cpp_name(input._ag_raw.dtype)
        raise RuntimeError(
            f"lambda must be in range [0, {finfo(input.dtype).max:g}] for input dtype {kind[:1].upper()}{kind[1:]}, "
            f"but found {lambd:g}"
        )
    return softshrink_op(input, lambd)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above the threshold, `value` elsewhere."""
    return _apply(threshold_op, threshold_in_place, input, threshold, value, inplace=inplace)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (operations.abs(input) + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - operations.tanh(input)


def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of sigmoid(x), computed without overflow."""
    result: Tensor = log_sigmoid_op(input)[0]
    return result


@composite()
@autocasts("lower_precision_fp")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, weight * x elsewhere; one weight for all, or one for each channel (dimension 1)."""
    if input._ag_raw.dtype != weight._ag_raw.dtype:
        names = [cpp_name(t._ag_raw.dtype) for t in (input, weight)]
        raise RuntimeError(f"prelu: Type promoting not supported. Got {names[0]} and {names[1]}")
    if weight._ag_raw.size != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input._ag_raw.shape[1] if input.ndim > 1 else 1
        if channels != weight._ag_raw.size:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight._ag_raw.size} and channel size = {channels}."
            )
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.ndim != input.ndim:
        shape = [1] * input.ndim
        if input.ndim > 1:
            shape[1] = weight._ag_raw.size
        weight = views.reshape(weight, tuple(shape))
    return prelu_op(input, weight)


@cannot_batch("vmap: we do not yet support aten::rrelu. Please file an issue")
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """`leaky_relu` with a random slope for each element while training, the mean slope otherwise."""
    if training:
        refuse("rrelu_with_noise_out_cpu", input._ag_raw, "biuce")
    lower, upper = float(lower), float(upper)
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    dtypes.check_held(upper, input._ag_raw.dtype)
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    noise = make(_negative_slopes(input._ag_raw, lower, upper) if training else input._ag_raw * 0)
    return _apply(rrelu_op, rrelu_in_place, input, noise, lower, upper, training, inplace=inplace)


def _negative_slopes(raw: Any, lower: float, upper: float) -> Any:
    """1, and a random number for each element that is not positive."""

    if raw.__class__ is Meta:
        return Meta(raw.shape, raw.dtype)
    low = moved(raw, CPU) <= 0
    noise = np.ones(raw.shape, raw.dtype)
    noise[low] = generator.uniform(stream_of(None), (int(low.sum()),), np.float64, lower, upper)
    return moved(noise[()], device_of(raw))


def _in_place_of(run: Any) -> Any:
    """`elu_`, `selu_`, ...: the function with `inplace=True`."""

    def changed(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result: Tensor = run(input, *args, inplace=True, **kwargs)
        return result

    return documented(changed, in_place(run.__name__), f"{run.__name__}_")


celu_, elu_, hardtanh_, leaky_relu_, rrelu_, selu_, threshold_ = map(
    _in_place_of, (celu, elu, hardtanh, leaky_relu, rrelu, selu, threshold)
)
methods |= {"hardshrink": hardshrink_op, "prelu": prelu}
functions |= {"hardshrink": hardshrink_op}
for _run in (celu, rrelu, selu, threshold):
    functions[_run.__name__] = with_out(_run) if _run is threshold else _run
    functions[f"{_run.__name__}_"] = _in_place_of(_run)
