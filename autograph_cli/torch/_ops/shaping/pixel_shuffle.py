"""Channels as pixels, pixels as channels, and channels in another order."""

from __future__ import annotations

from ..._core.operations.operation import operation
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor
from ..._core.transforms import batching

pixel_shuffle_op = operation(
    "pixel_shuffle(Tensor self, int upscale_factor)",
    linear=True,
    memory_format="channels_last",
    batch=batching.leading,
    self=lambda f, grad, upscale_factor: f.pixel_unshuffle(grad, upscale_factor),
)
pixel_unshuffle_op = operation(
    "pixel_unshuffle(Tensor self, int downscale_factor)",
    linear=True,
    memory_format="channels_last",
    batch=batching.leading,
    self=lambda f, grad, downscale_factor: f.pixel_shuffle(grad, downscale_factor),
)
channel_shuffle_op = operation(
    "channel_shuffle(Tensor self, int groups)",
    linear=True,
    memory_format="channels_last",
    batch=batching.folded,
    self=lambda f, grad, groups: f.channel_shuffle(grad, grad.shape[1] // groups),
)


@composite(method=False)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) to (..., C, H * r, W * r)."""
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    if input._ag_raw.shape[-3] % (upscale_factor * upscale_factor):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={input._ag_raw.shape[-3]} is not divisible by {upscale_factor * upscale_factor}"
        )
    return pixel_shuffle_op(input, upscale_factor)


@composite(method=False)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) to (..., C * r * r, H, W)."""
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    for i, name in ((-2, "height"), (-1, "width")):
        if input._ag_raw.shape[i] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({i})={input._ag_raw.shape[i]} is not divisible by {downscale_factor}"
            )
    return pixel_unshuffle_op(input, downscale_factor)


@composite(method=False, aliases=("native_channel_shuffle",))
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of `groups` groups, dealt out in turn."""
    if input.ndim <= 2:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input._ag_raw.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if input._ag_raw.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input._ag_raw.shape[1]} channels and "
            f"{groups} groups."
        )
    return channel_shuffle_op(input, groups)
