"""Operations that are written as calls: those that pick numbers of a tensor, as `x[0]`, and those without algebra."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import sympy

from autograph_cli import torch
from autograph_cli.formulas import functions as fn
from autograph_cli.formulas.functions import Expr
from autograph_cli.formulas.operations import Bound
from autograph_cli.formulas.sheet import Pulled, Shape, Sheet, product
from autograph_cli.torch._core.operations.operation import operations

_SHORT = {
    "native_layer_norm": "layer_norm",
    "native_batch_norm": "batch_norm",
    "native_group_norm": "group_norm",
    "linalg_det": "det",
    "linalg_inv_ex": "inv",
    "linalg_slogdet": "slogdet",
}


class Given:
    """One output of an operation: the expressions and shapes of its tensors, and its arguments."""

    def __init__(
        self,
        sheet: Sheet,
        args: Sequence[Expr],
        shapes: Sequence[Shape],
        shape: Shape,
        bound: Bound,
        nr: int,
        masks: Sequence[bool],
    ) -> None:
        self.sheet, self.shapes, self.shape, self.bound, self.nr, self.masks = sheet, shapes, shape, bound, nr, masks
        self.args = [sheet.filled(arg, own) for arg, own in zip(args, shapes, strict=True)]
        names = [parameter.name for parameter in bound.record.schema.parameters]
        self.plain = dict(zip(names, bound.slots, strict=True))

    def dim(self, name: str = "dim") -> int:
        """A dimension, counted from the first."""
        return int(self.plain[name]) % max(1, len(self.shapes[0]))

    def write(self, kind: Any, written: str) -> Expr:
        """The output as a call."""
        return self.sheet.call(kind, written, self.shape, lambda *args: self.bound(*args)[self.nr], *self.args)


def call(given: Given) -> Expr:
    """An output of an operation as a call."""
    write = _WRITTEN.get(_name(given.bound))
    if write is not None and (found := write(given)) is not None:
        return found
    kind = fn.picked if _name(given.bound) in _PICKING else fn.called
    return given.write(kind, plain_call(given))


def _name(bound: Bound) -> str:
    """An operation's name as a script knows it."""
    name = bound.record.name.strip("_")
    return _SHORT.get(name, name.removesuffix("_copy"))


def plain_call(given: Given) -> str:
    """`gather({0}, {1}, dim=1)`: all arguments but those that have their default."""
    record, found, last, skipped = given.bound.record, list[str](), list[str](), False
    for parameter, slot in zip(record.schema.parameters, given.bound.slots, strict=True):
        if parameter.name in given.bound.plain and not (parameter.is_tensor or parameter.is_list):
            last.append(f"{parameter.name}={given.bound.plain[parameter.name]}")
        elif (parameter.is_tensor or parameter.is_list) and slot is not None:
            found.append(f"{parameter.name}={_slot(slot)}" if skipped else _slot(slot))
        skipped = skipped or slot is None
    written = f"{_name(given.bound)}({', '.join(found + last)})"
    outputs = record.schema.outputs
    if record.list_result:
        return f"{written}[{given.nr}]"
    named = len(outputs) > 1 and (given.nr or not outputs[0].startswith(("result", "output")))
    return f"{written}.{outputs[given.nr]}" if named else written


def _slot(slot: Any) -> str:
    if isinstance(slot, list):
        return f"[{', '.join(':' if each is None else _slot(each) for each in slot)}]"
    if isinstance(slot, int) and not isinstance(slot, bool):
        return f"{{{slot}}}"
    return str(slot.item()) if isinstance(slot, torch.Tensor) else str(slot)


def _at(dim: int, *entries: object) -> str:
    return f"{{0}}[{', '.join([':'] * dim + [str(entry) for entry in entries])}]"


def selected(sheet: Sheet, expr: Expr, shape: Shape, dim: int, index: int) -> Expr:
    """`x[index]` of a tensor of this shape; a number stays what it is."""
    rest = (*shape[:dim], *shape[dim + 1 :])
    return _picked(sheet, expr, shape, rest, _at(dim, index), lambda x: operations.select(x, dim, index))


def sliced(sheet: Sheet, expr: Expr, shape: Shape, dim: int, span: range) -> Expr:
    """`x[start:stop:step]` of a tensor of this shape; a number stays what it is."""
    start, stop, step = span.start, span.stop, span.step
    rest = (*shape[:dim], len(span), *shape[dim + 1 :])
    ends = f"{start or ''}:{stop if stop < shape[dim] else ''}" + (f":{step}" if step != 1 else "")
    return _picked(sheet, expr, shape, rest, _at(dim, ends), lambda x: operations.slice(x, dim, start, stop, step))


def _picked(sheet: Sheet, expr: Expr, shape: Shape, rest: Shape, written: str, run: Callable[..., Any]) -> Expr:
    if not sheet.shape(expr):
        return expr
    number, body = fn.factored(expr)
    sheet.calls[written] = run
    return number * sheet.pick(sympy.Symbol(written), rest, body, shape)


def _select(given: Given) -> Expr:
    return selected(given.sheet, given.args[0], given.shapes[0], given.dim(), given.plain["index"])


