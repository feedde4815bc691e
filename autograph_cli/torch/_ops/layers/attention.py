"""Attention, and the product of three tensors."""

from __future__ import annotations

import math

from ..._arrays import Array
from ..._core.base import dims, dtypes
from ..._core.base.caching import cached
from ..._core.base.memory_format import strides_of
from ..._core.base.state import process_state
from ..._core.operations import flops
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching, batching_layers
from ..._core.transforms.transforms import has_tangent
from ..matrices import linear
from ..pointwise import arithmetic
from ..pointwise.arithmetic import no_derivative
from ..random_numbers.dropout import dropout
from ..shaping import views
from .convolution import in_c

safe_softmax = operation(
    "_safe_softmax(Tensor self, int dim)",
    node="SafeSoftmaxBackward0",
    batch=batching.leading,
    self=lambda f, grad, result, dim: f.softmax_backward(grad, result, dim),
)
KERNELS = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
"""Kernels of `scaled_dot_product_attention`; the CPU has the first and the third."""
_FLASH = "_scaled_dot_product_flash_attention_for_cpu"
flash_attention = operation(
    f"{_FLASH}(Tensor query, Tensor key, Tensor value, bool is_causal, Tensor? attn_mask, float? scale) -> "
    "(Tensor output, Tensor logsumexp)",
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    nondifferentiable=("logsumexp",),
    saved={"dropout_p": lambda: 0.0},
    batch=batching_layers.attention,
    flops=flops.attention,
    joint={
        ("query", "key", "value"): lambda f, grad, query, key, value, output, logsumexp, is_causal, attn_mask, scale: (
            f._scaled_dot_product_flash_attention_for_cpu_backward(
                grad, query, key, value, output, logsumexp, is_causal, attn_mask, scale
            )
        )
    },
)
operation(
    f"{_FLASH}_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor output, Tensor logsumexp, bool "
    "is_causal, Tensor? attn_mask, float? scale) -> (Tensor by_query, Tensor by_key, Tensor by_value)",
    has_derivative=False,
    batch=batching_layers.attention_backward,
    flops=flops.attention_backward,
    saves_all=True,
    **{name: no_derivative(f"{_FLASH}_backward") for name in ("grad_out", "query", "key", "value", "output")},
)
trilinear = operation(
    "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim)",
    complex_gradient=False,
    linear="each",
    i1=lambda f, grad, i2, i3, expand1, expand2, expand3, sumdim: f._trilinear(
        grad, i2, i3, sumdim, expand2, expand3, expand1
    ),
    i2=lambda f, grad, i1, i3, expand1, expand2, expand3, sumdim: f._trilinear(
        i1, grad, i3, expand1, sumdim, expand3, expand2
    ),
    i3=lambda f, grad, i1, i2, expand1, expand2, expand3, sumdim: f._trilinear(
        i1, i2, grad, expand1, expand2, sumdim, expand3
    ),
)


