"""Forward mode: the tangent of each operation, from what its record says. There is no second table of derivatives.

Pointwise operations use their formula with the tangent instead of the gradient, linear ones run on the tangents,
and all others transpose their recorded formula once more: what `vjp` does to a cotangent is linear, and its own `vjp`
is the `jvp`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._arrays.backends import backend_of
from ..._arrays.meta import Meta
from ..._arrays.storages import empty_strided, owner
from ..base import dtypes
from ..base.errors import refused
from ..base.memory_format import strides_of
from ..base.state import next_sequence_nr, thread_state
from ..operations import recomputed
from ..operations.operation import operations
from ..running import dispatch, views
from ..running.device_dispatch import kernels
from ..running.gradients import fit_recorded
from ..running.inplace import run_inplace as run_inplace_
from ..running.views import repeats
from ..tape.node import Node, View, edge_of, extra_of, output_meta
from ..tape.tensor import Tensor, Wrapped, make, materialize
from .interpreter_stack import DualLevel, in_function, interprets
from .reverse import GradCall, fresh, ones_like
from .transforms import Batched, Dual, beside, core, detached, dual, plain_parts, views_dual, zero_where, zeros_like

if TYPE_CHECKING:
    from ..operations.operation import Operation

Tangents = list[Any]
"""For each input that has a derivative, its tangent or None; lists of tensors are laid out flat."""


@interprets(DualLevel, "run")
def run(level: DualLevel, op: Operation, args: tuple[Any, ...]) -> Any:
    """`op` on the primals, and the tangents of what it gives."""
    args = joined(level, args)
    primals = tuple(split(level, x)[0] for x in args)
    result = dispatch.run(op, primals)
    outputs = list(result) if op.multiple else [result]
    tangents = None
    if follows(level):
        tangents = tangents_of(level, op, args, [split(level, x)[1] for x in args], primals, outputs)
    if tangents is None:
        return result
    made = [o if t is None else dual(level, o, t) for o, t in zip(outputs, tangents, strict=True)]
    return dispatch.pack_outputs(op, made)


def follows(level: DualLevel) -> bool:
    """Return whether tangents are computed; as in PyTorch, inference mode stops those of `dual_level`, not those of a
    transform."""
    return thread_state.forward and not (level.by_hand and thread_state.inference)


def split(level: DualLevel, x: Any) -> tuple[Any, Any]:
    """An argument's primal and its tangent (None if it has none); lists element by element."""
    if isinstance(x, Dual):
        return (
            (x._ag_primal, x._ag_tangent)
            if x._ag_level is level
            else (split(level, x._ag_primal)[0], None)
            if not x._ag_level.alive
            else (x, None)
        )
    if isinstance(x, (tuple, list)) and any(isinstance(t, Dual) for t in x):
        pairs = [split(level, t) for t in x]
        return [p for p, _ in pairs], [t for _, t in pairs]
    return x, None


def tangents_of(
    level: DualLevel, op: Operation, args: Any, given: Any, primals: Any, outputs: list[Tensor]
) -> Tangents | None:
    """The tangents of the outputs, fitted to them; None if there is nothing to follow."""
    inputs: Tangents = []
    for i, parameter in op.input_positions:
        t = given[i]
        inputs += ([None] * len(primals[i]) if t is None else t) if parameter.is_list else [t]
    if all(t is None for t in inputs):
        return None
    if thread_state.inference:
        primals, outputs, inputs = ordinary(primals), ordinary(outputs), ordinary(inputs)
    by_hand, thread_state.by_hand = thread_state.by_hand, level.by_hand
    try:
        with outside_inference():
            found = strategy(op, outputs, inputs)(op, primals, outputs, inputs)
    except (NotImplementedError, RuntimeError) as error:
        if "derivative for" in str(error):
            raise no_forward(op) from error
        raise
    finally:
        thread_state.by_hand = by_hand
    needed = thread_state.grad and any(
        part.requires_grad for x in (*flat(primals), *inputs) if isinstance(x, Tensor) for part in plain_parts(x)
    )
    fitted: list[Any] = []
    for i, (t, o) in enumerate(zip(found, outputs, strict=True)):
        if o is None or not dispatch.differentiable(op, i, o):
            fitted.append(None)
            continue
        t = zeros_like(o) if t is None else fit(t, o)
        fitted.append(t if needed or not t.requires_grad else detached(t))
    return fitted


