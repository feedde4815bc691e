"""Forward mode: the tangent of each operation, from what its record says. There is no second table of derivatives.

Pointwise operations use their formula with the tangent in the place of the gradient, linear ones run on the tangents, and
all others transpose their recorded formula once more: what `vjp` does to a cotangent is linear, and its own `vjp` is the `jvp`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import dtypes, general, views
from .gradients import fit_recorded
from .node import Node, SavedList, View, extra_of, like_of
from .operation import operations
from .reverse import GradCall, fresh
from .state import L, next_sequence_nr
from .tensor import Tensor
from .transforms import Dual, DualLevel, detached, dual, plain_parts, zeros_like

if TYPE_CHECKING:
    from .operation import Operation

Tangents = list[Any]
"""For each input that has a derivative, its tangent or None; lists of tensors are laid out flat."""


def run(level: DualLevel, op: Operation, args: tuple[Any, ...]) -> Any:
    """`op` on the primals, and the tangents of what it gives."""
    args = joined(level, args)
    primals = tuple(split(level, x)[0] for x in args)
    result = general.run(op, primals)
    outputs = list(result) if op.multiple else [result]
    tangents = tangents_of(op, args, [split(level, x)[1] for x in args], primals, outputs) if L.forward else None
    if tangents is None:
        return result
    made = [o if t is None else dual(level, o, t) for o, t in zip(outputs, tangents, strict=True)]
    return general.pack_outputs(op, made)


def split(level: DualLevel, x: Any) -> tuple[Any, Any]:
    """An argument's primal and its tangent (None if it has none); lists element by element."""
    if isinstance(x, Dual):
        return (x._primal, x._tangent) if x._level is level else (split(level, x._primal)[0], None) if not x._level.alive else (x, None)
    if isinstance(x, (tuple, list)) and any(isinstance(t, Dual) for t in x):
        pairs = [split(level, t) for t in x]
        return [p for p, _ in pairs], [t for _, t in pairs]
    return x, None


def tangents_of(op: Operation, args: Any, given: Any, primals: Any, outputs: list[Tensor]) -> Tangents | None:
    """The tangents of the outputs, fitted to them; None if there is nothing to follow."""
    inputs: Tangents = []
    for i, parameter in op.input_places:
        t = given[i]
        inputs += ([None] * len(primals[i]) if t is None else t) if parameter.is_list else [t]
    if all(t is None for t in inputs):
        return None
    with outside_inference():
        found = strategy(op)(op, primals, outputs, inputs)
    needed = L.grad and any(part.requires_grad for x in (*flat(primals), *inputs) if isinstance(x, Tensor) for part in plain_parts(x))
    fitted = []
    for i, (t, o) in enumerate(zip(found, outputs, strict=True)):
        if t is None or not general.differentiable(op, i, o):
            fitted.append(None)
        else:
            t = t if op.view else fit(t, o)
            fitted.append(t if needed else detached(t))
    return fitted


def strategy(op: Operation) -> Any:
    if op.linear == "each":
        return by_input
    if op.linear:
        return together
    return elementwise if op.pointwise and not op.multiple else transposed


def flat(args: Any) -> Iterator[Any]:
    for x in args:
        if isinstance(x, (tuple, list)):
            yield from flat(x)
        else:
            yield x


def fit(t: Tensor, like: Tensor) -> Tensor:
    """A tangent with the shape and dtype of its primal, in memory of its own."""
    kind = like._raw.dtype
    if t._raw.dtype != kind:
        to_real = dtypes.CATEGORY[t._raw.dtype] == dtypes.COMPLEX and dtypes.CATEGORY[kind] != dtypes.COMPLEX
        t = operations._to_copy(operations.real(t) if to_real else t, kind)
    if t._raw.shape != like._raw.shape:
        t = operations.clone(operations.expand(t, like._raw.shape))
    return t


@contextmanager
def outside_inference() -> Iterator[None]:
    before, L.inference = L.inference, False
    try:
        yield
    finally:
        L.inference = before


# ---------------------------------------------------------------- three strategies


def together(op: Operation, primals: Any, outputs: list[Tensor], tangents: Tangents) -> Tangents:
    """A linear operation: the same of the tangents, with zeros where there is none."""
    args, rest = list(primals), iter(tangents)
    for i, parameter in op.input_places:
        x = primals[i]
        if parameter.is_list:
            args[i] = [zeros_like(p) if t is None else t for p, t in zip(x, rest, strict=False)] if x else x
        else:
            t = next(rest)
            args[i] = x if x is None else zeros_like(x) if t is None else t
    result = general.run(op, tuple(args))
    return list(result) if op.multiple else [result]


def by_input(op: Operation, primals: Any, outputs: list[Tensor], tangents: Tangents) -> Tangents:
    """A product: the sum of the operation on the tangent of one input and the primals of the others."""
    total: Any = None
    for (i, _), t in zip(op.input_places, tangents, strict=True):
        if t is not None:
            part = general.run(op, (*primals[:i], t, *primals[i + 1 :]))
            total = part if total is None else total + part
    return [total]


def elementwise(op: Operation, primals: Any, outputs: list[Tensor], tangents: Tangents) -> Tangents:
    """A pointwise operation: what its formulas make of the tangents."""
    node = formula_node(op, primals, outputs)
    total: Any = None
    for i, t in enumerate(tangents):
        if t is not None:
            edges = tuple(_WANTED if i == k else None for k in range(len(tangents)))
            part = node._run_recorded(operations, conj(t), edges)[i]
            if part is not None:
                total = conj(part) if total is None else total + conj(part)
    return [total]


