"""Outputs of a custom Function after `forward`: their history, and what the node saves."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from .._core.base import dtypes
from .._core.base.state import process_state, thread_state
from .._core.base.user_warnings import warn
from .._core.running.dispatch import annotate
from .._core.running.views import CUSTOM, MULTIPLE, NO_GRAD, bump, check_inplace, make_view, move_retained, rebase
from .._core.tape.node import Edge, View, has_no_history, output_meta
from .._core.tape.saved_tensors import SavedResult, save
from .._core.tape.tensor import Tensor, counter, make, materialize

if TYPE_CHECKING:
    from .function import BackwardCFunction


def wants_grad(x: Tensor) -> bool:
    """`x.requires_grad`, for which a subclass is not asked."""
    edge = x._ag_edge
    return edge is not None if edge.__class__ is not View else edge.edge is not None or wants_grad(edge.base)


def finish(node: BackwardCFunction, args: tuple[Any, ...], result: Any, record: bool, applied: Any) -> Any:
    """Make `node` the history of the outputs and keep what it saves; `applied` is the observer's."""
    outputs = list(result) if isinstance(result, tuple) else [result]
    dirty = tensors_of(node.dirty_tensors, "mark_dirty can only accept variables, but argument {i} is of type {kind}")
    constant = tensors_of(
        node.non_differentiable, "mark_non_differentiable only accepts variable arguments, but got {kind}"
    )
    for x in dirty:
        bump(x)
    if dirty:
        _check_dirty(args, outputs, dirty, record)
    node._ag_output_meta = likes = []
    differentiable = []
    for i, x in enumerate(outputs):
        is_tensor = isinstance(x, Tensor)
        likes.append(output_meta(x._ag_raw) if is_tensor else None)
        varies = record and is_tensor and dtypes.CATEGORY[x._ag_raw.dtype] >= dtypes.FLOATING
        if varies and not (constant and among(x, constant)):
            differentiable.append(i)
    node._ag_differentiable = frozenset(differentiable)
    if record and process_state.anomaly:
        annotate(node)
    for i, x in enumerate(outputs):
        if isinstance(x, Tensor):
            outputs[i] = _attach(node, i, x, args, dirty)
    _save(node, args, outputs, record)
    node._ag_constant = constant
    node.to_save = node.dirty_tensors = node.non_differentiable = None
    if record and process_state.observer is not None:
        process_state.observer.created(node, args, tuple(x for x in outputs if isinstance(x, Tensor)), applied)
    if record and dirty and outputs[0]._ag_edge.__class__ is View and among(outputs[0], dirty):
        rebase(outputs[0], node)
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def tensors_of(given: Any, message: str, error: type[Exception] = RuntimeError) -> tuple[Any, ...]:
    """Return what a custom Function named, which must be tensors or None."""
    if not given:
        return ()
    for i, x in enumerate(given):
        if x is not None and not isinstance(x, Tensor):
            raise error(message.format(i=i, kind=type(x).__name__))
    result: tuple[Any, ...] = given
    return result


def among(x: Any, tensors: tuple[Any, ...]) -> bool:
    """Return whether `x` is one of the tensors itself."""
    for t in tensors:  # noqa: SIM110  (a third of the time: mostly there are none)
        if x is t:
            return True
    return False


def _check_dirty(args: tuple[Any, ...], outputs: list[Any], dirty: tuple[Any, ...], record: bool) -> None:
    if any(not among(x, tuple(outputs)) for x in dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )
    for x in dirty:
        if not among(x, args):
            warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                "should be passed to ctx.mark_dirty()."
            )
        if record and wants_grad(x) and has_no_history(x):
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if record and x._ag_edge.__class__ is View and sum(isinstance(y, Tensor) for y in outputs) > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                "return more than one Tensor. This is not supported by the current autograd engine."
            )
        if record and x._ag_edge.__class__ is View:
            check_inplace(x)


def _attach(node: BackwardCFunction, number: int, x: Tensor, args: tuple[Any, ...], dirty: tuple[Any, ...]) -> Tensor:
    """Output `number` on its node: changed in place, an input returned as it is, a view, or new."""
    edge: Edge | None = (node, number) if number in node._ag_differentiable else None
    if edge is None:
        return x if among(x, dirty) and not wants_grad(x) else _outside(x, args, bool(node._ag_edges))
    if dirty and among(x, dirty):
        if x._ag_meta is not None:
            x._ag_meta.grad = None
        if x._ag_edge.__class__ is not View:
            before, x._ag_edge = x._ag_edge, edge
            move_retained(x, before)
        return x
    if among(x, args):
        alias = make(materialize(x)) if x.__class__ is Tensor else _viewed(x)
        make_view(alias, x, edge)
        if alias._ag_edge.__class__ is View:
            alias._ag_edge.creation = _creation(node)
        return alias
    if not node._ag_edges:
        return x
    view = x._ag_edge
    if view.__class__ is View:
        x._ag_edge = View(view.base, edge, counter(view.base)[0], _creation(node), view.path)
    else:
        x._ag_edge = edge
    return x


def _creation(node: BackwardCFunction) -> str:
    """Return why a view that a Function gives refuses changes in place."""
    return MULTIPLE if len(node._ag_differentiable) > 1 else CUSTOM


def _viewed(x: Tensor) -> Tensor:
    """The same memory as another tensor, for which a subclass is asked."""
    before, thread_state.grad = thread_state.grad, False
    try:
        alias: Tensor = x.view_as(x)
    finally:
        thread_state.grad = before
    return alias


def _outside(x: Tensor, args: tuple[Any, ...], recorded: bool) -> Tensor:
    """An output without a gradient: an input that asks for one is left as it is."""
    given = among(x, args)
    if not wants_grad(x):
        if not given or recorded:
            return x
        alias: Tensor = x.view_as(x)
        if alias._ag_edge.__class__ is View:
            alias._ag_edge.creation = alias._ag_edge.creation or NO_GRAD
        return alias
    if given:
        return x.detach()
    if x._ag_edge.__class__ is not View:
        x._ag_edge = None
    return x


def _save(node: BackwardCFunction, args: tuple[Any, ...], outputs: list[Any], record: bool) -> None:
    """Keep what `save_for_backward` was given: outputs without their tensors, inputs with their edges."""
    wanted = record and tensors_of(
        node.to_save, "save_for_backward can only save variables, but argument {i} is of type {kind}", TypeError
    )
    if not wanted:
        node._ag_item_results = node._ag_item_edges = node._ag_saved = ()
        return
    made, given = [*map(id, outputs)], [*map(id, itertools.compress(args, node._ag_takes_grad))]
    items: list[Any] = []
    results: list[int | None] = []
    positions: list[int | None] = []
    for x in wanted:
        name = id(x)
        number = made.index(name) if name in made else None
        number = number if number in node._ag_differentiable else None
        items.append(x if number is None else SavedResult(x._ag_raw, counter(x)))
        results.append(number)
        positions.append(given.index(name) if number is None and name in given else None)
    node._ag_item_results, node._ag_item_edges = tuple(results), tuple(positions)
    node._ag_saved = save(node, items)