def strategy(op: Operation, outputs: list[Tensor], tangents: Tangents) -> Any:
    """Return how the tangents of an operation are worked out, by what its record says of it."""
    if op.tangent is not None:
        return as_written
    if op.linear == "each":
        return by_input
    if op.linear:
        return together
    if op.multiple or not op.pointwise:
        return transposed
    return in_parts if any(t is not None and is_complex(t) for t in (*outputs, *tangents)) else elementwise


def is_complex(x: Tensor) -> bool:
    """Return whether its elements are complex."""
    return dtypes.CATEGORY[x._ag_raw.dtype] == dtypes.COMPLEX


def flat(args: Any) -> Iterator[Any]:
    """The arguments, those in lists and tuples too."""
    for x in args:
        if isinstance(x, (tuple, list)):
            yield from flat(x)
        else:
            yield x


def fit(t: Tensor, like: Tensor) -> Tensor:
    """A tangent with the shape, the dtype and the strides of its primal: what views of both do is the same then."""
    kind = like._ag_raw.dtype
    if t._ag_raw.dtype != kind:
        t = operations._to_copy(operations.real(t) if is_complex(t) and not is_complex(like) else t, kind)
    if t._ag_raw.shape != like._ag_raw.shape:
        t = operations.expand(t, like._ag_raw.shape)
    return laid_out(t, like)


def laid_out(t: Tensor, like: Tensor) -> Tensor:
    """A tangent with the strides of its primal."""
    if isinstance(t, Wrapped):
        return t if isinstance(t, Batched) else t._ag_lower(lambda lower: laid_out(lower, like))
    wanted = core(like)._ag_raw
    strides = strides_of(wanted)
    if t._ag_raw.shape != wanted.shape or not t._ag_raw.shape or strides_of(t._ag_raw) == strides:
        return t
    if repeats(wanted):
        return t.contiguous()
    made = make(empty_strided(wanted.shape, strides, t._ag_raw.dtype, t._ag_raw))
    return made.copy_(t)


def ordinary(x: Any) -> Any:
    """Tensors that inference mode made, as ones that can be saved."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(ordinary, x))
    if isinstance(x, Wrapped):
        return x._ag_lower(ordinary)
    return make(x._ag_raw) if isinstance(x, Tensor) and x.is_inference() else x


@contextmanager
def outside_inference() -> Iterator[None]:
    """Within the block, tensors are made as outside of inference mode."""
    before, thread_state.inference = thread_state.inference, False
    try:
        yield
    finally:
        thread_state.inference = before


def paired(primal: Tensor, tangent: Tensor) -> tuple[Tensor, Tensor]:
    """A primal and its tangent, laid out alike; PyTorch's errors where the two do not fit."""
    for what, x in (("primal", primal), ("tangent", tangent)):
        if not (x.dtype.is_floating_point or x.dtype.is_complex):
            raise refused(ValueError, f"Expected {what} to be floating point or complex, but got: {x.dtype}")
    if is_complex(tangent) and not is_complex(primal):
        raise NotImplementedError("a complex tangent of a real tensor is not available in autograph's engine")
    _check_shape(primal, tangent)
    if _share_memory(core(primal)._ag_raw, core(tangent)._ag_raw):
        tangent = _apart_in_memory(tangent)
    return primal, laid_out(tangent, primal)


def _share_memory(a: Any, b: Any) -> bool:
    """Return whether two raw arrays may have elements in common; on a GPU, whether they are in the memory of one
    array."""
    if backend_of(a).type == "cuda":
        return owner(a) is owner(b)
    return bool(np.may_share_memory(a, b))


def _apart_in_memory(tangent: Tensor) -> Tensor:
    """A tangent that shares its primal's memory, in memory of its own: a change in place of one is not one of both."""
    if tangent.__class__ is not Tensor:
        return operations.clone(tangent)
    raw = tangent._ag_raw
    if raw.__class__ is Meta:
        return operations.clone(tangent)
    made = empty_strided(raw.shape, strides_of(raw), raw.dtype, raw) if raw.ndim and not repeats(raw) else raw.copy()
    if made.ndim:
        made[...] = raw
    return make(made, edge_of(tangent))


def _check_shape(primal: Tensor, tangent: Tensor) -> None:
    if primal._ag_raw.shape != tangent._ag_raw.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(primal._ag_raw.shape)} while the given forward gradient is of size "
            f"{list(tangent._ag_raw.shape)}."
        )


