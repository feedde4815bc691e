"""Attention with several heads, composed as PyTorch composes it."""

from __future__ import annotations

import math
from typing import Any

from ..._core.base.errors import refused
from ..._core.base.user_warnings import warn
from ..._core.operations.operation import operations
from ..._core.operations.registry import functions
from ..._core.tape.tensor import Tensor
from ..matrices.linear import bmm_ as bmm, linear
from ..pointwise.activations import softmax
from ..random_numbers.dropout import dropout
from ..shaping import views
from .attention import scaled_dot_product_attention
from .padding import pad


def _canonical(mask: Any, name: str, kind: Any, other: Any = None, other_name: str = "") -> Any:
    """A mask as numbers that are added to the scores: minus infinity where a mask of booleans is True."""
    if mask is None:
        return None
    if mask._ag_raw.dtype.kind not in "bf":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and other.dtype is not mask.dtype:
        warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.")
    if mask._ag_raw.dtype.kind == "b":
        return operations.zeros_like(mask.to(kind)).masked_fill_(mask, -math.inf)
    return mask


def _masks(query: Tensor, mask: Any, padding_mask: Any, is_causal: bool, need_weights: bool) -> tuple[Any, Any, bool]:
    """Both masks as numbers, and whether the attention is causal without a mask."""
    padding_mask = _canonical(padding_mask, "key_padding_mask", query.dtype, mask, "attn_mask")
    if is_causal and mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding_mask is None and not need_weights:
        return None, None, True
    return _canonical(mask, "attn_mask", query.dtype), padding_mask, is_causal and padding_mask is None


def _three(projected: Tensor, parts: int, size: int) -> Any:
    """One projection of `parts` things, taken apart along a new first dimension."""
    shape = projected._ag_raw.shape
    rows = views.view_op(projected, (*shape[:-1], parts, size))
    first = views.transpose(views.unsqueeze_op(rows, 0), 0, -2)
    apart = operations.contiguous(views.squeeze(first, -2))
    return tuple([views.select_op(apart, 0, i) for i in range(parts)])