def conj(x: Tensor) -> Any:
    return operations.conj(x) if dtypes.CATEGORY[x._raw.dtype] == dtypes.COMPLEX else x


def transposed(op: Operation, primals: Any, outputs: list[Tensor], tangents: Tangents) -> Tangents:
    """Any operation: the `vjp` of the `vjp` by the cotangent."""
    mode, L.grad = L.grad, True
    try:
        seeds = [fresh(zeros_like(o)) if general.differentiable(op, i, o) else None for i, o in enumerate(outputs)]
        edges = tuple(None if t is None else _WANTED for t in tangents)
        node = formula_node(op, primals, outputs)
        back = node._run_recorded(operations, seeds if op.multiple else seeds[0], edges)
        inputs = [x for (i, p) in op.input_places for x in (primals[i] if p.is_list else [primals[i]])]
        roots, cotangents = [], []
        for g, t, x in zip(back, tangents, inputs, strict=True):
            if g is None or t is None:
                continue
            g = fit_recorded(g, like_of(x._raw))
            if g.requires_grad:
                roots.append(g)
                cotangents.append(fit(t, g))
        targets = [s for s in seeds if s is not None]
        found = GradCall(roots, targets, cotangents, True, True).run() if roots and targets else [None] * len(targets)
    finally:
        L.grad = mode
    rest = iter(found)
    return [None if s is None else next(rest) for s in seeds]


_WANTED: Any = (None, 0)
"""Stands for an edge: the gradient of this input is asked for."""


def formula_node(op: Operation, primals: Any, outputs: list[Tensor]) -> Any:
    """A node of the operation outside every graph, of which only the formulas are wanted."""
    if not op.derivatives or op.node.__name__ == "NotImplemented":
        raise NotImplementedError(f"Trying to use forward AD with {op.name} that does not support it because it has not been implemented yet.")
    node: Node = object.__new__(op.node)
    node._edges = general.edges_of(op, primals)
    node._extra = None
    node._seq = next_sequence_nr()
    likes = [like_of(o._raw) for o in outputs]
    node._like = likes if op.multiple else likes[0]
    named = dict(zip((p.name for p in op.schema.parameters), primals, strict=True))
    items: list[Any] = []
    for index, name in enumerate(op.saved_names):
        if name in op.schema.outputs:
            item: Any = outputs[op.schema.outputs.index(name)]
        elif name in named:
            item = named[name]
            item = SavedList(item) if isinstance(item, (tuple, list)) and op.is_tensor(name) else item
        else:
            item = general.property_of({**named, "result": outputs[0]}, name)
        items.append(item)
        if isinstance(item, Tensor) and item._counter is not None and item._counter[0]:
            extra = extra_of(node)
            extra.versions = {**(extra.versions or {}), index: item._counter[0]}
    node._saved = tuple(items)
    return node


# ---------------------------------------------------------------- in-place


def joined(level: DualLevel, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, where views of what has become a dual since are duals too."""
    for x in flat(args):
        if x.__class__ is Tensor and x._edge.__class__ is View and x._edge.base.__class__ is Dual:
            promote(level, x)
    return args


def promote(level: DualLevel, x: Tensor) -> None:
    """Make a plain tensor a dual, with zeros as its tangent; a view shares the tangent of its base."""
    if isinstance(x, Dual):
        return
    if x.__class__ is not Tensor:
        raise NotImplementedError(f"a {type(x).__name__} cannot be changed in place by a tensor with a tangent")
    edge = x._edge
    if edge.__class__ is View:
        promote(level, edge.base)
        base = edge.base._tangent
        shape, strides, offset = views.geometry(views.materialize(x), edge.base._raw)
        tangent = operations.as_strided(base, shape, strides, offset)
    else:
        tangent = zeros_like(x)
        if x._raw.shape:
            tangent._raw = views.empty_strided(x._raw.shape, views.strides_of(x._raw), x._raw.dtype)
            tangent._raw[...] = 0
    primal = general.make(x._raw, edge)
    primal._counter, primal._meta = x._counter, x._meta
    x.__class__ = Dual  # type: ignore[assignment]
    x._level, x._primal, x._tangent = level, primal, tangent  # type: ignore[attr-defined]
    level.promoted.append(x)  # type: ignore[arg-type]


def run_inplace(level: DualLevel, op: Operation, args: tuple[Any, ...]) -> Tensor:
    """Change a primal in place, and its tangent with it."""
    args = joined(level, args)
    pairs = [split(level, x) for x in args]
    primals = tuple(p for p, _ in pairs)
    target: Any = args[0]
    tangent: Any = None
    if L.forward:
        found = general.run(op, primals)
        tangents = tangents_of(op, args, [t for _, t in pairs], primals, [found])
        tangent = tangents[0] if tangents else None
    if tangent is None and not isinstance(target, Dual):
        views.run_inplace(op, primals)
        return target  # type: ignore[no-any-return]
    promote(level, target)
    tangent = zeros_like(target) if tangent is None else tangent
    views.run_inplace(op, (target._primal, *primals[1:]))
    target._tangent.copy_(tangent)
    return target  # type: ignore[no-any-return]
