"""Swin transformers: attention in windows that are shifted from block to block (Liu et al., 2021), and V2 (2022)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from autograph_cli.torch import (
    abs,
    arange,
    cat,
    clamp,
    flatten,
    float32,
    log,
    log2,
    meshgrid,
    nn,
    ones,
    roll,
    sigmoid,
    sign,
    stack,
    zeros,
)
from autograph_cli.torch.nn import functional as F

from ..ops.misc import MLP, Permute
from ..ops.stochastic_depth import StochasticDepth
from ._api import variant

Norm = Callable[..., nn.Module]


def _quarters(x: Any) -> Any:
    """The four points of each square of 2 by 2, one after the other along the channels."""
    height, width, _ = x.shape[-3:]
    x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
    return cat([x[..., 0::2, 0::2, :], x[..., 1::2, 0::2, :], x[..., 0::2, 1::2, :], x[..., 1::2, 1::2, :]], -1)


class PatchMerging(nn.Module):
    """Half the size and twice the channels; normalized first."""

    def __init__(self, dim: int, norm_layer: Norm = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Any) -> Any:
        return self.reduction(self.norm(_quarters(x)))


class PatchMergingV2(nn.Module):
    """Half the size and twice the channels; normalized last."""

    def __init__(self, dim: int, norm_layer: Norm = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: Any) -> Any:
        return self.norm(self.reduction(_quarters(x)))


def shifted_window_attention(
    input: Any,
    qkv_weight: Any,
    proj_weight: Any,
    relative_position_bias: Any,
    window_size: list[int],
    num_heads: int,
    shift_size: list[int],
    attention_dropout: float = 0.0,
    dropout: float = 0.0,
    qkv_bias: Any = None,
    proj_bias: Any = None,
    logit_scale: Any = None,
    training: bool = True,
) -> Any:
    """Attention [N, H, W, C] within windows, of a picture that is shifted around by `shift_size` first."""
    batch, height, width, channels = input.shape
    right = (window_size[1] - width % window_size[1]) % window_size[1]
    below = (window_size[0] - height % window_size[0]) % window_size[0]
    x = F.pad(input, (0, 0, 0, right, 0, below))
    _, tall, wide, _ = x.shape
    shift = list(shift_size)
    for axis, size in enumerate((tall, wide)):
        if window_size[axis] >= size:
            shift[axis] = 0
    if sum(shift) > 0:
        x = roll(x, shifts=(-shift[0], -shift[1]), dims=(1, 2))
    count = (tall // window_size[0]) * (wide // window_size[1])
    area = window_size[0] * window_size[1]
    x = x.view(batch, tall // window_size[0], window_size[0], wide // window_size[1], window_size[1], channels)
    x = x.permute(0, 1, 3, 2, 4, 5).reshape(batch * count, area, channels)
    if logit_scale is not None and qkv_bias is not None:
        qkv_bias = qkv_bias.clone()
        length = qkv_bias.numel() // 3
        qkv_bias[length : 2 * length].zero_()
    qkv = F.linear(x, qkv_weight, qkv_bias)
    qkv = qkv.reshape(x.size(0), x.size(1), 3, num_heads, channels // num_heads).permute(2, 0, 3, 1, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    if logit_scale is not None:
        attention = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        attention = attention * clamp(logit_scale, max=math.log(100.0)).exp()
    else:
        q = q * (channels // num_heads) ** -0.5
        attention = q.matmul(k.transpose(-2, -1))
    attention = attention + relative_position_bias
    if sum(shift) > 0:
        mask = _mask(x, tall, wide, window_size, shift, count, area)
        attention = attention.view(x.size(0) // count, count, num_heads, x.size(1), x.size(1))
        attention = attention + mask.unsqueeze(1).unsqueeze(0)
        attention = attention.view(-1, num_heads, x.size(1), x.size(1))
    attention = F.softmax(attention, dim=-1)
    attention = F.dropout(attention, p=attention_dropout, training=training)
    x = attention.matmul(v).transpose(1, 2).reshape(x.size(0), x.size(1), channels)
    x = F.dropout(F.linear(x, proj_weight, proj_bias), p=dropout, training=training)
    x = x.view(batch, tall // window_size[0], wide // window_size[1], window_size[0], window_size[1], channels)
    x = x.permute(0, 1, 3, 2, 4, 5).reshape(batch, tall, wide, channels)
    if sum(shift) > 0:
        x = roll(x, shifts=(shift[0], shift[1]), dims=(1, 2))
    return x[:, :height, :width, :].contiguous()


def _mask(x: Any, tall: int, wide: int, window: list[int], shift: list[int], count: int, area: int) -> Any:
    """Return what keeps points apart that a shift has brought into one window: [windows, area, area]."""
    mask = x.new_zeros((tall, wide))
    number = 0
    for top, bottom in ((0, -window[0]), (-window[0], -shift[0]), (-shift[0], None)):
        for left, right in ((0, -window[1]), (-window[1], -shift[1]), (-shift[1], None)):
            mask[top:bottom, left:right] = number
            number += 1
    mask = mask.view(tall // window[0], window[0], wide // window[1], window[1])
    mask = mask.permute(0, 2, 1, 3).reshape(count, area)
    mask = mask.unsqueeze(1) - mask.unsqueeze(2)
    return mask.masked_fill(mask != 0, (-100.0)).masked_fill(mask == 0, 0.0)


class ShiftedWindowAttention(nn.Module):
    """Attention in windows, with a bias for how far apart two points are."""

    def __init__(
        self,
        dim: int,
        window_size: list[int],
        shift_size: list[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size, self.shift_size, self.num_heads = window_size, shift_size, num_heads
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        """A bias for each distance and head."""
        rows = (2 * self.window_size[0] - 1) * (2 * self.window_size[1] - 1)
        self.relative_position_bias_table = nn.Parameter(zeros(rows, self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self) -> None:
        """The row of the table for each pair of points in a window."""
        height, width = self.window_size
        at = flatten(stack(meshgrid(arange(height), arange(width), indexing="ij")), 1)
        apart = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0).contiguous()
        apart[:, :, 0] += height - 1
        apart[:, :, 1] += width - 1
        apart[:, :, 0] *= 2 * width - 1
        self.register_buffer("relative_position_index", apart.sum(-1).flatten())

    def _bias(self, table: Any) -> Any:
        area = self.window_size[0] * self.window_size[1]
        return table[self.relative_position_index].view(area, area, -1).permute(2, 0, 1).contiguous().unsqueeze(0)

    def get_relative_position_bias(self) -> Any:
        """The bias [1, heads, area, area]."""
        return self._bias(self.relative_position_bias_table)

    def forward(self, x: Any) -> Any:
        return shifted_window_attention(
            x,
            self.qkv.weight,
            self.proj.weight,
            self.get_relative_position_bias(),
            self.window_size,
            self.num_heads,
            shift_size=self.shift_size,
            attention_dropout=self.attention_dropout,
            dropout=self.dropout,
            qkv_bias=self.qkv.bias,
            proj_bias=self.proj.bias,
            logit_scale=getattr(self, "logit_scale", None),
            training=self.training,
        )


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Attention by cosines, with a bias that a small network computes from the logarithm of distances."""

    def __init__(
        self,
        dim: int,
        window_size: list[int],
        shift_size: list[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dim, window_size, shift_size, num_heads, qkv_bias, proj_bias, attention_dropout, dropout)
        self.logit_scale = nn.Parameter(log(10 * ones((num_heads, 1, 1))))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512, bias=True), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False)
        )
        if qkv_bias:
            length = self.qkv.bias.numel() // 3
            self.qkv.bias[length : 2 * length].data.zero_()

    def define_relative_position_bias_table(self) -> None:
        """The logarithms of all distances."""
        height, width = self.window_size
        rows = arange(-(height - 1), height, dtype=float32)
        columns = arange(-(width - 1), width, dtype=float32)
        table = stack(meshgrid([rows, columns], indexing="ij")).permute(1, 2, 0).contiguous().unsqueeze(0)
        table[:, :, :, 0] /= height - 1
        table[:, :, :, 1] /= width - 1
        table *= 8
        table = sign(table) * log2(abs(table) + 1.0) / 3.0
        self.register_buffer("relative_coords_table", table)

    def get_relative_position_bias(self) -> Any:
        """The bias [1, heads, area, area], between 0 and 16."""
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        return 16 * sigmoid(self._bias(table))


