"""Layers that normalize: over features, batches, groups of channels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.arguments.arg_check import hands_on
from ..._core.base import dtypes
from ..._core.base.caching import cached
from ..._core.base.dtype_checks import no_integers, parameters_fit, refuse
from ..._core.base.errors import refused
from ..._core.base.memory_format import as_input
from ..._core.base.state import thread_state
from ..._core.operations import recomputed
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.running.views import changes
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching_layers
from ..._core.transforms.transforms import Batched
from ..._kernels.half_precision import NARROW
from ..pointwise import unary
from ..pointwise.arithmetic import no_derivative
from ..pointwise.comparison import finfo
from ..reducing import reductions
from ..shaping import views
from ._norm_checks import batch_norm_of, check_eps, check_values, padded_channels
from .average_pooling import avg_pool2d, avg_pool3d
from .convolution import wanted
from .padding import pad

layer_norm_op = operation(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
    "(Tensor result0, Tensor result1, Tensor result2)",
    nondifferentiable=("result1", "result2"),
    refuses={"biuc": "LayerNormKernelImpl"},
    batch=batching_layers.layer_norm,
    recomputed=recomputed.layer_norm,
    joint={
        ("input", "weight", "bias"): lambda f, grad, input, normalized_shape, result1, result2, weight, bias, mask: (
            (None,) * 3
            if grad is None
            else wanted(
                mask, f.native_layer_norm_backward(grad, input, normalized_shape, result1, result2, weight, bias, mask)
            )
        )
    },
)
operation(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, "
    "Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    batch=batching_layers.layer_norm_backward,
    saves_all=True,
    joint={
        ("grad_out", "input", "weight"): lambda f, grads, grad_out, input, normalized_shape, weight, mean, rstd: (
            layer_norm_twice(f, grads, grad_out, input, normalized_shape, weight, mean, rstd)
        )
    },
    mean=no_derivative("native_layer_norm_backward mean", NotImplementedError),
    rstd=no_derivative("native_layer_norm_backward rstd", NotImplementedError),
    bias=lambda f, grad: None,
)


def _batch_norm(name: str, node: str, outputs: str, backward: str, **options: Any) -> Any:
    """A batch normalization under one of PyTorch's names."""
    return operation(
        f"{name}(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
        f"float momentum, float eps) -> ({outputs})",
        "native_batch_norm" if outputs == _THREE else "_batch_norm_with_update",
        node=node,
        batch=batching_layers.batch_norm,
        recomputed=recomputed.batch_norm,
        constants=("running_mean", "running_var"),
        **options,
        nondifferentiable=("result1", "result2", "result3"),
        joint={
            (
                "input",
                "weight",
                "bias",
            ): lambda f, grad, input, weight, running_mean, running_var, result1, result2, training, eps, mask: (
                (None,) * 3
                if grad is None
                else wanted(
                    mask,
                    getattr(f, backward)(
                        grad, input, weight, running_mean, running_var, result1, result2, training, eps, mask
                    ),
                )
            )
        },
    )


def batch_norm_twice(
    f: Any,
    grads: Any,
    grad_out: Any,
    input: Any,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
) -> Any:
    shape = (1, input.shape[1], *[1] * (input.ndim - 2))
    axes = (0, *range(2, input.ndim))
    mean, rstd = (save_mean, save_invstd) if train else (running_mean, f.rsqrt(f.add_Scalar(running_var, eps)))
    rstd = f.reshape(rstd, shape)
    normal = f.sub(input, f.reshape(mean, shape)) * rstd
    return affine_twice(f, grads, grad_out, normal, rstd, weight, axes, axes, shape, fixed=not train)


def _batch_norm_backward(name: str, node: str, reserve: str = "") -> None:
    refused = {
        t: no_derivative(f"{name} {t}", NotImplementedError)
        for t in ("save_mean", "save_invstd", *([reserve] if reserve else []))
    }
    operation(
        f"{name}(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? "
        "save_mean, Tensor? save_invstd, bool train, float eps, bool[3] "
        f"output_mask{', Tensor? reserve=None' * bool(reserve)}) -> (Tensor, Tensor, Tensor)",
        lambda f, *args: f.native_batch_norm_backward(*args[:10]),
        node=node,
        batch=batching_layers.batch_norm_backward,
        memory_format=as_input,
        saves_all=True,
        constants=("running_mean", "running_var"),
        joint={
            (
                "grad_out",
                "input",
                "weight",
            ): batch_norm_twice
        },
        **refused,
    )


