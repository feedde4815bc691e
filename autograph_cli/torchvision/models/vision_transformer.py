"""Vision transformers: a picture as a sequence of patches (Dosovitskiy et al., 2020)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from autograph_cli.torch import cat, empty, nn, zeros

from ..ops.misc import MLP, Conv2dNormActivation
from ._api import published, variant

Norm = Callable[..., nn.Module]
_NORM = partial(nn.LayerNorm, eps=1e-6)


class MLPBlock(MLP):
    """The perceptron of a block."""

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.normal_(module.bias, std=1e-6)


class EncoderBlock(nn.Module):
    """Attention and a perceptron, each on normalized input and added to it."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Norm = _NORM,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Any) -> Any:
        if input.dim() != 3:
            raise AssertionError(f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Positions added, then blocks, then a normalization."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Norm = _NORM,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        layers = OrderedDict()
        for number in range(num_layers):
            layers[f"encoder_layer_{number}"] = EncoderBlock(
                num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
            )
        self.layers = nn.Sequential(layers)
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Any) -> Any:
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """Patches, a class token in front of them, an encoder, and a head on that token."""

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Norm = _NORM,
        conv_stem_configs: list[Any] | None = None,
    ) -> None:
        super().__init__()
        if image_size % patch_size:
            raise AssertionError("Input shape indivisible by patch size!")
        self.image_size, self.patch_size, self.hidden_dim, self.mlp_dim = image_size, patch_size, hidden_dim, mlp_dim
        self.attention_dropout, self.dropout, self.num_classes = attention_dropout, dropout, num_classes
        self.representation_size, self.norm_layer = representation_size, norm_layer
        self.conv_proj: nn.Module
        if conv_stem_configs is not None:
            stem, width = nn.Sequential(), 3
            for number, layer in enumerate(conv_stem_configs):
                stem.add_module(
                    f"conv_bn_relu_{number}",
                    Conv2dNormActivation(
                        width,
                        layer.out_channels,
                        layer.kernel_size,
                        layer.stride,
                        norm_layer=layer.norm_layer,
                        activation_layer=layer.activation_layer,
                    ),
                )
                width = layer.out_channels
            stem.add_module("conv_last", nn.Conv2d(width, hidden_dim, kernel_size=1))
            self.conv_proj = stem
        else:
            self.conv_proj = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
        seq_length = (image_size // patch_size) ** 2
        self.class_token = nn.Parameter(zeros(1, 1, hidden_dim))
        seq_length += 1
        self.encoder = Encoder(
            seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
        )
        self.seq_length = seq_length
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is None:
            heads["head"] = nn.Linear(hidden_dim, num_classes)
        else:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
            heads["head"] = nn.Linear(representation_size, num_classes)
        self.heads = nn.Sequential(heads)
        self._initialize()

    def _initialize(self) -> None:
        last = getattr(self.conv_proj, "conv_last", None)
        if isinstance(self.conv_proj, nn.Conv2d):
            fan_in = self.conv_proj.in_channels * self.conv_proj.kernel_size[0] * self.conv_proj.kernel_size[1]
            nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / fan_in))
            if self.conv_proj.bias is not None:
                nn.init.zeros_(self.conv_proj.bias)
        elif isinstance(last, nn.Conv2d):
            nn.init.normal_(last.weight, mean=0.0, std=math.sqrt(2.0 / last.out_channels))
            if last.bias is not None:
                nn.init.zeros_(last.bias)
        if isinstance(hidden := getattr(self.heads, "pre_logits", None), nn.Linear):
            nn.init.trunc_normal_(hidden.weight, std=math.sqrt(1 / hidden.in_features))
            nn.init.zeros_(hidden.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x: Any) -> Any:
        """The patches of pictures, as rows of hidden features."""
        batch, _, height, width = x.shape
        for name, size in (("height", height), ("width", width)):
            if size != self.image_size:
                raise AssertionError(f"Wrong image {name}! Expected {self.image_size} but got {size}!")
        rows, columns = height // self.patch_size, width // self.patch_size
        return self.conv_proj(x).reshape(batch, self.hidden_dim, rows * columns).permute(0, 2, 1)

    def forward(self, x: Any) -> Any:
        x = self._process_input(x)
        token = self.class_token.expand(x.shape[0], -1, -1)
        return self.heads(self.encoder(cat([token, x], dim=1))[:, 0])


def _vit(patch: int, layers: int, heads: int, hidden: int, inner: int, **options: Any) -> VisionTransformer:
    return VisionTransformer(options.pop("image_size", 224), patch, layers, heads, hidden, inner, **options)


vit_b_16 = variant("vit_b_16", "A base vision transformer with patches of 16 by 16.", _vit, 16, 12, 12, 768, 3072)
vit_b_32 = variant("vit_b_32", "A base vision transformer with patches of 32 by 32.", _vit, 32, 12, 12, 768, 3072)
vit_l_16 = variant("vit_l_16", "A large vision transformer with patches of 16 by 16.", _vit, 16, 24, 16, 1024, 4096)
vit_l_32 = variant("vit_l_32", "A large vision transformer with patches of 32 by 32.", _vit, 32, 24, 16, 1024, 4096)


@published("ViT_H_14_Weights", old="IMAGENET1K_SWAG_E2E_V1")
def vit_h_14(**kwargs: Any) -> VisionTransformer:
    """A huge vision transformer with patches of 14 by 14."""
    return _vit(14, 32, 16, 1280, 5120, **kwargs)