# ---------------------------------------------------------------- three strategies


def together(op: Operation, primals: Any, outputs: list[Tensor], tangents: Tangents) -> Tangents:
    """A linear operation: the same of the tangents, with zeros where there is none."""
    if op.by_strides and repeats(core(primals[0])._ag_raw):
        return transposed(op, primals, outputs, tangents)
    args, rest = list(primals), iter(tangents)
    for i, parameter in op.input_positions:
        x = primals[i]
        if parameter.is_list:
            args[i] = [zeros_like(p) if t is None else t for p, t in zip(x, rest, strict=False)] if x else x
        else:
            t = next(rest)
            args[i] = x if x is None else zeros_like(x) if t is None else t
    result = dispatch.run(op, tuple(args))
    return list(result) if op.multiple else [result]


def by_input(op: Operation, primals: Any, outputs: list[Tensor], tangents: Tangents) -> Tangents:
    """A product: the sum of the operation on the tangent of one input and the primals of the others."""
    given = {i: t for (i, _), t in zip(op.input_positions, tangents, strict=True)}
    # Where a tangent is missing PyTorch multiplies by zero, and so records the other factor.
    pairs = [(i, t) for i, t in given.items() if t is not None or _is_recorded(*primals[:i], *primals[i + 1 :])]
    used = {k for i, _ in pairs for k in range(len(primals)) if k != i}
    seen = [apart(x) if k in used else x for k, x in enumerate(primals)]
    parts: list[Any] = []
    # PyTorch writes the tangent of a product of numbers as `other_t * self + self_t * other`; C++ begins at the right.
    for i, t in pairs if op.commutes else reversed(pairs):
        others = (*seen[:i], *seen[i + 1 :])
        factor = zeros_like(primals[i]) if t is None else t
        args = (factor, *others) if op.commutes else (*others[:i], factor, *others[i:])
        parts.insert(0, zero_where(t is None, dispatch.run(op, args)))
    return [functools.reduce(operator.add, parts)]


def _is_recorded(*factors: Any) -> bool:
    """Return whether one of plain tensors is recorded."""
    if not thread_state.grad or any(isinstance(x, Wrapped) for x in factors):
        return False
    return any(isinstance(x, Tensor) and x.requires_grad for x in factors)


def elementwise(op: Operation, primals: Any, outputs: list[Tensor], tangents: Tangents) -> Tangents:
    """A pointwise operation: what its formulas make of the tangents."""
    node = formula_node(op, primals, outputs)
    parts: list[Any] = []
    for i, t in reversed(list(enumerate(tangents))):  # C++ begins at the right of a sum
        if t is not None:
            edges = tuple(_WANTED if i == k else None for k in range(len(tangents)))
            part = node._ag_run_recorded(operations, t, edges)[i]
            if part is not None:
                parts.insert(0, part)
    return [functools.reduce(operator.add, parts) if parts else None]


def as_written(op: Operation, primals: Any, outputs: list[Tensor], tangents: Tangents) -> Tangents:
    """An operation with a formula for its tangent: it names inputs, outputs, plain arguments, tangents (`self_t`), and
    perhaps `absent`: the inputs without one."""
    assert op.tangent is not None
    if not any(o._ag_raw.size for o in outputs):
        return [zeros_like(o) for o in outputs]
    named = dict(zip((p.name for p in op.schema.parameters), map(apart, primals), strict=True))
    named |= dict(zip(op.schema.outputs, outputs, strict=True))
    for (i, parameter), t in zip(op.input_positions, tangents, strict=True):
        named[f"{parameter.name}_t"] = zeros_like(primals[i]) if t is None else t
    named["absent"] = {p.name for (_, p), t in zip(op.input_positions, tangents, strict=True) if t is None}
    code = op.tangent.__code__
    return [op.tangent(operations, *(named[name] for name in code.co_varnames[1 : code.co_argcount]))]


def in_parts(op: Operation, primals: Any, outputs: list[Tensor], tangents: Tangents) -> Tangents:
    """A complex pointwise operation, which need not be holomorphic: the real and the imaginary part of its result each
    have a gradient, and their products with the tangent are those of its tangent."""
    node, output = formula_node(op, primals, outputs), outputs[0]
    units = (1, 1j) if is_complex(output) else (1,)
    total: Any = None
    for i, t in enumerate(tangents):
        if t is None:
            continue
        edges = tuple(_WANTED if i == k else None for k in range(len(tangents)))
        derivatives = [
            node._ag_run_recorded(operations, operations.mul_Scalar(ones_like(output), unit), edges)[i]
            for unit in units
        ]
        parts = [operations.real(operations.conj(derivative) * t) for derivative in derivatives]
        part = operations.complex(*parts) if len(parts) == 2 else parts[0]
        total = part if total is None else total + part
    return [total]