@composite(method=False)
@autocasts("")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ A[o] @ x2 + b[o] for each output o; `weight` is (out, in1, in2)."""
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for i in range(input1.ndim - 1):
        if input1._ag_raw.shape[i] != input2._ag_raw.shape[i]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {input1._ag_raw.shape[i]} and "
                f"{input2._ag_raw.shape[i]}"
            )
    for number, x in enumerate((input1, input2), 1):
        n = weight._ag_raw.shape[dims.wrap(number, weight.ndim, False)]
        if x._ag_raw.shape[-1] != n:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {x._ag_raw.shape[-1]} but expected {n}"
            )
    if bias is not None and bias.size(0) != weight._ag_raw.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.size(0)} but expected "
            f"{weight._ag_raw.shape[0]}"
        )
    kinds = {
        name: in_c(x)
        for name, x in (("input1", input1), ("input2", input2), ("weight", weight), ("bias", bias))
        if x is not None
    }
    if len(set(kinds.values())) > 1:
        shown = ", ".join(f"{name}: {kind}" for name, kind in kinds.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {shown}")
    rows = [views.reshape(x, (math.prod(x._ag_raw.shape[:-1]), x._ag_raw.shape[-1])) for x in (input1, input2)]
    product = trilinear(rows[0], weight, rows[1], (1, 3), (0,), (1, 2), (2, 3))
    out = views.reshape(product, (*input1._ag_raw.shape[:-1], weight._ag_raw.shape[0]))
    return out if bias is None else arithmetic.add(out, bias)


# ---------------------------------------------------------------- attention


_NO_KERNEL = "No available kernel.  Aborting execution."
_NO_BACKEND = (
    "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math "
    "kernel and the fused kernels."
)


def _as_numbers(mask: Tensor, query: Tensor) -> Tensor:
    """A mask of booleans as what is added to the scores: 0, or minus infinity where it is False."""
    if mask._ag_raw.dtype.kind != "b":
        return mask
    kind = query._ag_raw.dtype.type
    return _told("where", (mask,), kernels(mask._ag_raw).xp.where(mask._ag_raw, kind(0), kind(-math.inf)))


def _told(name: str, inputs: tuple[Tensor, ...], raw: Array) -> Tensor:
    """The tensor of an array that was computed without dispatch; what listens is told."""
    result = make(raw)
    if process_state.observer is not None:
        process_state.observer.untracked(name, None, inputs, (result,))
    return result


def _fits_flash(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, gqa: bool) -> bool:
    """Return whether PyTorch takes its fused CPU kernel, which has a node of its own."""
    return (
        dropout_p == 0.0
        and _flash_shapes(query._ag_raw.shape, key._ag_raw.shape, value._ag_raw.shape, gqa)
        and dtypes.CATEGORY[query._ag_raw.dtype] == dtypes.FLOATING
        and not (has_tangent(query) or has_tangent(key) or has_tangent(value))
        and not query.is_meta
        and all(strides_of(t._ag_raw)[-1] == 1 for t in (query, key, value))
        and (
            mask is None
            or (not mask.requires_grad and _mask_fits(mask._ag_raw.shape, query._ag_raw.shape, key._ag_raw.shape))
        )
    )


@cached
def _flash_shapes(query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], gqa: bool) -> bool:
    """`gqa`: several heads of the query may share one of the keys and values."""
    if not len(query) == len(key) == len(value) == 4:
        return False
    heads = key[1] and query[1] % key[1] == 0 if gqa else query[1] == key[1]
    return bool(
        heads
        and query[0] == key[0]
        and key[:2] == value[:2]
        and query[3] == key[3] == value[3]
        and 0 not in (query[2], key[2], value[2])
    )


def _mask_fits(mask: tuple[int, ...], query: tuple[int, ...], key: tuple[int, ...]) -> bool:
    if len(mask) not in (2, 4) or mask[-2] not in (1, query[2]) or mask[-1] not in (1, key[2]):
        return False
    return len(mask) == 2 or (mask[0] in (1, query[0]) and mask[1] in (1, query[1]))


def _causal(query: Tensor, key: Tensor) -> Tensor:
    """The mask that lets each position see those before it and itself."""
    rows, columns = query._ag_raw.shape[-2], key._ag_raw.shape[-2]
    return _told("tril", (), kernels(query._ag_raw).xp.tri(rows, columns, dtype=bool))


def _attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, causal: bool, scale: float | None
) -> tuple[Tensor, Tensor]:
    """Attention composed of operations: the result and the weights. Numbers of 16 bits are attended in 32."""
    kind = query._ag_raw.dtype
    if dtypes.FROM_NUMPY[kind] in (dtypes.float16, dtypes.bfloat16):
        wide = [operations._to_copy(t, dtypes.float32.numpy) for t in (query, key, value)]
        result, weights = _attend(wide[0], wide[1], wide[2], mask, dropout_p, causal, scale)
        return operations._to_copy(result, kind), operations._to_copy(weights, kind)
    factor = 1 / math.sqrt(query._ag_raw.shape[-1]) if scale is None else scale
    root = math.sqrt(abs(factor))
    left = operations.mul_Scalar(query, -root if factor < 0 else root)
    if causal:
        mask = _causal(query, key)
    right = operations.mul_Scalar(views.transpose(key, -2, -1), root)
    scores = linear.matmul(left, right)
    if mask is not None:
        scores = arithmetic.add(scores, _as_numbers(mask, query))
    weights = safe_softmax(scores, dims.wrap(-1, scores.ndim))
    if dropout_p:
        weights = dropout(weights, dropout_p, True)
    return linear.matmul(weights, value), weights


@autocasts("lower_precision_fp")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value; `scale` is 1 / sqrt(features) unless given.

    A boolean mask is True where a position takes part. RuntimeError for a mask beside `is_causal` that the fused kernel
    does not take, for dtypes that differ, or where `KERNELS` leave none to take.
    """
    if not query._ag_raw.dtype == key._ag_raw.dtype == value._ag_raw.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {in_c(query)} key.dtype: "
            f"{in_c(key)} and value.dtype: {in_c(value)} instead."
        )
    if query._ag_raw.ndim < 2 or key._ag_raw.ndim < 2 or value._ag_raw.ndim < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.ndim} "
            f"key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if KERNELS["flash"] and _fits_flash(query, key, value, attn_mask, dropout_p, enable_gqa):
        mask = None if attn_mask is None else _as_numbers(attn_mask, query)
        if is_causal and mask is not None:
            rows = _causal(query, key)
            mask, is_causal = (
                make(kernels(rows._ag_raw).xp.where(rows._ag_raw, mask._ag_raw, query._ag_raw.dtype.type(-math.inf))),
                False,
            )
        result: Tensor = flash_attention(query, key, value, is_causal, mask, scale)[0]
        return result
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not KERNELS["math"]:
        raise RuntimeError(_NO_KERNEL if KERNELS["flash"] else _NO_BACKEND)
    if enable_gqa:
        heads = query._ag_raw.shape[-3]
        if any(heads % t._ag_raw.shape[-3] for t in (key, value)):
            raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
        key, value = (t.repeat_interleave(heads // t._ag_raw.shape[-3], -3) for t in (key, value))
    return _attend(query, key, value, attn_mask, dropout_p, is_causal, scale)[0]