_THREE = "Tensor result0, Tensor result1, Tensor result2"
batch_norm_op = _batch_norm(
    "native_batch_norm",
    "NativeBatchNormBackward0",
    _THREE,
    "native_batch_norm_backward",
    refuses={"biuc": "batch_norm"},
)
batch_norm_legit = _batch_norm(
    "_native_batch_norm_legit", "NativeBatchNormLegitBackward0", _THREE, "native_batch_norm_backward"
)
batch_norm_no_stats = _batch_norm(
    "_native_batch_norm_legit.no_stats",
    "NativeBatchNormLegitBackward1",
    _THREE,
    "native_batch_norm_backward",
    saved={"running_mean": None, "running_var": None},
)
batch_norm_with_update = _batch_norm(
    "_batch_norm_with_update",
    "BatchNormWithUpdateBackward0",
    f"{_THREE}, Tensor result3",
    "batch_norm_backward",
    saved={"training": None, "result3": "result3"},
)
_batch_norm_backward("native_batch_norm_backward", "NativeBatchNormBackwardBackward0")
_batch_norm_backward("batch_norm_backward", "BatchNormBackwardBackward0", "reserve")


# ---------------------------------------------------------------- formulas


def normalized_twice(f: Any, by_input: Any, scaled: Any, normal: Any, rstd: Any, axes: Any) -> tuple[Any, Any]:
    """The derivatives of `(scaled - mean(scaled) - normal * mean(scaled * normal)) * rstd` by `scaled` and by the
    input."""
    mean: Callable[[Any], Any] = lambda t: f.mean_dim(t, axes, True)  # noqa: E731
    project: Callable[[Any], Any] = lambda t: f.sub(f.sub(t, mean(t)), normal * mean(t * normal))  # noqa: E731
    both = mean(by_input * scaled) - mean(by_input) * mean(scaled) - mean(by_input * normal) * mean(scaled * normal)
    cross = project(by_input) * mean(scaled * normal) + project(scaled) * mean(by_input * normal)
    return project(by_input) * rstd, f.neg(cross + normal * both) * rstd * rstd


def added(parts: list[Any]) -> Any:
    """The sum of what is not None."""
    total = None
    for part in parts:
        total = part if total is None else total if part is None else total + part
    return total


def affine_twice(
    f: Any,
    grads: Any,
    grad: Any,
    normal: Any,
    rstd: Any,
    weight: Any,
    axes: Any,
    outer: Any,
    shape: Any,
    fixed: bool = False,
) -> Any:
    """The second derivatives of `normal * weight + bias`; `shape` lays a weight beside the input, `outer` folds it
    back."""
    by_input, by_weight, by_bias = grads
    laid: Callable[[Any], Any] = lambda t: None if t is None else f.reshape(t, shape)  # noqa: E731
    fold: Callable[[Any], Any] = lambda t: f.sum_dim_IntList(t, outer, False) if outer else t  # noqa: E731
    w = laid(weight)
    scaled = grad if w is None else grad * w
    by_grad, image, kernel = [], [], None
    if by_input is not None:
        if fixed:
            through = by_input * rstd
        else:
            through, curve = normalized_twice(f, by_input, scaled, normal, rstd, axes)
            image.append(curve)
        by_grad.append(through if w is None else through * w)
        kernel = None if w is None else fold(through * grad)
    if by_weight is not None:
        row = laid(by_weight)
        by_grad.append(row * normal)
        pulled = row * grad
        if not fixed:
            inner = f.sub(pulled, f.mean_dim(pulled, axes, True))
            pulled = f.sub(inner, normal * f.mean_dim(pulled * normal, axes, True))
        image.append(pulled * rstd)
    if by_bias is not None:
        by_grad.append(f.expand(laid(by_bias), tuple(grad.shape)))
    return added(by_grad), added(image), kernel


def layer_norm_twice(f: Any, grads: Any, grad: Any, input: Any, shape: Any, weight: Any, mean: Any, rstd: Any) -> Any:
    lead = input.ndim - len(shape)
    axes, outer = tuple(range(lead, input.ndim)), tuple(range(lead))
    normal = f.sub(input, mean) * rstd
    return affine_twice(f, grads, grad, normal, rstd, weight, axes, outer, (*[1] * lead, *shape))


# ---------------------------------------------------------------- functions


def _shown(shape: Any) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def _normalized_sizes(input: Tensor, shape: Any, weight: Any, bias: Any, comma: str = ", ") -> tuple[int, ...]:
    """`shape` in whole numbers; RuntimeError where a tensor does not have it."""
    parts = None if weight is None else weight._ag_raw.shape, None if bias is None else bias._ag_raw.shape
    return _check_normalized(input._ag_raw.shape, shape, *parts, comma)


