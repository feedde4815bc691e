"""MaxViT: convolutions, then attention in windows and along a grid, in each layer (Tu et al., 2022)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from autograph_cli.torch import arange, chunk, einsum, empty, flatten, meshgrid, nn, stack, swapaxes
from autograph_cli.torch.nn import functional as F

from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from ._api import published

Layer = Callable[..., nn.Module]


def _halved(size: tuple[int, int]) -> tuple[int, int]:
    """The size after a convolution of 3 by 3 with stride 2."""
    return (size[0] - 1) // 2 + 1, (size[1] - 1) // 2 + 1


class MBConv(nn.Module):
    """An inverted residual block: wide, by channels, gated, and narrow again."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expansion_ratio: float,
        squeeze_ratio: float,
        stride: int,
        activation_layer: Layer,
        norm_layer: Layer,
        p_stochastic_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            pool = [nn.AvgPool2d(kernel_size=3, stride=stride, padding=1)] if stride == 2 else []
            self.proj = nn.Sequential(*pool, nn.Conv2d(in_channels, out_channels, kernel_size=1))
        self.stochastic_depth = StochasticDepth(p_stochastic_dropout, "row") if p_stochastic_dropout else nn.Identity()
        wide = int(out_channels * expansion_ratio)
        block = partial(Conv2dNormActivation, activation_layer=activation_layer, norm_layer=norm_layer, inplace=None)
        self.layers = nn.Sequential(
            OrderedDict(
                pre_norm=norm_layer(in_channels),
                conv_a=block(in_channels, wide, kernel_size=1),
                conv_b=block(wide, wide, kernel_size=3, stride=stride, groups=wide),
                squeeze_excitation=SqueezeExcitation(wide, int(out_channels * squeeze_ratio), activation=nn.SiLU),
                conv_c=nn.Conv2d(wide, out_channels, kernel_size=1),
            )
        )

    def forward(self, x: Any) -> Any:
        kept = self.proj(x)
        return kept + self.stochastic_depth(self.layers(x))


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention [B, groups, points, channels] within each group, with a bias for how far apart two points are."""

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim != 0:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads, self.head_dim = feat_dim // head_dim, head_dim
        self.size, self.max_seq_len = int(math.sqrt(max_seq_len)), max_seq_len
        self.to_qkv = nn.Linear(feat_dim, 3 * feat_dim)
        self.scale_factor = feat_dim**-0.5
        self.merge = nn.Linear(feat_dim, feat_dim)
        self.relative_position_bias_table = nn.Parameter(empty((2 * self.size - 1) ** 2, self.n_heads))
        side = arange(self.size)
        at = flatten(stack(meshgrid(side, side, indexing="ij")), 1)
        apart = at[:, :, None] - at[:, None, :] + self.size - 1
        self.register_buffer("relative_position_index", apart[0] * (2 * self.size - 1) + apart[1])
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_positional_bias(self) -> Any:
        """The bias [1, heads, points, points]."""
        bias = self.relative_position_bias_table[self.relative_position_index.view(-1)]
        return bias.view(self.max_seq_len, self.max_seq_len, -1).permute(2, 0, 1).contiguous().unsqueeze(0)

    def forward(self, x: Any) -> Any:
        batch, groups, points, channels = x.shape
        parts = chunk(self.to_qkv(x), 3, dim=-1)
        q, k, v = (
            part.reshape(batch, groups, points, self.n_heads, self.head_dim).permute(0, 1, 3, 2, 4) for part in parts
        )
        k = k * self.scale_factor
        weights = einsum("B G H I D, B G H J D -> B G H I J", q, k)
        weights = F.softmax(weights + self.get_relative_positional_bias(), dim=-1)
        mixed = einsum("B G H I J, B G H J D -> B G H I D", weights, v)
        return self.merge(mixed.permute(0, 1, 3, 2, 4).reshape(batch, groups, points, channels))


class SwapAxes(nn.Module):
    """Two dimensions exchanged."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.a, self.b = a, b

    def forward(self, x: Any) -> Any:
        return swapaxes(x, self.a, self.b)


