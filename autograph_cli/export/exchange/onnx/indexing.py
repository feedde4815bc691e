"""Reading and writing by index, by mask and through a window, as ONNX operators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from autograph_cli.export.exchange.onnx.model import Call, Unsupported, Writer


def _dims(c: Call, count: int) -> list[int]:
    """The dimensions that the indices stand for."""
    dims = sorted(int(name[8:-1]) for name in c.saved if name.startswith("indices["))
    if dims:
        return dims
    told = c.plain("indices")
    if told is None:
        return list(range(count))
    return [dim for dim, what in enumerate(str(told).strip("()").split(", ")) if what == "tensor"]


class _Picked:
    """The positions that an index picks, as ONNX takes them, and the dimensions of the tensor in another order."""

    def __init__(self, c: Call, indices: int) -> None:
        self.c, rank = c, len(c.given[0].shape)
        types = c.given[1 : 1 + indices]
        self.dims = dims = _dims(c, indices)
        self.mask = types[0].dtype in ("bool", "uint8")
        if len(dims) != indices or (self.mask and (indices > 1 or dims != [0])):
            raise Unsupported("by a mask beside another index" if self.mask else "its indices are not known")
        picked = len(types[0].shape) if self.mask else indices
        first = list(range(picked)) if self.mask else dims
        self.order = [*first, *(dim for dim in range(rank) if dim not in first)]
        self.shape = [] if self.mask else _broadcast([type_.shape for type_ in types])
        adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
        at = dims[0] if adjacent and not self.mask else 0
        rest = rank - picked
        deep = 1 if self.mask else len(self.shape)
        self.out = [*range(deep, deep + at), *range(deep), *range(deep + at, deep + rest)]
        """The place of each dimension of the result among those of the positions and those left."""
        names = c.args[1 : 1 + indices]
        self.positions = (
            c.op("Transpose", c.op("NonZero", names[0]), perm=[1, 0]) if self.mask else self._stacked(names)
        )

    def _stacked(self, names: Sequence[str]) -> str:
        c, sizes = self.c, self.c.ints(self.shape)
        last = c.ints([-1])
        each = [c.op("Unsqueeze", c.op("Expand", c.op("Cast", name, to=7), sizes), last) for name in names]
        return c.op("Concat", *each, axis=-1)

    def turned(self, name: str, order: Sequence[int]) -> str:
        return name if list(order) == sorted(order) else self.c.op("Transpose", name, perm=list(order))


def _broadcast(shapes: Sequence[Sequence[int]]) -> list[int]:
    turned = itertools.zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    return [max(sizes) if 0 not in sizes else 0 for sizes in turned][::-1]


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


def _index(c: Call) -> list[str]:
    picked = _Picked(c, len(c.args) - 1)
    values = c.op("GatherND", picked.turned(c.args[0], picked.order), picked.positions)
    return [picked.turned(values, picked.out)]


def _index_put(c: Call) -> list[str]:
    number = c.plain("values")
    picked = _Picked(c, len(c.args) - (1 if number is not None else 2))
    values = c.const(number) if number is not None else c.cast(c.args[-1], c.given[-1])
    shape = () if number is not None else c.given[-1].shape
    adds = bool(c.plain("accumulate", False))
    if picked.mask and math.prod(shape) == 1 and not adds:
        ones = [1] * (len(c.given[0].shape) - len(c.given[1].shape))
        mask = c.op("Reshape", c.args[1], c.ints([*c.given[1].shape, *ones]))
        return [c.op("Where", mask, c.op("Reshape", values, c.ints([1])), c.args[0])]
    whole = picked.turned(c.args[0], picked.order)
    if picked.mask and len(shape) != 1 + len(c.given[0].shape) - len(c.given[1].shape):
        raise Unsupported("values that fit a mask by broadcasting")
    if not picked.mask:
        left = [c.given[0].shape[dim] for dim in picked.order[len(picked.dims) :]]
        sizes = [[*picked.shape, *left][place] for place in picked.out]
        values = picked.turned(c.op("Expand", values, c.ints(sizes)), _inverse(picked.out))
    kind: dict[str, Any] = {"reduction": "add"} if adds else {}
    written = c.op("ScatterND", whole, picked.positions, values, **kind)
    return [picked.turned(written, _inverse(picked.order))]


def _along(adds: bool) -> Writer:
    """Slices along one dimension are written, or added."""

    def write(c: Call) -> list[str]:
        dim, wanted = c.plain("dim") % len(c.given[0].shape), list(c.given[0].shape)
        wanted[dim] = math.prod(c.given[1].shape)
        index = c.op("Reshape", c.args[1], c.ints([-1 if at == dim else 1 for at in range(len(wanted))]))
        places = c.op("Expand", c.op("Cast", index, to=7), c.ints(wanted))
        source = c.args[2] if len(c.args) > 2 else c.const(c.plain("value"))
        if c.plain("alpha", 1) != 1:
            source = c.op("Mul", source, c.const(c.plain("alpha")))
        source = c.op("Expand", source, c.ints(wanted))
        kind: dict[str, Any] = {"reduction": "add"} if adds else {}
        return [c.op("ScatterElements", c.args[0], places, source, axis=dim, **kind)]

    return write


def _scatter(reduction: str | None) -> Writer:
    """Elements at positions along one dimension; the positions may be fewer than the elements."""

    def write(c: Call) -> list[str]:
        how = {"add": "add", "multiply": "mul", None: reduction}[c.plain("reduce")]
        shape = c.given[1].shape
        if len(c.args) > 2:
            ends = c.ints(shape), c.ints(range(len(shape)))
            source = c.op("Slice", c.args[2], c.ints([0] * len(shape)), *ends)
        else:
            source = c.op("Expand", c.const(c.plain("value")), c.ints(shape))
        kind: dict[str, Any] = {} if how is None else {"reduction": how}
        return [c.op("ScatterElements", c.args[0], c.args[1], source, axis=c.plain("dim"), **kind)]

    return write


_Window = Callable[[Call, Sequence[int], Sequence[int]], tuple[list[int], list[int], int]]
"""The sizes, steps and first position of a view, from the sizes and steps of what it is of."""


def _window(places: _Window) -> Writer:
    """A view whose elements are at positions that the shapes tell: each is looked up."""

    def write(c: Call) -> list[str]:
        shape, rank = c.given[0].shape, len(c.given[0].shape)
        steps = [math.prod(shape[dim + 1 :]) for dim in range(rank)]
        sizes, strides, offset = places(c, shape, steps)
        flat = [offset]
        for size, stride in zip(sizes, strides, strict=True):
            flat = [start + stride * turn for start in flat for turn in range(size)]
        windows = c.op("Gather", c.op("Reshape", c.args[0], c.ints([-1])), c.ints(flat))
        return [c.op("Reshape", windows, c.ints(sizes))]

    return write


def _diagonal(c: Call, shape: Sequence[int], steps: Sequence[int]) -> tuple[list[int], list[int], int]:
    rank, offset = len(shape), c.plain("offset", 0)
    first, second = c.plain("dim1", 0) % rank, c.plain("dim2", 1) % rank
    rest = [dim for dim in range(rank) if dim not in (first, second)]
    size = max(min(shape[first] + min(offset, 0), shape[second] - max(offset, 0)), 0)
    start = offset * steps[second] if offset > 0 else -offset * steps[first]
    return [*(shape[dim] for dim in rest), size], [*(steps[dim] for dim in rest), steps[first] + steps[second]], start


def _unfold(c: Call, shape: Sequence[int], steps: Sequence[int]) -> tuple[list[int], list[int], int]:
    dim, size, step = c.plain("dimension") % len(shape), c.plain("size"), c.plain("step")
    sizes, strides = list(shape), list(steps)
    sizes[dim], strides[dim] = (shape[dim] - size) // step + 1, steps[dim] * step
    return [*sizes, size], [*strides, steps[dim]], 0


INDEXING: dict[str, Writer] = {
    "index": _index,
    "index_put": _index_put,
    "_index_put_impl": _index_put,
    **dict.fromkeys(("index_copy", "index_fill"), _along(adds=False)),
    "index_add": _along(adds=True),
    "scatter": _scatter(None),
    "scatter_add": _scatter("add"),
    "diagonal": _window(_diagonal),
    "unfold": _window(_unfold),
}
"""By the name of the operation."""
