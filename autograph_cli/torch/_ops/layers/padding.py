"""Padding: constants, mirrored, repeated and circular edges."""

from __future__ import annotations

from typing import Any

from ..._core.arguments.arg_check import hands_on
from ..._core.base.caching import cached
from ..._core.base.memory_format import as_input
from ..._core.operations.operation import operation
from ..._core.operations.registry import functions
from ..._core.running.device_dispatch import kernels
from ..._core.tape.tensor import Tensor, make
from ..._core.transforms import batching
from ..._core.transforms.transforms import beside
from ..shaping import views

Pad = tuple[int, ...]

constant_pad = operation(
    "constant_pad_nd(Tensor self, int[] pad, Scalar value=0)",
    doc=(
        "`input` with `value` around it.\n\n"
        "`pad` has two lengths, before and after, for each dimension from the last one backwards; a "
        "negative one cuts.\n"
        "RuntimeError for more lengths than twice the dimensions, or if a size would become negative."
    ),
    float8=True,
    memory_format="channels_last",
    batch=batching.leading,
    self=lambda f, grad, pad: f.constant_pad_nd(grad, tuple(-n for n in pad), 0),
)


def _edge_padding(kind: str, dim: int, autocast: str = "fp32") -> Any:
    """The operation that pads `dim` dimensions, and its backward."""
    name = f"{kind}_pad{dim}d"
    node = f"{kind.capitalize()}Pad{dim}DBackward"
    run = operation(
        f"{name}(Tensor self, int[] padding)",
        node=f"{node}0",
        linear=True,
        autocast=autocast,
        refuses={"b": name},
        memory_format="channels_last" if dim > 1 else "",
        batch=batching.folded,
        self=lambda f, grad, self, padding: getattr(f, f"{name}_backward")(grad, self, padding),
    )
    operation(
        f"{name}_backward(Tensor grad_output, Tensor self, int[] padding)",
        memory_format=as_input,
        node=f"{node}Backward0",
        linear=True,
        batch=batching.folded,
        saves_all=True,
        grad_output=lambda f, grad, padding: getattr(f, name)(grad, padding),
        self=lambda f, self: f.zeros_of(self.shape, self),
    )
    return run


reflection = {dim: _edge_padding("reflection", dim, "fp32" if dim < 3 else "") for dim in (1, 2, 3)}
replication = {dim: _edge_padding("replication", dim) for dim in (1, 2, 3)}


def _circular(input: Tensor, padding: Pad) -> Tensor:
    """The image repeated in every direction; each edge is copied from the other side, as PyTorch records it."""
    dims = len(padding) // 2
    shape = list(input._ag_raw.shape)
    for i in range(dims):
        d = input.ndim - 1 - i
        left, right = padding[2 * i : 2 * i + 2]
        if left > shape[d] or right > shape[d]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        shape[d] += left + right
        if shape[d] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    out = beside(input, lambda x, size: make(kernels(x._ag_raw).xp.empty(size, x._ag_raw.dtype)), tuple(shape))
    inside, source = out, input
    for i in range(dims):
        d = input.ndim - 1 - i
        left, right = padding[2 * i : 2 * i + 2]
        inside = views.slice_op(inside, d, max(left, 0), shape[d] - max(right, 0), 1)
        source = views.slice_op(source, d, max(-left, 0), input._ag_raw.shape[d] - max(-right, 0), 1)
    inside.copy_(source)
    for i in range(dims):
        _wrap(out, input.ndim - 1 - i, *padding[2 * i : 2 * i + 2])
    return out


def _wrap(out: Tensor, d: int, left: int, right: int) -> None:
    n, start, end = out._ag_raw.shape[d], max(left, 0), max(right, 0)
    if left > 0:
        views.slice_op(out, d, 0, left, 1).copy_(views.slice_op(out, d, n - left - end, n - end, 1))
    if right > 0:
        views.slice_op(out, d, n - right, n, 1).copy_(views.slice_op(out, d, start, start + right, 1))


@hands_on(lambda input, pad, mode="constant", value=None: ("nn", "pad", (input, pad, mode, value), {}))
def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Widen the last dimensions: `pad` is (left, right) of the last, then of the one before, and so on.

    Raises RuntimeError for an odd or too long `pad`, NotImplementedError for a mode that is not defined for the
    dimensions.

    >>> from autograph_cli import torch
    >>> torch.nn.functional.pad(torch.ones(2), (1, 0))
    tensor([0., 1., 1.])
    """
    valued = mode != "constant" and value is not None and value != 0
    padding = _widths(input._ag_raw.shape, pad, mode, valued)
    if mode == "constant":
        return constant_pad(input, padding, 0 if value is None else value)
    if mode == "circular":
        return _circular(input, padding)
    result: Tensor = (reflection if mode == "reflect" else replication)[len(padding) // 2](input, padding)
    return result


@cached
def _widths(shape: tuple[int, ...], pad: Any, mode: str, valued: bool) -> Pad:
    """`pad` in whole numbers; an error where it does not fit."""
    padding, rank = tuple([int(n) for n in pad]), len(shape)
    if len(padding) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(padding) > 2 * rank:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(padding)} and input of dimension {rank}"
        )
    if mode == "constant":
        _check_left(shape, padding)
        return padding
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if valued:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(padding) // 2
    if dims not in (1, 2, 3) or rank not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(padding)} is not supported for {rank}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode != "circular":
        _check_edges(shape, padding, mode)
    return padding


def _check_left(shape: tuple[int, ...], padding: tuple[int, ...]) -> None:
    """RuntimeError where less than nothing would be left of a dimension."""
    for i in range(len(padding) // 2):
        d = len(shape) - 1 - i
        left, right = padding[2 * i : 2 * i + 2]
        if shape[d] + min(left, 0) + min(right, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")


def _check_edges(shape: tuple[int, ...], padding: tuple[int, ...], mode: str) -> None:
    sides = len(padding) // 2
    if 0 in shape[-sides - 1 :]:
        raise RuntimeError(
            f"Expected {sides + 1}D or {sides + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    for i in range(sides):
        d = len(shape) - 1 - i
        left, right, n = *padding[2 * i : 2 * i + 2], shape[d]
        if mode == "reflect" and (left >= n or right >= n):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({left}, {right}) at dimension {d} of input {list(shape)}"
            )
        if n + left + right < 1:
            raise RuntimeError(f"input (W: {n}) is too small. Calculated output W: {n + left + right}")


functions["constant_pad_nd"] = constant_pad
