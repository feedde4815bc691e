"""Activations: functions that layers end with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.base import dims, dtypes
from ..._core.base.dtype_checks import no_integers
from ..._core.base.memory_format import second_first
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching


def _mean_tangent(f: Any, t: Any, x: Any, dim: int) -> Any:
    """The tangent of the logarithm of the summed exponentials: the mean of the tangents by these weights."""
    axes = (dim,) if x.ndim else ()
    weights = f.exp(f.sub(x, f.amax(x, axes, True)))
    whole = f.sum_dim_IntList(weights, axes, True)
    return f.div(f.sum_dim_IntList(weights * t, axes, True), whole)


def softmax_kernel(name: str) -> Callable[[Any, int], str]:
    """Return what PyTorch calls the kernel of a softmax: there is another one for the last dimension."""
    return lambda a, dim: f"{name}{'_lastdim' if dim in (a.ndim - 1, -1) or not a.ndim else ''}_kernel_impl"


softmax_op = operation(
    "softmax(Tensor self, int dim)",
    tangent=lambda f, self_t, self, result, dim: result * f.sub(self_t, _mean_tangent(f, self_t, self, dim)),
    refuses={"biuc": softmax_kernel("softmax")},
    memory_format="contiguous",
    batch=batching.leading,
    aten="_softmax",
    self=lambda f, grad, result, dim: f.softmax_backward(grad, result, dim),
)
softmax_backward = operation(
    "softmax_backward(Tensor grad_output, Tensor output, int dim)",
    node="SoftmaxBackwardDataBackward0",
    batch=batching.leading,
    saves_all=True,
    grad_output=lambda f, grad, output, dim: f.softmax_backward(grad, output, dim),
    output=lambda f, grad, grad_output, output, dim: softmax_twice(f, grad, grad_output, output, dim),
)
log_softmax_op = operation(
    "log_softmax(Tensor self, int dim)",
    tangent=lambda f, self_t, self, dim: f.sub(self_t, _mean_tangent(f, self_t, self, dim)),
    refuses={"biuc": softmax_kernel("log_softmax")},
    memory_format="contiguous",
    batch=batching.leading,
    aten="_log_softmax",
    self=lambda f, grad, result, dim: f.log_softmax_backward(grad, result, dim),
)
log_softmax_backward = operation(
    "log_softmax_backward(Tensor grad_output, Tensor output, int dim)",
    node="LogSoftmaxBackwardDataBackward0",
    batch=batching.leading,
    saves_all=True,
    grad_output=lambda f, grad, output, dim: f.sub(grad, f.sum_dim_IntList(grad * f.exp(output), (dim,), True)),
    output=lambda f, grad, grad_output, output, dim: (
        f.neg(f.sum_dim_IntList(grad_output, (dim,), True)) * (f.exp(output) * grad)
    ),
)
softplus_op = operation(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20)",
    doc=(
        "`log(1 + exp(beta * input)) / beta`, a smooth `relu`; the input itself where `beta * input` is "
        "above `threshold`."
    ),
    pointwise=True,
    refuses={"biuc": "softplus_cpu"},
    self=lambda f, grad, self, beta, threshold: f.softplus_backward(grad, self, beta, threshold),
)
softplus_backward = operation(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold)",
    pointwise=True,
    saves_all=True,
    grad_output=lambda f, grad, self, beta, threshold: f.softplus_backward(grad, self, beta, threshold),
    self=lambda f, grad, grad_output, self, beta, threshold: softplus_twice(
        f, grad * grad_output, self, beta, threshold
    ),
)
leaky_relu_op = operation(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01)",
    pointwise=True,
    refuses={"biuc": "leaky_relu_cpu"},
    self=lambda f, self, grad, negative_slope: f.leaky_relu_backward(grad, self, negative_slope),
)
leaky_relu_backward = operation(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope)",
    pointwise=True,
    memory_format=second_first,
    saves_all=True,
    grad_output=lambda f, self, grad, negative_slope: f.leaky_relu_backward(grad, self, negative_slope),
    self=lambda f, grad: f.zeros_like(grad),
)


def softmax_twice(f: Any, grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    """The derivative of softmax's own backward by its output."""
    inner = f.sum_dim_IntList(output * grad_output, (dim,), True) * grad
    outer = grad_output * f.sum_dim_IntList(output * grad, (dim,), True)
    return f.sub(f.sub(grad_output * grad, inner), outer)


def softplus_twice(f: Any, grad: Any, self: Any, beta: Any, threshold: Any) -> Any:
    """grad * beta * s * (1 - s) with s = sigmoid(beta * x), 0 where softplus is linear."""
    scaled = f.mul_Scalar(self, beta)
    curve = f.sigmoid_backward(grad, f.sigmoid(scaled))
    return f.masked_fill_Scalar(f.mul_Scalar(curve, beta), f.gt(scaled, f.full_like_number(scaled, threshold)), 0)


def _cast(input: Tensor, dtype: Any) -> Tensor:
    kind = None if dtype is None else dtypes.numpy_dtype(dtype)
    return input if kind is None or kind == input._ag_raw.dtype else operations._to_copy(input, kind)


def _scores(input: Tensor, dim: int, dtype: Any, name: str) -> Tensor:
    """`input` as numbers of a dtype; NotImplementedError for integers, which PyTorch's kernels do not take."""
    scores = _cast(input, dtype)
    if scores._ag_raw.dtype.kind in "iub":
        last = "_lastdim" if dims.wrap(dim, scores.ndim) == scores.ndim - 1 or not scores.ndim else ""
        no_integers(f"{name}{last}_kernel_impl", scores)
    return scores


@composite(out=True)
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """exp(x) over its sum along `dim`."""
    if dtype is not None or input._ag_raw.dtype.kind != "f":
        input = _scores(input, dim, dtype, "softmax")
    return softmax_op(input, dims.wrap(dim, input._ag_raw.ndim))


@composite(out=True)
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed without overflow."""
    if dtype is not None or input._ag_raw.dtype.kind != "f":
        input = _scores(input, dim, dtype, "log_softmax")
    return log_softmax_op(input, dims.wrap(dim, input._ag_raw.ndim))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of a relaxed categorical distribution; `hard` makes it one-hot, with the gradient of the soft one."""
    noise = -operations.log(logits.detach().contiguous().clone().exponential_())
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    positions = soft.max(dim, keepdim=True)[1]
    sharp = operations.scatter_value(operations.zeros_like(logits.detach()), dim % logits.ndim, positions, 1.0)
    return sharp - soft.detach() + soft
