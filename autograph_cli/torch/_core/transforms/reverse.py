"""Reverse mode under transforms: inputs to differentiate by, results that leave, and `grad` of wrapped tensors.

There is one tape. What a transform differentiates is recorded as everything is, on the lowest tensors; so a `grad` call
on wrapped tensors is worked out from calls on what they wrap.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ..._compiled import compiled
from ..base import dtypes
from ..base.state import BackwardCall, thread_state
from ..operations.operation import operations, table
from ..passes.backward_pass import run
from ..running.device_dispatch import kernels
from ..tape.node import LEAF, AccumulateGrad, Node, edge_of, shown
from ..tape.tensor import Tensor, Wrapped, make, share
from .interpreter_stack import BatchLevel, DualLevel, Level, belongs_here, interprets
from .transforms import Batched, Dual, batched, core, detached, dual, plain_parts, top_level, zeros_like


class GradCall:
    """The arguments of `autograd.grad`: roots, targets, and a cotangent for each root."""

    __slots__ = ("cotangents", "create_graph", "retain_graph", "roots", "targets")

    def __init__(self, roots: Any, targets: Any, cotangents: Any, retain_graph: bool, create_graph: bool) -> None:
        self.roots: list[Any] = list(roots)
        self.targets: list[Any] = list(targets)
        self.cotangents: list[Any] = list(cotangents)
        self.retain_graph = retain_graph
        self.create_graph = create_graph

    def run(self) -> list[Tensor | None]:
        """The gradients; None where a target was not reached."""
        level = top_level((*self.roots, *self.targets)) if thread_state.levels else None
        if level is not None:
            return level.grad(self)
        call = BackwardCall("grad", self.roots, self.targets, self.retain_graph, self.create_graph)
        return run(call, self.cotangents)

    def of(self, roots: Any, targets: Any, cotangents: Any, retain_graph: bool = True) -> list[Tensor | None]:
        """The gradients of other tensors, as this call wants its own."""
        if not roots or not targets:
            return [None] * len(targets)
        return GradCall(roots, targets, cotangents, retain_graph, self.create_graph).run()


def backward_parts(roots: list[Any], grads: list[Any]) -> tuple[list[Any], list[Any]]:
    """The roots and gradients of a `backward` call without their tangents, of which PyTorch keeps none in `.grad`."""
    return [core(x) for x in roots], [core(x) for x in grads]


# ---------------------------------------------------------------- duals


@interprets(DualLevel, "grad")
def of_duals(level: DualLevel, call: GradCall) -> list[Tensor | None]:
    """Gradients of the primals, with the derivative of these gradients along the tangents as theirs."""
    roots, root_tangents = zip(*(split(level, x) for x in call.roots), strict=True)
    targets, target_tangents = zip(*(split(level, x) for x in call.targets), strict=True)
    seeds, seed_tangents = zip(*(split(level, x) for x in call.cotangents), strict=True)
    pairs = [(t, s) for t, s in zip(root_tangents, seeds, strict=True) if t is not None and t.requires_grad]
    pairs += [(r, t) for r, t in zip(roots, seed_tangents, strict=True) if t is not None]
    first = call.of(roots, targets, seeds, call.retain_graph or bool(pairs))
    if not pairs:
        return first
    once, cotangents = zip(*pairs, strict=True)
    second = call.of(once, targets, cotangents)
    result: list[Tensor | None] = []
    for p, t, target, own in zip(first, second, targets, target_tangents, strict=True):
        if t is not None and own is not None and own.requires_grad and core(own)._ag_edge is not LEAF:
            t = _without(own, target, t, call, once, cotangents)
        result.append(p if p is None or t is None else pair(level, p, t))
    return result


def _without(tangent: Any, target: Any, g: Any, call: GradCall, roots: Any, cotangents: Any) -> Any:
    """The gradient by `target` while its own tangent, which may have been computed from it, stays as it is."""
    (through,) = GradCall(roots, [tangent], cotangents, True, True).run()
    own = None if through is None else call.of([tangent], [target], [through])[0]
    return g if own is None else g - own


def split(level: Level, x: Any) -> tuple[Any, Any]:
    """The primal and the tangent (or None) of `level`, which higher levels may have wrapped."""
    if not isinstance(x, Wrapped) or x._ag_level.depth < level.depth:
        return x, None
    if isinstance(x, Dual):
        if x._ag_level is level:
            return x._ag_primal, x._ag_tangent
        (p, pt), (t, tt) = split(level, x._ag_primal), split(level, x._ag_tangent)
        tangent = None if pt is None and tt is None else _dual_of(x._ag_level, pt, tt)
        return dual(x._ag_level, p, t), tangent
    assert isinstance(x, Batched)
    p, t = split(level, x._ag_value)
    return batched(x._ag_level, p, x._ag_bdim), None if t is None else batched(x._ag_level, t, x._ag_bdim)


def _dual_of(level: DualLevel, p: Any, t: Any) -> Any:
    if t is None:
        return p
    return dual(level, zeros_like(t) if p is None else p, t)


def pair(level: DualLevel, p: Tensor, t: Tensor) -> Tensor:
    """The dual of `level`, beneath the wrappers of higher levels."""
    top = top_level((p, t))
    if top is None or top.depth < level.depth:
        return dual(level, p, t)
    if isinstance(top, BatchLevel):
        return batched(top, pair(level, in_front(top, p), in_front(top, t)), 0)
    (a, b), (c, d) = split(top, p), split(top, t)
    if b is None or d is None:
        b, d = (zeros_like(a) if b is None else b), (zeros_like(c) if d is None else d)
    return dual(top, pair(level, a, c), pair(level, b, d))


# ---------------------------------------------------------------- batches


@interprets(BatchLevel, "grad")
def of_batches(level: BatchLevel, call: GradCall) -> list[Tensor | None]:
    """Gradients for each element of the batch: those of the values, as no element depends on another's."""
    within = [isinstance(x, Batched) and x._ag_level is level for x in call.targets]
    pairs = list(zip(call.roots, call.cotangents, strict=True))
    inner = [(r, c) for r, c in pairs if isinstance(r, Batched) and r._ag_level is level]
    outer = [(r, c) for r, c in pairs if not (isinstance(r, Batched) and r._ag_level is level)]
    roots = [r._ag_value for r, _ in inner]
    seeds = [laid_out(level, c, r._ag_bdim, r._ag_value._ag_raw.shape) for r, c in inner]
    targets = [x._ag_value if inside else x for x, inside in zip(call.targets, within, strict=True)]
    result = call.of(roots, targets, seeds, call.retain_graph)
    if any(g is not None and not inside for g, inside in zip(result, within, strict=True)):
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    result = [None if g is None else wrapped(level, g, x._ag_bdim) for g, x in zip(result, call.targets, strict=True)]
    if outer:
        positions = [i for i, inside in enumerate(within) if not inside]
        others = call.of(
            [r for r, _ in outer], [call.targets[i] for i in positions], [c for _, c in outer], call.retain_graph
        )
        for i, g in zip(positions, others, strict=True):
            result[i] = g
    return result