def transposed(op: Operation, primals: Any, outputs: list[Tensor], tangents: Tangents) -> Tangents:
    """Any operation: the `vjp` of the `vjp` by the cotangent, in which it is linear."""
    wanted = [o is not None and dispatch.differentiable(op, i, o) for i, o in enumerate(outputs)]
    if not any(w and o._ag_raw.size for w, o in zip(wanted, outputs, strict=True)):
        return [None if o is None else zeros_like(o) for o in outputs]
    mode, thread_state.grad = thread_state.grad, True
    try:
        seeds = [fresh(zeros_like(o)) if w and o._ag_raw.size else None for w, o in zip(wanted, outputs, strict=True)]
        edges = tuple(None if t is None else _WANTED for t in tangents)
        node = formula_node(op, primals, outputs)
        back = node._ag_run_recorded(operations, seeds if op.multiple else seeds[0], edges)
        inputs = [x for (i, p) in op.input_positions for x in (primals[i] if p.is_list else [primals[i]])]
        roots, cotangents = [], []
        for g, t, x in zip(back, tangents, inputs, strict=True):
            if g is None or t is None:
                continue
            g = fit_recorded(g, output_meta(x._ag_raw))
            if g.requires_grad:
                roots.append(g)
                cotangents.append(fit(t, g))
        targets = [s for s in seeds if s is not None]
        found = GradCall(roots, targets, cotangents, True, True).run() if roots and targets else [None] * len(targets)
    finally:
        thread_state.grad = mode
    rest = iter(found)
    return [
        next(rest) if s is not None else None if o is None or o._ag_raw.size else zeros_like(o)
        for s, o in zip(seeds, outputs, strict=True)
    ]


def apart(x: Any) -> Any:
    """A primal as formulas of tangents see it: behind a node of its own, as in PyTorch."""
    if x.__class__ is not Tensor or not (thread_state.grad and x.requires_grad):
        return x
    return operations._fw_primal(x, 0) if thread_state.by_hand and not in_function() else operations.alias(x)


_WANTED: Any = (None, 0)
"""Stands for an edge: the gradient of this input is asked for."""


def formula_node(op: Operation, primals: Any, outputs: list[Tensor]) -> Any:
    """A node of the operation outside every graph, of which only the formulas are wanted."""
    if not op.has_derivative:
        raise no_forward(op)
    node: Node = object.__new__(op.node)
    used = {p.name for p in op.tensors} & set(op.saved_names)
    primals = tuple(apart(x) if p.name in used else x for p, x in zip(op.schema.parameters, primals, strict=True))
    node._ag_edges = dispatch.edges_of(op, primals)
    node._ag_extra = None
    node._ag_seq = next_sequence_nr()
    likes = [None if o is None else output_meta(o._ag_raw) for o in outputs]
    node._ag_output_meta = likes if op.multiple else likes[0]
    named = dict(zip((p.name for p in op.schema.parameters), primals, strict=True))
    again = recomputed.outputs_of(op, named)
    items = dispatch.saved_items(op, primals, outputs, None)
    for index, name in enumerate(op.saved_names):
        item = items[index] = again.get(name, items[index])
        if isinstance(item, Tensor) and item._ag_counter is not None and item._ag_counter[0]:
            extra = extra_of(node)
            extra.versions = {**(extra.versions or {}), index: item._ag_counter[0]}
    node._ag_saved = tuple(items)
    return node


def no_forward(op: Operation) -> NotImplementedError:
    """PyTorch's error for an operation without a formula."""
    if not op.has_derivative:
        return NotImplementedError(f"Trying to use forward AD with aten::{op.name} that does not support it.")
    return NotImplementedError(
        f"Trying to use forward AD with {op.name} that does not support it because it has not been implemented yet."
    )


# ---------------------------------------------------------------- in-place


def joined(level: DualLevel, args: Any) -> Any:
    """The arguments, where views of what has become a dual since are duals too."""
    for x in flat(args):
        if x.__class__ is Tensor and views_dual(x):
            promote(level, x, x)
    return args