def _slice(given: Given) -> Expr:
    dim = given.dim()
    size = given.shapes[0][dim]
    start, end, step = (given.plain.get(name) for name in ("start", "end", "step"))
    span = range(*slice(start, end, step).indices(size))
    return sliced(given.sheet, given.args[0], given.shapes[0], dim, span)


def _split(given: Given) -> Expr:
    dim = given.dim()
    size = given.shapes[0][dim]
    told = given.plain.get("split_sizes", given.plain.get("split_size"))
    sizes = told if isinstance(told, (tuple, list)) else (told,) * given.nr
    start = sum(sizes[: given.nr])
    span = range(start, min(size, start + given.shape[dim]))
    return sliced(given.sheet, given.args[0], given.shapes[0], dim, span)


def _unbind(given: Given) -> Expr:
    return selected(given.sheet, given.args[0], given.shapes[0], given.dim(), given.nr)


def _index(given: Given) -> Expr:
    entries = [":" if each is None else f"{{{int(each)}}}" for each in given.plain["indices"]]
    return given.write(fn.picked, _at(0, *entries))


def _index_put(given: Given) -> Expr | None:
    """A number put where a mask of the same shape is 1; elsewhere an index may name a place twice."""
    (index, *more), value = given.plain["indices"], given.plain["values"]
    if (
        more
        or index is None
        or not given.masks[index]
        or given.shapes[index] != given.shape
        or given.plain["accumulate"]
    ):
        return None
    if isinstance(value, torch.Tensor):
        return fn.where(given.args[index], sympy.nsimplify(value.item(), rational=True), given.args[0])
    return None if given.shapes[value] else fn.where(given.args[index], given.args[value], given.args[0])


def _index_select(given: Given) -> Expr | None:
    return given.write(fn.picked, _at(given.dim(), "{1}")) if given.shapes[0] else None


def _masked_select(given: Given) -> Expr | None:
    return given.write(fn.picked, "{0}[{1}]") if given.shapes[0] == given.shapes[1] else None


def _embedding(given: Given) -> Expr | None:
    plain = given.plain["padding_idx"] < 0 and not given.plain["scale_grad_by_freq"]
    return given.write(fn.picked, "{0}[{1}]") if plain else None


def _permute(given: Given) -> Expr:
    count = len(given.shape)
    return permuted(given.sheet, given.args[0], [dim % count for dim in given.plain["dims"]])


def permuted(sheet: Sheet, expr: Expr, dims: Sequence[int]) -> Expr:
    """With its dimensions in another order."""
    moved = [at for at, dim in enumerate(dims) if at != dim]
    shape = sheet.shape(expr)
    if not moved or not shape:
        return expr
    if len(moved) == 2:
        return sheet.transposed(expr, *moved)
    written = f"permute({{0}}, {', '.join(map(str, dims))})"
    rest = tuple(shape[dim] for dim in dims)
    inverse = sorted(range(len(dims)), key=dims.__getitem__)

    def back(atom: Expr, grad: Expr) -> list[Pulled]:
        return [(atom.args[1], permuted(sheet, _whole(sheet, grad, rest), inverse), shape)]

    return sheet.with_back(sheet.call(fn.picked, written, rest, lambda x: x.permute(*dims), expr), back)


def _whole(sheet: Sheet, grad: Expr, shape: Shape) -> Expr:
    return sheet.filled(grad, shape) if sheet.shape(grad) else grad


def _joined(given: Given) -> Expr:
    """`cat` and `stack`: each tensor gets back its part of the gradient."""
    sheet, shape, dim = given.sheet, given.shape, int(given.plain["dim"]) % len(given.shape)
    stacked = given.bound.record.name == "stack"
    ends = [0]
    for own in given.shapes:
        if own == (0,) != shape:
            raise KeyError("dim")
        ends.append(ends[-1] + (1 if stacked else own[dim]))

    def back(atom: Expr, grad: Expr) -> list[Pulled]:
        grad = _whole(sheet, grad, shape)
        if stacked:
            parts = [selected(sheet, grad, shape, dim, at) for at in range(len(given.shapes))]
        else:
            parts = [sliced(sheet, grad, shape, dim, range(a, b)) for a, b in pairwise(ends)]
        return list(zip(atom.args[1:], parts, given.shapes, strict=True))

    listed = ", ".join(f"{{{at}}}" for at in range(len(given.args)))
    written = f"{given.bound.record.name}([{listed}], dim={dim})"
    return sheet.with_back(given.write(fn.called, written), back)


def _with_back(given: Given, written: str, back: Callable[[Expr, Expr], Expr]) -> Expr:
    """The output as a call, with what its first tensor gets back, made of the call and its gradient."""
    sheet, shape = given.sheet, given.shapes[0]
    made = given.write(fn.called, written)
    return sheet.with_back(made, lambda atom, grad: [(atom.args[1], back(atom, grad), shape)])