class SwinTransformerBlock(nn.Module):
    """Attention and a perceptron, each on normalized input and added to it."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: list[int],
        shift_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: Norm = nn.LayerNorm,
        attn_layer: Norm = ShiftedWindowAttention,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = attn_layer(
            dim, window_size, shift_size, num_heads, attention_dropout=attention_dropout, dropout=dropout
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for module in self.mlp.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.normal_(module.bias, std=1e-6)

    def forward(self, x: Any) -> Any:
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """The same, normalized after each part instead of before."""

    def __init__(self, *args: Any, attn_layer: Norm = ShiftedWindowAttentionV2, **options: Any) -> None:
        super().__init__(*args, **{"attn_layer": attn_layer, **options})

    def forward(self, x: Any) -> Any:
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Four stages of blocks, with windows that are shifted in every second one."""

    def __init__(
        self,
        patch_size: list[int],
        embed_dim: int,
        depths: list[int],
        num_heads: list[int],
        window_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.1,
        num_classes: int = 1000,
        norm_layer: Norm | None = None,
        block: Callable[..., nn.Module] | None = None,
        downsample_layer: Norm = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        block, norm_layer = block or SwinTransformerBlock, norm_layer or partial(nn.LayerNorm, eps=1e-5)
        layers: list[nn.Module] = [
            nn.Sequential(
                nn.Conv2d(3, embed_dim, kernel_size=tuple(patch_size), stride=tuple(patch_size)),
                Permute([0, 2, 3, 1]),
                norm_layer(embed_dim),
            )
        ]
        total, number = sum(depths), 0
        for stage, depth in enumerate(depths):
            width = embed_dim * 2**stage
            blocks = []
            for turn in range(depth):
                blocks.append(
                    block(
                        width,
                        num_heads[stage],
                        window_size=window_size,
                        shift_size=[0 if turn % 2 == 0 else size // 2 for size in window_size],
                        mlp_ratio=mlp_ratio,
                        dropout=dropout,
                        attention_dropout=attention_dropout,
                        stochastic_depth_prob=stochastic_depth_prob * float(number) / (total - 1),
                        norm_layer=norm_layer,
                    )
                )
                number += 1
            layers.append(nn.Sequential(*blocks))
            if stage < len(depths) - 1:
                layers.append(downsample_layer(width, norm_layer))
        self.features = nn.Sequential(*layers)
        width = embed_dim * 2 ** (len(depths) - 1)
        self.norm = norm_layer(width)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


def _swin(
    width: int, depth: int, heads: int, probability: float, second: bool = False, **options: Any
) -> SwinTransformer:
    size = [8, 8] if second else [7, 7]
    if second:
        options = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2} | options
    options.setdefault("stochastic_depth_prob", probability)
    return SwinTransformer([4, 4], width, [2, 2, depth, 2], [heads * 2**n for n in range(4)], size, **options)


swin_t = variant("swin_t", "Swin, tiny.", _swin, 96, 6, 3, 0.2)
swin_s = variant("swin_s", "Swin, small.", _swin, 96, 18, 3, 0.3)
swin_b = variant("swin_b", "Swin, base.", _swin, 128, 18, 4, 0.5)
swin_v2_t = variant("swin_v2_t", "Swin V2, tiny.", _swin, 96, 6, 3, 0.2, second=True)
swin_v2_s = variant("swin_v2_s", "Swin V2, small.", _swin, 96, 18, 3, 0.3, second=True)
swin_v2_b = variant("swin_v2_b", "Swin V2, base.", _swin, 128, 18, 4, 0.5, second=True)