def promote(level: DualLevel, x: Tensor, like: Tensor) -> None:
    """Make a plain tensor a dual, with zeros as its tangent, batched as `like`; a view shares the tangent of its
    base."""
    if isinstance(x, Dual):
        return
    if x.__class__ is not Tensor:
        raise NotImplementedError(f"a {type(x).__name__} cannot be changed in place by a tensor with a tangent")
    made: Any = x
    edge = x._ag_edge
    if edge.__class__ is View:
        promote(level, edge.base, like)
        base: Any = edge.base
        path = edge.path or (views.geometry(materialize(x), base._ag_raw),)
        tangent = views.along(path, base._ag_tangent)
        made._ag_viewed = base
        edge.base = base._ag_primal
    else:
        tangent = beside(like, lambda _, size: make_zeros(x, size), x._ag_raw.shape)
    primal = make(x._ag_raw, edge)
    primal._ag_counter, primal._ag_meta = x._ag_counter, x._ag_meta
    made.__class__ = Dual
    made._ag_level, made._ag_primal, made._ag_tangent = level, primal, tangent
    level.promoted.append(made)


def make_zeros(x: Tensor, size: tuple[int, ...]) -> Tensor:
    """Zeros laid out like `x`, if they have its size."""
    if size != x._ag_raw.shape or not size:
        return make(kernels(x._ag_raw).zeros(size, x._ag_raw.dtype)[()])
    made = empty_strided(size, strides_of(x._ag_raw), x._ag_raw.dtype, x._ag_raw)
    made[...] = 0
    return make(made)


@interprets(DualLevel, "inplace")
def run_inplace(level: DualLevel, op: Operation, args: tuple[Any, ...]) -> Tensor:
    """Change a primal in place, and its tangent with it."""
    args = joined(level, args)
    pairs = [split(level, x) for x in args]
    primals = tuple(p for p, _ in pairs)
    target: Tensor = args[0]
    tangent: Any = None
    if follows(level):
        given = [t for _, t in pairs]
        before = primals
        if thread_state.grad and op.linear is not True:  # what the formula's nodes save must not change
            before = (operations.clone(primals[0]), *primals[1:])
            given[0] = None if given[0] is None else operations.clone(given[0])
        found = dispatch.run(op, before)
        tangents = tangents_of(level, op, args, given, before, [found])
        tangent = tangents[0] if tangents else None
    if tangent is None and not isinstance(target, Dual):
        run_inplace_(op, primals)
        return target
    followed: Any = target
    promote(level, target, target if tangent is None else tangent)
    tangent = zeros_like(target) if tangent is None else tangent
    run_inplace_(op, (followed._ag_primal, *primals[1:]))
    followed._ag_tangent.copy_(tangent)
    return target


# ---------------------------------------------------------------- custom functions


@interprets(DualLevel, "function")
def run_function(level: DualLevel, cls: Any, args: tuple[Any, ...]) -> Any:
    """A custom Function: its forward on the primals, its `jvp` on the tangents."""
    args = joined(level, args)
    pairs = [split(level, x) for x in args]
    node, result = cls._ag_applied(tuple(p for p, _ in pairs))
    outputs = result if isinstance(result, tuple) else (result,)
    if not follows(level):
        return result
    tangents = [
        zeros_like(p) if t is None and isinstance(p, Tensor) and node.materialize_grads else t for p, t in pairs
    ]
    found = cls._ag_tangents(node, [p for p, _ in pairs], result, tangents)
    made = [with_tangent(level, node, i, args, o, t) for i, (o, t) in enumerate(zip(outputs, found, strict=True))]
    return tuple(made) if isinstance(result, tuple) else made[0]


def with_tangent(level: DualLevel, node: Any, i: int, args: tuple[Any, ...], output: Any, t: Any) -> Any:
    """Output `i` of a custom Function with what `jvp` gave for it."""
    if not isinstance(output, Tensor) or t is None:
        return output
    if not isinstance(t, Tensor):
        raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {i}.")
    if not node._ag_has_gradient(i, output):
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is not a "
            "differentiable Tensor.You should return None at that position instead."
        )
    changed = next((x for x in args if isinstance(x, Dual) and x._ag_primal is output), None)
    if changed is not None and t is not changed._ag_tangent:
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
            "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
        )
    if changed is not None:
        return changed
    if output._is_view() and not t._is_view():
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    _check_shape(output, t)
    return dual(level, output, laid_out(t, output))