def _same_back(given: Given) -> Expr:
    """Return what is its own inverse, or keeps some numbers: the gradient goes back by the same call."""
    sheet, shape, written = given.sheet, given.shape, plain_call(given)
    return _with_back(
        given,
        written,
        lambda _, grad: sheet.call(fn.called, written, shape, sheet.calls[written], sheet.filled(grad, shape)),
    )


def _cumsum(given: Given) -> Expr:
    """A number's gradient is the sum of those from it on."""
    sheet, shape, written, dim = given.sheet, given.shape, plain_call(given), given.dim()

    def back(_: Expr, grad: Expr) -> Expr:
        grad = sheet.filled(grad, shape)
        before = sheet.call(fn.called, written, shape, sheet.calls[written], grad)
        return sheet.summed(grad, shape, (dim,), keepdim=True) - before + grad

    return _with_back(given, written, back)


def _repeat(given: Given) -> Expr:
    sheet, own, repeats = given.sheet, given.shapes[0], tuple(given.plain["repeats"])
    long = (1,) * (len(repeats) - len(own)) + own
    apart = tuple(size for pair in zip(repeats, long, strict=True) for size in pair)

    def back(_: Expr, grad: Expr) -> Expr:
        if not sheet.shape(grad):
            return grad * math.prod(repeats)
        grad = sheet.reshaped(sheet.filled(grad, given.shape), apart)
        return sheet.reshaped(sheet.summed(grad, apart, range(0, len(apart), 2), keepdim=False), own)

    return _with_back(given, plain_call(given), back)


def _inverse(sheet: Sheet, matrix: Expr, shape: Shape) -> Expr:
    """`inv(A)`, whose gradient is `-Bᵀ @ g @ Bᵀ` for `B = inv(A)`."""

    def back(atom: Expr, grad: Expr) -> list[Pulled]:
        turned = sheet.transposed(atom)
        return [(atom.args[1], -product(sheet, product(sheet, turned, sheet.filled(grad, shape)), turned), shape)]

    return sheet.with_back(sheet.call(fn.called, "inv({0})", shape, torch.linalg.inv, matrix), back)


def _inv(given: Given) -> Expr | None:
    return _inverse(given.sheet, given.args[0], given.shape) if len(given.shape) == 2 and not given.nr else None


def _det(given: Given) -> Expr | None:
    """The determinant, or the logarithm of its size: their gradients hold the transposed inverse."""
    sheet, shape = given.sheet, given.shapes[0]
    sized = _name(given.bound) == "det"
    if len(shape) > 2 or given.nr != (not sized):
        return None
    return _with_back(
        given,
        plain_call(given),
        lambda atom, grad: grad * (atom if sized else 1) * sheet.transposed(_inverse(sheet, atom.args[1], shape)),
    )


def _prod(given: Given) -> Expr | None:
    """A product of all numbers; each one's gradient is the product of the others, not defined here where one is 0."""
    return None if given.shape else _with_back(given, plain_call(given), lambda atom, grad: grad * atom / atom.args[1])


def _trace(given: Given) -> Expr:
    sheet, shape = given.sheet, given.shapes[0]
    unit = sheet.call(fn.called, f"eye({', '.join(map(str, dict.fromkeys(shape)))})", shape, lambda: torch.eye(*shape))
    sheet.constant.add(unit)
    if shape[0] == shape[1]:
        sheet.units.add(unit)
    return _with_back(given, plain_call(given), lambda _, grad: grad * unit)


def _convolution(given: Given) -> Expr:
    """`conv2d(x, w, stride=2)`, with the options that are not what they are where none is given."""
    plain = given.plain
    tensors = [f"{{{plain[name]}}}" for name in ("input", "weight", "bias") if plain[name] is not None]
    options = [
        f"{name}={plain[name][0] if len({*plain[name]}) == 1 else plain[name]}"
        for name, usual in (("stride", 1), ("padding", 0), ("dilation", 1), ("output_padding", 0))
        if {*plain[name]} != {usual}
    ]
    options += [f"groups={plain['groups']}"] * (plain["groups"] != 1)
    name = f"conv{'_transpose' * bool(plain['transposed'])}{len(given.shape) - 2}d"
    return given.write(fn.called, f"{name}({', '.join(tensors + options)})")


_WRITTEN: dict[str, Callable[[Given], Expr | None]] = {
    "select": _select,
    "slice": _slice,
    **dict.fromkeys(("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes"), _split),
    "unbind": _unbind,
    "index": _index,
    "index_put": _index_put,
    "index_select": _index_select,
    "masked_select": _masked_select,
    "embedding": _embedding,
    "permute": _permute,
    "cat": _joined,
    "stack": _joined,
    **dict.fromkeys(("flip", "tril", "triu"), _same_back),
    "cumsum": _cumsum,
    "repeat": _repeat,
    "convolution": _convolution,
    "inv": _inv,
    "det": _det,
    "slogdet": _det,
    "prod": _prod,
    "trace": _trace,
}
_PICKING = frozenset(
    "gather take diagonal roll unfold as_strided rot90 max min topk sort kthvalue median mode cummax cummin "
    "max_pool2d_with_indices max_pool3d_with_indices amax amin".split()
)
"""Operations whose numbers are some of their first tensor's."""