def in_front(level: BatchLevel, x: Tensor) -> Any:
    """The value of `x` with the batch of `level`, no lower one, as its first dimension."""
    if isinstance(x, Batched) and x._ag_level is level:
        return x._ag_value.movedim(x._ag_bdim, 0)
    return x.unsqueeze(0).expand(level.size, *x._ag_raw.shape)


def laid_out(level: BatchLevel, x: Any, bdim: int, shape: tuple[int, ...]) -> Any:
    """The value of `x` with the batch of `level` as its dimension `bdim`, beneath the wrappers of higher levels."""
    if isinstance(x, Wrapped) and x._ag_level.depth > level.depth:
        if isinstance(x, Dual):
            return x._ag_lower(lambda lower: laid_out(level, lower, bdim, shape))
        size = x._ag_level.size
        return batched(x._ag_level, laid_out(level, in_front(x._ag_level, x), bdim + 1, (size, *shape)), 0)
    if isinstance(x, Batched) and x._ag_level is level:
        return x._ag_value.movedim(x._ag_bdim, bdim)
    return x.unsqueeze(bdim).expand(shape)


def wrapped(level: BatchLevel, x: Any, bdim: int) -> Any:
    """`x`, whose dimension `bdim` is the batch of `level`, as a batched tensor beneath the wrappers of higher
    levels."""
    if isinstance(x, Wrapped) and x._ag_level.depth > level.depth:
        if isinstance(x, Dual):
            return x._ag_lower(lambda lower: wrapped(level, lower, bdim))
        return batched(x._ag_level, wrapped(level, in_front(x._ag_level, x), bdim + 1), 0)
    return batched(level, x, bdim)


# ---------------------------------------------------------------- inputs and results of a transform