@cached
def _check_normalized(size: Any, shape: Any, weight: Any, bias: Any, comma: str) -> tuple[int, ...]:
    sizes = tuple(int(n) for n in shape)
    if not sizes:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t != sizes:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{_shown(t)} and normalized_shape = {_shown(sizes)}"
            )
    if size[-len(sizes) :] != sizes:
        raise RuntimeError(
            f"Given normalized_shape={_shown(sizes)}, expected input with shape [*{comma}{_shown(sizes)[1:]}, but got "
            f"input of size{_shown(size)}"
        )
    return sizes


@composite(method=False)
def native_layer_norm(input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """The result of `layer_norm`, with the means and the inverse deviations."""
    sizes = _normalized_sizes(input, normalized_shape, weight, bias)
    parameters_fit(input, weight, bias)
    no_integers("LayerNormKernelImpl", input)
    return layer_norm_op(input, sizes, weight, bias, eps)


@composite(method=False)
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, which have `normalized_shape`; then weight and bias."""
    result: Tensor = native_layer_norm(input, normalized_shape, weight, bias, eps)[0]
    return result


@composite(method=False)
@autocasts("")
def rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Tensor:
    """`input` over the root of the mean of its squares, as PyTorch composes it."""
    sizes = _normalized_sizes(input, normalized_shape, weight, None, comma="")
    axes = tuple(reversed(range(input._ag_raw.ndim - len(sizes), input._ag_raw.ndim)))
    if input.dtype.category < dtypes.FLOATING:
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{dtypes.cpp_name(input._ag_raw.dtype)}'")
    kind = input._ag_raw.dtype
    # Halves are computed in single precision.
    input = operations._to_copy(input, np.dtype(np.float32)) if kind.itemsize == 2 else input
    tiny = _smallest(input._ag_raw.dtype) if eps is None else eps
    mean = reductions.mean(operations.pow_Tensor_Scalar(input, 2), axes, True)
    result = input * operations.rsqrt(operations.add_Scalar(mean, tiny))
    result = result if weight is None else result * weight
    return result if kind.itemsize != 2 else operations._to_copy(result, kind)


@cached
def _smallest(kind: np.dtype[Any]) -> float:
    """Return what is added to a mean of squares unless it is given."""
    return finfo(dtypes.FROM_NUMPY[kind]).eps


def _update(running: Any, value: Any, momentum: float) -> None:
    """Move a statistic on, which PyTorch does not count as a change in place; it rounds the factors of bfloat16."""
    if running is None:
        return
    changes(running)
    raw, keep = running._ag_raw, 1 - momentum
    if raw.dtype == dtypes.bfloat16.numpy:
        keep, momentum = raw.dtype.type(keep), raw.dtype.type(momentum)
    else:
        raw = raw.astype(value.dtype, copy=False)
    running._ag_raw[...] = keep * raw + momentum * value


def _update_samples(results: Any, running: tuple[Any, Any], momentum: float, eps: float, count: float) -> None:
    """The statistics of each sample moved on, under vmap; RuntimeError where all samples share them."""
    before, thread_state.grad = thread_state.grad, False
    try:
        spread = operations.sub_Scalar(operations.pow_Tensor_Scalar(results[2], -2.0), eps)
        for statistic, value in zip(running, (results[1], spread * (count / max(count - 1, 1))), strict=True):
            if statistic is not None and isinstance(value, Batched) and not isinstance(statistic, Batched):
                raise RuntimeError(SHARED_STATISTICS)
            if statistic is not None:
                statistic.copy_(statistic * (1 - momentum) + value * momentum)
    finally:
        thread_state.grad = before


SHARED_STATISTICS = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
    "were not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be "
    "False.If you are using a prebuilt module and do not need eval mode, please see the functorch website for "
    "resources on how to patch your module to work with vmap"
)


@composite(method=False)
def native_batch_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """The result of `batch_norm`, with mean and inverse deviation; running statistics move by `momentum` while
    training."""
    return normalized_batch(batch_norm_op, input, weight, bias, running_mean, running_var, training, momentum, eps)


def normalized_batch(
    run: Any,
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """The results of a batch normalization, and the running statistics moved on while training."""
    parameters_fit(input, weight, bias, running_mean, running_var)
    return _moved_on(run, input, weight, bias, running_mean, running_var, training, momentum, eps)


def _moved_on(
    run: Any,
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    if running_mean is running_var is None:
        return run(input, weight, bias, None, None, training, momentum, eps)
    in_samples = any(isinstance(x, Batched) for x in (input, running_mean, running_var))
    read = (None, None) if training and in_samples else (running_mean, running_var)
    if not training:
        return run(input, weight, bias, *read, training, momentum, eps)
    count = input._ag_raw.size / max(input._ag_raw.shape[1] if input._ag_raw.ndim > 1 else 1, 1)
    try:
        results = run(input, weight, bias, *read, training, momentum, eps)
    except Exception:
        if thread_state.saved_hooks:  # of a hook, such as that of a checkpoint which ends its second run here
            again = run(input.detach(), None, None, *read, training, momentum, eps)
            _update_both(input, again, running_mean, running_var, momentum, eps, count)
        raise
    if any(isinstance(x, Batched) for x in (results[0], running_mean, running_var)):
        plain = run(input, None, None, *read, training, momentum, eps)
        _update_samples(plain, (running_mean, running_var), momentum, eps, count)
    else:
        _update_both(input, results, running_mean, running_var, momentum, eps, count)
    return results


def _update_both(
    input: Tensor, results: Any, running_mean: Any, running_var: Any, momentum: float, eps: float, count: float
) -> None:
    """The statistics moved on, by what a batch normalization gives; where that is of 16 bits, by what was rounded,
    but for a mean in bfloat16."""
    mean, rstd = results[1]._ag_raw, results[2]._ag_raw
    if mean.dtype in NARROW:
        wide, axes = input._ag_raw.astype(np.float32), (0, *range(2, input._ag_raw.ndim))
        mean, variance = mean if mean.dtype == dtypes.bfloat16.numpy else wide.mean(axes), wide.var(axes)
    else:
        variance = rstd**-2.0 - eps
    _update(running_mean, mean, momentum)
    _update(running_var, variance * (count / max(count - 1, 1)), momentum)


def _empty_batch(input: Tensor, weight: Any, bias: Any) -> Tensor:
    out = unary.clone_(input)
    out = out if weight is None else out * weight[0]
    return out if bias is None else out + bias[0]


def _both_or_none(running_mean: Any, running_var: Any) -> None:
    if (running_mean is None) is not (running_var is None):
        raise refused(ValueError, "running_mean and running_var must either both be None or neither be None")


@hands_on(batch_norm_of)
def batch_norm(
    input: Tensor,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 for each channel: of the batch while training, by the running statistics otherwise."""
    if training and _few(input._ag_raw.shape):
        check_values(input.size())
    check_eps(training, eps)
    return _batch_norm_any(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _batch_norm_any(
    input: Tensor,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    if not training and (running_mean is None or running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"{missing} must be defined in evaluation mode")
    _both_or_none(running_mean, running_var)
    raw = input._ag_raw
    channels = raw.shape[1] if raw.ndim > 1 else 0
    parts = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, part in parts.items():
        if part is not None and part._ag_raw.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {part._ag_raw.size}")
    refuse("batch_norm", raw, "biuc")
    parameters_fit(input, weight, bias, running_mean, running_var)
    for t in (running_mean, running_var):
        if t is not None and t._ag_raw.ndim != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {t.ndim}")
    if not raw.size:
        return _empty_batch(input, weight, bias)
    result: Tensor = _moved_on(
        batch_norm_op, input, weight, bias, running_mean, running_var, training, momentum, float(eps)
    )[0]
    return result


@cached
def _few(shape: tuple[int, ...]) -> bool:
    """Return whether channels may have too few values to tell their deviation."""
    return len(shape) < 2 or math.prod((shape[0], *shape[2:])) == 1


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """`input` over its p-norm along `dim`."""
    result = input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return result if out is None else out.copy_(result)


@hands_on(padded_channels)
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """`input` over a power of the mean of the squares of `size` neighbouring channels."""
    if input._ag_raw.ndim < 3:
        raise refused(
            ValueError,
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)",
        )
    if input._ag_raw.size == 0:
        return input
    squares = input * input
    if input._ag_raw.ndim == 3:
        squares = pad(views.unsqueeze_op(squares, 1), (0, 0, size // 2, (size - 1) // 2))
        mean = views.squeeze(avg_pool2d(squares, (size, 1), 1), 1)
    else:
        shape = input._ag_raw.shape
        squares = views.view(squares, (shape[0], 1, shape[1], shape[2], -1))
        squares = pad(squares, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        mean = views.view(views.squeeze(avg_pool3d(squares, (size, 1, 1), 1), 1), shape)
    return input / mean.mul(alpha).add(k).pow(beta)