def _project(q: Tensor, k: Tensor, v: Tensor, weight: Any, bias: Any) -> Any:
    """Queries, keys and values through the rows of one weight; what is equal is projected at once."""
    size = q._ag_raw.shape[-1]
    if k is v and q is k:
        return _three(linear(q, weight, bias), 3, size)
    if k is v:
        first, rest = weight.split([size, 2 * size])
        first_bias, rest_bias = (None, None) if bias is None else bias.split([size, 2 * size])
        query = linear(q, first, first_bias)
        return (query, *_three(linear(k, rest, rest_bias), 2, size))
    weights = weight.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True))


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Any, attn_mask: Any, heads: int) -> bool:
    """Return whether there is a batch; AssertionError for shapes that do not go together."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    batched = query.ndim == 3
    word = "batched (3-D)" if batched else "unbatched (2-D)"
    if key.ndim != query.ndim or value.ndim != query.ndim:
        raise AssertionError(
            f"For {word} `query`, expected `key` and `value` to be {query.ndim}-D but found {key.ndim}-D and "
            f"{value.ndim}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != query.ndim - 1:
        raise AssertionError(
            f"For {word} `query`, expected `key_padding_mask` to be `None` or {query.ndim - 1}-D but found "
            f"{key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        raise AssertionError(
            f"For {word} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor "
            "instead"
        )
    return batched


def _check_size(size: int, wanted: int, heads: int) -> None:
    if size != wanted:
        raise AssertionError(f"was expecting embedding dimension of {wanted}, but got {size}")
    if size % heads:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {heads}")


def _shaped_mask(mask: Any, targets: int, sources: int, rows: int) -> Any:
    if mask is None:
        return None
    wanted = {2: (targets, sources), 3: (rows, targets, sources)}.get(mask.ndim)
    if wanted is None:
        raise RuntimeError(f"attn_mask's dimension {mask.ndim} is not supported")
    if mask._ag_raw.shape != wanted:
        raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {wanted}.")
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


def _heads(x: Tensor, rows: int, size: int) -> Any:
    """(length, N, E) as (N * heads, length, E / heads)."""
    return views.transpose_op(views.view_op(x, (x._ag_raw.shape[0], rows, size)), 0, 1)


def _weighted(q: Any, k: Any, v: Any, mask: Any, dropout_p: float) -> Any:
    """Attention with its weights: (rows, targets, features) and (rows, targets, sources)."""
    scaled = q * math.sqrt(1.0 / float(q._ag_raw.shape[-1]))
    keys = views.transpose(k, -2, -1)
    scores = bmm(scaled, keys) if mask is None else _namespace("baddbmm")(mask, scaled, keys)
    weights = softmax(scores, -1)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return bmm(weights, v), weights


def _namespace(name: str) -> Any:
    return functions[name]


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of `num_heads` heads over (length, N, E) or (length, E), and its weights if they are needed.

    AssertionError or RuntimeError for shapes and masks that do not go together.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    targets, batch, size = query._ag_raw.shape
    attn_mask, key_padding_mask, is_causal = _masks(query, attn_mask, key_padding_mask, is_causal, need_weights)
    _check_size(size, embed_dim_to_check, num_heads)
    _check_sources(key, value, use_separate_proj_weight)
    if use_separate_proj_weight:
        q, k, v = _project_apart(query, key, value, (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias)
    else:
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _shaped_mask(attn_mask, targets, key._ag_raw.shape[0], batch * num_heads)
    k, v, masks = _with_biases(k, v, bias_k, bias_v, (attn_mask, key_padding_mask))
    q, k, v, masks = _in_heads(q, k, v, static_k, static_v, num_heads, add_zero_attn, masks)
    attn_mask = _joined(*masks, batch, num_heads)
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        mixed, shares = _weighted(q, k, v, attn_mask, dropout_p)
        flat = views.reshaped(views.transpose_op(mixed, 0, 1), (targets * batch, size))
    else:
        mixed, shares = _unweighted(q, k, v, attn_mask, dropout_p, is_causal, (batch, num_heads)), None
        flat = mixed.permute(2, 0, 1, 3).reshape(batch * targets, size)
    out = linear(flat, out_proj_weight, out_proj_bias)
    out = views.view_op(out, (targets, batch, out._ag_raw.shape[1]))
    if shares is not None:
        shares = views.view_op(shares, (batch, num_heads, targets, k._ag_raw.shape[1]))
        shares = shares.mean(dim=1) if average_attn_weights else shares
        shares = shares if batched else shares.squeeze(0)
    return (out if batched else out.squeeze(1)), shares


def _check_sources(key: Tensor, value: Tensor, apart: bool) -> None:
    """AssertionError where there is not a value for each key."""
    if apart and key.shape[:2] != value.shape[:2]:
        raise refused(
            AssertionError,
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
    if not apart and key.shape != value.shape:
        raise refused(AssertionError, f"key shape {key.shape} does not match value shape {value.shape}")


def _project_apart(q: Tensor, k: Tensor, v: Tensor, weights: tuple[Any, ...], bias: Any) -> list[Tensor]:
    """Queries, keys and values by a matrix each."""
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True)]


def _with_biases(k: Any, v: Any, bias_k: Any, bias_v: Any, masks: tuple[Any, Any]) -> tuple[Any, Any, tuple[Any, Any]]:
    """Keys and values with a learned source behind the others, and the masks that let it through."""
    for given, other, name, missing in ((bias_k, bias_v, "bias_k", "bias_v"), (bias_v, bias_k, "bias_v", "bias_k")):
        if given is not None and other is None:
            raise refused(AssertionError, f"{name} is set but {missing} is None")
    if bias_k is None:
        return k, v, masks
    batch = k._ag_raw.shape[1]
    k, v = (_namespace("cat")([x, b.repeat(1, batch, 1)]) for x, b in ((k, bias_k), (v, bias_v)))
    return k, v, (_one_wider(masks[0]), _one_wider(masks[1]))


def _in_heads(
    q: Any, k: Any, v: Any, static_k: Any, static_v: Any, num_heads: int, add_zero_attn: bool, masks: tuple[Any, Any]
) -> tuple[Any, Any, Any, tuple[Any, Any]]:
    """Queries, keys and values (N * heads, length, E / heads), perhaps with a source of zeros behind the others, and
    the masks."""
    rows, width = q._ag_raw.shape[1] * num_heads, q._ag_raw.shape[2] // num_heads
    q = _heads(q, rows, width)
    k = _heads(k, rows, width) if static_k is None else static_k
    v = _heads(v, rows, width) if static_v is None else static_v
    if not add_zero_attn:
        return q, k, v, masks
    nothing = _namespace("zeros")((rows, 1, width), dtype=k.dtype, device=k.device)
    k, v = (_namespace("cat")([x, nothing], dim=1) for x in (k, v))
    return q, k, v, (_one_wider(masks[0]), _one_wider(masks[1]))


def _joined(mask: Any, padding: Any, batch: int, num_heads: int) -> Any:
    """The mask of attention with that of padding, (N, sources), for each head."""
    if padding is None:
        return mask
    sources = padding._ag_raw.shape[-1]
    spread = padding.view(batch, 1, 1, sources).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, sources)
    return spread if mask is None else mask + spread


def _one_wider(mask: Any) -> Any:
    """A mask that lets one more source through."""
    return None if mask is None else pad(mask, (0, 1))


def _unweighted(
    q: Tensor, k: Tensor, v: Tensor, mask: Any, dropout_p: float, is_causal: bool, lead: tuple[int, int]
) -> Tensor:
    """Attention of (batch * heads, length, width) where nobody asks for the weights: (batch, heads, length, width)."""
    if mask is not None:
        whole = mask._ag_raw.shape[0] == 1 and mask.ndim == 3
        mask = mask.unsqueeze(0) if whole else mask.view(*lead, -1, k._ag_raw.shape[1])
    q, k, v = (x.view(*lead, -1, q._ag_raw.shape[2]) for x in (q, k, v))
    return scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