class WindowPartition(nn.Module):
    """Maps [B, C, H, W] as windows of `p` by `p` points: [B, windows, points, C]."""

    def forward(self, x: Any, p: int) -> Any:
        batch, channels, height, width = x.shape
        x = x.reshape(batch, channels, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(batch, (height // p) * (width // p), p * p, channels)


class WindowDepartition(nn.Module):
    """Puts the windows of `WindowPartition` together as maps again."""

    def forward(self, x: Any, p: int, h_partitions: int, w_partitions: int) -> Any:
        batch, _, _, channels = x.shape
        x = x.reshape(batch, h_partitions, w_partitions, p, p, channels).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(batch, channels, h_partitions * p, w_partitions * p)


class PartitionAttentionLayer(nn.Module):
    """Attention in windows of neighbours, or on a grid of points that are far apart, then a perceptron."""

    def __init__(
        self,
        in_channels: int,
        head_dim: int,
        partition_size: int,
        partition_type: str,
        grid_size: tuple[int, int],
        mlp_ratio: int,
        activation_layer: Layer,
        norm_layer: Layer,
        attention_dropout: float,
        mlp_dropout: float,
        p_stochastic_dropout: float,
    ) -> None:
        super().__init__()
        if partition_type not in ("grid", "window"):
            raise ValueError("partition_type must be either 'grid' or 'window'")
        self.n_heads, self.head_dim = in_channels // head_dim, head_dim
        self.n_partitions = grid_size[0] // partition_size
        self.partition_type, self.grid_size = partition_type, grid_size
        grid = partition_type == "grid"
        self.p, self.g = (self.n_partitions, partition_size) if grid else (partition_size, self.n_partitions)
        self.partition_op, self.departition_op = WindowPartition(), WindowDepartition()
        self.partition_swap = SwapAxes(-2, -3) if grid else nn.Identity()
        self.departition_swap = SwapAxes(-2, -3) if grid else nn.Identity()
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels),
            RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout),
        )
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels),
            nn.Linear(in_channels, in_channels * mlp_ratio),
            activation_layer(),
            nn.Linear(in_channels * mlp_ratio, in_channels),
            nn.Dropout(mlp_dropout),
        )
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, mode="row")

    def forward(self, x: Any) -> Any:
        if any(size % self.p for size in self.grid_size):
            raise AssertionError(
                "Grid size must be divisible by partition size. "
                f"Got grid size of {self.grid_size} and partition size of {self.p}"
            )
        x = self.partition_swap(self.partition_op(x, self.p))
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        return self.departition_op(self.departition_swap(x), self.p, *(size // self.p for size in self.grid_size))


class MaxVitLayer(nn.Module):
    """Convolutions, attention in windows, attention on a grid."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        stride: int,
        norm_layer: Layer,
        activation_layer: Layer,
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        p_stochastic_dropout: float,
        partition_size: int,
        grid_size: tuple[int, int],
    ) -> None:
        super().__init__()
        attention = partial(
            PartitionAttentionLayer,
            out_channels,
            head_dim,
            partition_size,
            grid_size=grid_size,
            mlp_ratio=mlp_ratio,
            activation_layer=activation_layer,
            norm_layer=nn.LayerNorm,
            attention_dropout=attention_dropout,
            mlp_dropout=mlp_dropout,
            p_stochastic_dropout=p_stochastic_dropout,
        )
        first = MBConv(
            in_channels,
            out_channels,
            expansion_ratio,
            squeeze_ratio,
            stride,
            activation_layer,
            norm_layer,
            p_stochastic_dropout,
        )
        self.layers = nn.Sequential(
            OrderedDict(
                MBconv=first,
                window_attention=attention(partition_type="window"),
                grid_attention=attention(partition_type="grid"),
            )
        )

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class MaxVitBlock(nn.Module):
    """Layers of one size, of which the first halves it."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        squeeze_ratio: float,
        expansion_ratio: float,
        norm_layer: Layer,
        activation_layer: Layer,
        head_dim: int,
        mlp_ratio: int,
        mlp_dropout: float,
        attention_dropout: float,
        partition_size: int,
        input_grid_size: tuple[int, int],
        n_layers: int,
        p_stochastic: list[float],
    ) -> None:
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(f"p_stochastic must have length n_layers={n_layers}, got p_stochastic={p_stochastic}.")
        self.grid_size = _halved(input_grid_size)
        self.layers = nn.ModuleList(
            MaxVitLayer(
                out_channels if number else in_channels,
                out_channels,
                squeeze_ratio,
                expansion_ratio,
                1 if number else 2,
                norm_layer,
                activation_layer,
                head_dim,
                mlp_ratio,
                mlp_dropout,
                attention_dropout,
                probability,
                partition_size,
                self.grid_size,
            )
            for number, probability in enumerate(p_stochastic)
        )

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """A stem, blocks each of half the size before, and a classifier."""

    def __init__(
        self,
        input_size: tuple[int, int],
        stem_channels: int,
        partition_size: int,
        block_channels: list[int],
        block_layers: list[int],
        head_dim: int,
        stochastic_depth_prob: float,
        norm_layer: Layer | None = None,
        activation_layer: Layer = nn.GELU,
        squeeze_ratio: float = 0.25,
        expansion_ratio: float = 4,
        mlp_ratio: int = 4,
        mlp_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        size = _halved(input_size)
        _check(size, len(block_channels), partition_size)
        self.stem = nn.Sequential(
            Conv2dNormActivation(
                3, stem_channels, stride=2, norm_layer=norm_layer, activation_layer=activation_layer, inplace=None
            ),
            Conv2dNormActivation(stem_channels, stem_channels, norm_layer=None, activation_layer=None),
        )
        self.partition_size = partition_size
        self.blocks = nn.ModuleList()
        probabilities = numpy.linspace(0, stochastic_depth_prob, sum(block_layers)).tolist()
        for before, channels, layers in zip(
            [stem_channels, *block_channels[:-1]], block_channels, block_layers, strict=True
        ):
            block = MaxVitBlock(
                before,
                channels,
                squeeze_ratio,
                expansion_ratio,
                norm_layer,
                activation_layer,
                head_dim,
                mlp_ratio,
                mlp_dropout,
                attention_dropout,
                partition_size,
                size,
                layers,
                probabilities[:layers],
            )
            self.blocks.append(block)
            size, probabilities = block.grid_size, probabilities[layers:]
        width = block_channels[-1]
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.LayerNorm(width),
            nn.Linear(width, width),
            nn.Tanh(),
            nn.Linear(width, num_classes, bias=False),
        )
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)


def _check(size: tuple[int, int], blocks: int, partition: int) -> None:
    """ValueError unless the maps of each block can be cut into parts."""
    sizes = []
    for _ in range(blocks):
        size = _halved(size)
        sizes.append(size)
    for number, (height, width) in enumerate(sizes):
        if height % partition or width % partition:
            raise ValueError(
                f"Input size {(height, width)} of block {number} is not divisible by partition size {partition}. "
                f"Consider changing the partition size or the input size.\n"
                f"Current configuration yields the following block input sizes: {sizes}."
            )


@published("MaxVit_T_Weights")
def maxvit_t(input_size: tuple[int, int] = (224, 224), **kwargs: Any) -> MaxVit:
    """MaxViT, tiny."""
    return MaxVit(
        input_size=input_size,
        stem_channels=64,
        block_channels=[64, 128, 256, 512],
        block_layers=[2, 2, 5, 2],
        head_dim=32,
        stochastic_depth_prob=0.2,
        partition_size=7,
        **kwargs,
    )