def fresh(x: Tensor, depth: int | None = None) -> Tensor:
    """`x` again as an input of its own, which requires a gradient: a view if `x` already does, a new leaf otherwise.

    Within a vmap of which `x` knows nothing it is expanded, so that each element of the batch has a gradient of its
    own.
    """
    batch = _innermost_batch(len(thread_state.levels) if depth is None else depth)
    level: Level | None = x._ag_level if isinstance(x, Wrapped) and x._ag_level.alive else None
    if batch is not None and (level is None or level.depth < batch.depth):
        value = x.unsqueeze(0).expand(batch.size, *x._ag_raw.shape)
        return batched(batch, fresh(value, batch.depth - 1), 0)
    if isinstance(x, Dual):
        return (
            fresh(x._ag_primal, depth)
            if level is None
            else dual(x._ag_level, fresh(x._ag_primal, depth), x._ag_tangent)
        )
    if isinstance(x, Batched):
        return batched(x._ag_level, fresh(x._ag_value, x._ag_level.depth - 1), x._ag_bdim)
    if edge_of(x) is not None:
        return _own_alias(x)
    if dtypes.CATEGORY[x._ag_raw.dtype] < dtypes.FLOATING:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    made: Tensor = share(x, counts=True)
    if dtypes.CATEGORY[made._ag_raw.dtype] < dtypes.FLOATING:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    made.requires_grad = True
    return belongs_here(made)


def _own_alias(x: Tensor) -> Tensor:
    result = operations.alias(x)
    edge = edge_of(result)
    if edge is not None:
        edge[0].__class__ = _own_alias_node()
    return result


@functools.cache
def _own_alias_node() -> type[Node]:
    """The node of an alias by which a transform differentiates."""
    node = table["alias"].node
    kind: Any = type(node)
    result: type[Node] = kind(node.__name__, (node,), {"__slots__": (), "_ag_unseen": True})
    return result


def _innermost_batch(depth: int) -> BatchLevel | None:
    return next((level for level in reversed(thread_state.levels[:depth]) if isinstance(level, BatchLevel)), None)


def own_leaves(inputs: list[Tensor]) -> set[Any]:
    """The nodes of those of a transform's `fresh` inputs that are leaves."""
    return {edge[0] for x in map(core, inputs) if x._ag_edge is LEAF and (edge := edge_of(x))}


def settle(x: Tensor, own: set[Any]) -> Tensor:
    """A transform's result: out of the graph if nothing but the leaves in `own` can be reached from it."""
    return x if thread_state.grad and any(reaches_other(part, own) for part in plain_parts(x)) else detached(x)


def reaches_other(x: Tensor, own: set[Any]) -> bool:
    """Return whether the graph of a plain tensor has a leaf that is not in `own`."""
    edge = edge_of(x)
    return edge is not None and any(leaf not in own for leaf in leaves_behind(edge[0]))


def _leaves_behind(node: Node) -> list[AccumulateGrad]:
    """The leaves that a node leads to."""
    reached, seen = [node], {node}
    leaves: list[AccumulateGrad] = []
    for node in reached:  # which grows
        if isinstance(node, AccumulateGrad):
            leaves.append(node)
        for edge in node._ag_edges:
            if edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                reached.append(edge[0])
    return leaves


_fast: Any = compiled("_core.running.fast_tape")
leaves_behind: Callable[[Node], list[AccumulateGrad]] = _fast.leaves_behind if _fast else _leaves_behind


def outer_history(x: Tensor) -> tuple[bool, str | None]:
    """Return whether what was made inside a transform asks for a gradient outside of it, and the name of the node it
    has there."""
    edge = edge_of(x)
    if edge is None or all(getattr(leaf.variable, "_ag_born", None) is not None for leaf in leaves_behind(edge[0])):
        return False, None
    node = shown(edge)[0]
    return True, None if node.__class__ is AccumulateGrad else type(node).__name__


def ones_like(x: Tensor) -> Tensor:
    """Ones, outside every transform."""
    return make(kernels(core(x)._ag_raw).ones(x._ag_raw.shape, x._ag_raw.dtype)[()])


def standard_basis(tensors: list[Tensor]) -> tuple[Tensor, ...]:
    """The identity matrix over all elements of the tensors, its columns apart and in the tensors' shapes."""
    sizes = [math.prod(t._ag_raw.shape) for t in tensors]
    total, begin, found = sum(sizes), 0, []
    for t, n in zip(tensors, sizes, strict=True):
        found.append(
            make(kernels(core(t)._ag_raw).xp.eye(total, n, -begin, t._ag_raw.dtype).reshape((total, *t._ag_raw.shape)))
        )
        begin += n
    return tuple(found)
