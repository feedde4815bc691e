"""Transformers: layers of attention and linear maps, their stacks, and the two stacks together."""

from __future__ import annotations

import copy
from typing import Any

from ... import _namespace as torch
from ..._core.base.user_warnings import warn
from .. import functional as F, init
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _activation(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return getattr(F, given)


def _clones(module: Any, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


def _is_causal(mask: Any, said: bool | None, size: int | None) -> bool:
    """Return whether a mask hides the future and nothing else; what the caller says about it counts more."""
    if said is not None or mask is None:
        return said is True
    causal = Transformer.generate_square_subsequent_mask(
        mask.size(-2) if size is None else size, mask.device, mask.dtype
    )
    return mask.size() == causal.size() and bool((mask == causal).all())


def _length(x: Any, batch_first: bool) -> int | None:
    """The number of steps; None where it cannot be told."""
    if x.dim() == 2:
        return int(x.size(0))
    return int(x.size(1 if batch_first else 0))


class _Layer(Module):
    """The base of encoder and decoder layers: attention, then two linear maps, each beside a shortcut."""

    __constants__ = ["norm_first"]
    _ag_attentions: tuple[str, ...]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        position = {"device": device, "dtype": dtype}
        for name in self._ag_attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **position))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **position)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **position)
        self.norm_first = norm_first
        parts = range(1, len(self._ag_attentions) + 2)
        for n in parts:
            setattr(self, f"norm{n}", LayerNorm(d_model, layer_norm_eps, bias=bias, **position))
        for n in parts:
            setattr(self, f"dropout{n}", Dropout(dropout))
        self.activation = _activation(activation)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)

    def _ag_attend(self, name: str, x: Any, memory: Any, mask: Any, padding: Any, is_causal: bool) -> Any:
        attention = getattr(self, name)
        return attention(
            x, memory, memory, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
        )[0]

    def _ff_block(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _ag_beside(self, n: int, x: Any, block: Any) -> Any:
        """x plus a block of it, normalized before or after."""
        norm, dropout = getattr(self, f"norm{n}"), getattr(self, f"dropout{n}")
        if self.norm_first:
            return x + dropout(block(norm(x)))
        return norm(x + dropout(block(x)))


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear maps, over (L, N, d_model) or, with `batch_first`, (N, L, d_model).

    >>> from autograph_cli import torch
    >>> torch.nn.TransformerEncoderLayer(8, 2, 16)(torch.ones(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    _ag_attentions = ("self_attn",)

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        src_mask, src_key_padding_mask = _masks(src, src_mask, src_key_padding_mask)
        x = self._ag_beside(
            1, src, lambda y: self._ag_attend("self_attn", y, y, src_mask, src_key_padding_mask, is_causal)
        )
        return self._ag_beside(2, x, self._ff_block)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to what an encoder gave, and two linear maps.

    >>> from autograph_cli import torch
    >>> torch.nn.TransformerDecoderLayer(8, 2, 16)(torch.ones(5, 3, 8), torch.ones(4, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    _ag_attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        x = self._ag_beside(
            1, tgt, lambda y: self._ag_attend("self_attn", y, y, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        )
        x = self._ag_beside(
            2,
            x,
            lambda y: self._ag_attend(
                "multihead_attn", y, memory, memory_mask, memory_key_padding_mask, memory_is_causal
            ),
        )
        return self._ag_beside(3, x, self._ff_block)


def _masks(src: Any, mask: Any, padding: Any) -> tuple[Any, Any]:
    """Masks of numbers: what a boolean one hides is -inf; AssertionError for other dtypes."""
    return _as_numbers(src, mask, "src_mask"), _as_numbers(src, padding, "src_key_padding_mask")


def _as_numbers(src: Any, mask: Any, name: str) -> Any:
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != torch.bool:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return torch.zeros_like(mask, dtype=src.dtype).masked_fill_(mask, float("-inf"))


# ---------------------------------------------------------------- stacks


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer.

    In inference, where PyTorch runs its fast path, padded positions come out as 0, as they do there.
    """

    __constants__ = ["norm"]

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Any = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        why_not = _no_fast_path(encoder_layer)
        if enable_nested_tensor and why_not:
            warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why_not}")
        self.use_nested_tensor = enable_nested_tensor and not why_not

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        hidden = self._ag_hidden_by_fast_path(src, mask, src_key_padding_mask)
        mask, padding = _masks(src, mask, src_key_padding_mask)
        batch_first = self.layers[0].self_attn.batch_first if self._ag_has_attention() else False
        is_causal = _is_causal(mask, is_causal, _length(src, batch_first))
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if hidden is not None:
            x = x.masked_fill(hidden.unsqueeze(-1), 0.0)
        return x if self.norm is None else self.norm(x)

    def _ag_has_attention(self) -> bool:
        return len(self.layers) > 0 and hasattr(self.layers[0], "self_attn")

    def _ag_hidden_by_fast_path(self, src: Any, mask: Any, padding: Any) -> Any:
        """The padded positions, where PyTorch would leave them out of the computation."""
        if not self.use_nested_tensor or self.training or padding is None or mask is not None or src.dim() != 3:
            return None
        if torch.is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in self.layers[0].parameters())):
            return None
        hidden = padding if padding.dtype == torch.bool else padding == float("-inf")
        kept = ~hidden
        aligned = bool((kept.long().cummin(1).values == kept.long()).all())
        return hidden if aligned else None


def _no_fast_path(layer: Any) -> str:
    """Return why PyTorch would not run its fast path for inference on a layer; empty where it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    if layer.norm_first:
        return "encoder_layer.norm_first was True"
    reasons = (
        (
            attention.batch_first,
            "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (attention.in_proj_bias is not None, "encoder_layer.self_attn was passed bias=False"),
        (attention._qkv_same_embed_dim, "encoder_layer.self_attn._qkv_same_embed_dim was not True"),
        (layer.activation in (F.relu, F.gelu), "encoder_layer.activation_relu_or_gelu was not True"),
        (layer.norm1.eps == layer.norm2.eps, "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 0, "encoder_layer.self_attn.num_heads is odd"),
    )
    return next((why for holds, why in reasons if not holds), "")


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer."""

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first))
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder and a decoder: source (S, N, d_model) and target (T, N, d_model) to (T, N, d_model).

    >>> from autograph_cli import torch
    >>> model = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(torch.ones(3, 4, 8), torch.ones(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
            device, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = (
            custom_encoder
            if custom_encoder is not None
            else TransformerEncoder(TransformerEncoderLayer(*settings), num_encoder_layers, norm())
        )
        self.decoder = (
            custom_decoder
            if custom_decoder is not None
            else TransformerDecoder(TransformerDecoderLayer(*settings), num_decoder_layers, norm())
        )
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """The decoder's output for a target, given a source; RuntimeError where their batches or features differ."""
        batched = src.dim() == 3
        dim = 0 if self.batch_first else 1
        if batched and src.size(dim) != tgt.size(dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """(sz, sz): 0 where a step may look, -inf in its future."""
        return torch.triu(torch.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)
