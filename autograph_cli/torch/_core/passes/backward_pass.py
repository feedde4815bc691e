"""The backward pass: ready nodes in order of their sequence numbers, the highest first; leaves at once."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from sys import getrefcount
from typing import Any

import numpy as np

from ..._arrays.backends import ELSEWHERE
from ..._arrays.lazy import Lazy
from ..._arrays.unusual import BY_OPERATIONS
from ..._compiled import compiled
from ..base.state import BackwardCall, ThreadState, process_state, thread_state
from ..operations.flops import Counted
from ..operations.operation import operations
from ..running.device_dispatch import kernels
from ..running.gradients import (
    ALONE,
    Misfit,
    accumulate,
    accumulate_recorded,
    fit,
    fit_recorded,
    invalid,
    output_meta_at,
    retain,
)
from ..running.views import CopySlices
from ..tape import anomalies, hooks as hooks_module
from ..tape.node import AccumulateGrad, Edge, Extra, Node, Versions, marks_leaf
from ..tape.saved_tensors import PackedItems, check_versions, freed, opened
from ..tape.tensor import Tensor, Wrapped, make
from .ready_order import when_ready
from .roots import root_edge

_by_sequence = attrgetter("_ag_seq")
_ASKING = BY_OPERATIONS | {Lazy}
"""The classes of gradients with which formulas are computed by operations: only these know which results stay
conjugated."""


def run(call: BackwardCall, grads: list[Tensor]) -> list[Tensor | None]:
    """Run a backward call; the gradients captured for `call.inputs`, in order, if it is a `grad` call."""
    observer = process_state.observer
    if observer is not None:
        observer.begins(call)
    try:
        edges = [edge for edge in map(root_edge, call.roots) if edge is not None]
        call.found = Pass(call, bool([g for g in grads if isinstance(g, Wrapped)])).run(edges, grads)
    finally:
        if observer is not None:
            observer.ends(call)
    if observer is None and process_state.passed is not None:
        tell_passed(call)
    return call.found


def tell_passed(call: BackwardCall) -> None:
    """Tell that a pass is over of which no observer was told."""
    if process_state.passed is not None and thread_state.walk is None:
        process_state.passed(call.keeps_graph)


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback()` when the backward pass that is going on has run all its nodes. RuntimeError outside of one."""
    if thread_state.walk is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    thread_state.walk.callbacks.append(callback)


def _all_by_operations() -> bool:
    """Return whether all formulas call operations: under autocast these choose their dtypes, and modes see them."""
    return thread_state.autocast is not None or (
        thread_state.watcher is not None and thread_state.watcher._ag_sees_backward
    )


def _by_operations(node: Node, g: Any) -> bool:
    """Return whether the formulas of this node call operations, which know the arrays that kernels do not."""
    if node._ag_extra is not None and node._ag_extra.by_operations:
        return True
    return _all_by_operations() or any(x.__class__ in _ASKING for x in (g if isinstance(g, list) else (g,)))


class Pass:
    """One walk over the graph. Raw arrays flow, or tensors when the walk is recorded (create_graph) or a
    transform's."""

    def __init__(self, call: BackwardCall, wrapped: bool = False) -> None:
        self.call = call
        self.recorded = call.create_graph or wrapped
        self.kernels: Any = None
        self.elsewhere = False
        """True once a gradient was met that is not an array of NumPy."""
        self.captures: dict[Node, dict[int, list[int]]] = {}
        """For `grad` calls: node -> output number -> positions in the result."""
        self.found: list[Any] = [None] * len(call.inputs or ())
        self.only: set[Node] | None = None
        """For calls with `inputs`: the nodes that lead to one."""
        self.pending: dict[Node, Any] = {}
        self.leaves: dict[Node, int] = {}
        """AccumulateGrad -> how many gradients it still waits for."""
        self.given: list[Any] = []
        """The gradients of the roots, which the caller still holds."""
        self.given_ids: set[int] = set()
        self.root: Any = None
        """The node that the pass begins with, if there is one only: its tensor's hooks run even where it is not
        needed."""
        self._reached: set[Any] | None = None
        self.callbacks: list[Callable[[], Any]] = []
        """Functions to call when all nodes have run."""

    def run(self, edges: list[Edge], grads: list[Tensor]) -> list[Any]:
        if self.call.inputs is not None:
            self._prepare_captures()
        self.order = order = self._collect(edges)
        self.root = edges[0][0] if len(edges) == 1 else None
        if self.call.inputs is not None:
            self.only = leading(order, self.captures)
        self.kernels = kernels(*(g._ag_raw for g in grads)) if grads else kernels()
        if self.call.counted is not None:
            self.kernels = Counted(self.kernels, self.call.counted)
        outer, mode, walk = thread_state.current, thread_state.grad, thread_state.walk
        thread_state.grad, thread_state.walk = self.call.create_graph, self
        try:
            self.given = [g._ag_raw for g in grads]
            self.given_ids = set(map(id, self.given))
            for edge, given in zip(edges, grads if self.recorded else self.given, strict=True):
                self.deliver(edge[0], edge[1], given)
            self._walk(order)
            for callback in () if thread_state.rehearses else self.callbacks:  # which may add others
                callback()
        finally:
            thread_state.current, thread_state.grad, thread_state.walk = outer, mode, walk
        return [g if g is None or isinstance(g, Tensor) else make(g) for g in self.found]

    def _prepare_captures(self) -> None:
        for position, target in enumerate(self.call.inputs):
            edge = root_edge(target)
            if edge is None and isinstance(target, Tensor) and target.requires_grad:
                continue  # a view without a history
            if edge is None and self.call.kind == "backward":
                raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
            if edge is None:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            if self.call.kind == "backward" and edge[0].__class__ is not AccumulateGrad:
                target.retain_grad()
            self.captures.setdefault(edge[0], {}).setdefault(edge[1], []).append(position)

    def _collect(self, edges: list[Edge]) -> list[Node]:
        """Every node that can be reached, in the order in which they run; leaves are counted apart."""
        pending, leaves = self.pending, self.leaves
        stack: list[Node] = []
        for node, _ in edges:
            if node.__class__ is AccumulateGrad:
                leaves[node] = leaves.get(node, 0) + 1
            elif node not in pending:
                pending[node] = None
                stack.append(node)
        order = collect(stack, pending, leaves, self._oldest())
        order.sort(key=_by_sequence, reverse=True)
        looks = order and order[-1]._ag_seq <= process_state.disordered
        return when_ready(order) if looks and not in_order(order) else order

    def _oldest(self) -> int:
        """The number below which no node leads to an input, 0 where that is not known: what an input was made of is not
        looked through."""
        if not self.captures:
            return 0
        oldest = min(0 if node.__class__ is AccumulateGrad else node._ag_seq for node in self.captures)
        return oldest if oldest > process_state.disordered else 0

    def _walk(self, order: list[Node]) -> None:
        plain = not (self.recorded or thread_state.anomaly or _all_by_operations())
        # Whether nodes without hooks run in the straight way.
        quick = not thread_state.anomaly
        if not self.recorded:
            quick = plain and _ASKING.isdisjoint([g.__class__ for g in self.given])
        walk(self, order, operations if self.recorded else self.kernels, plain, quick)

    def passed(self, node: Node, g: Any) -> tuple[bool, Any]:
        """Return whether a node that is an input, or leads to none, runs in a call with `inputs`, and what it is given;
        keeps the gradient of an input."""
        if node is self.root and node not in self.captures and g is not None and node._ag_extra is not None:
            self._before(node, node._ag_extra, g, only_tensor_hooks=True)
        leads_on = self._leads_on(node) or (node in self.captures and self.call.kind == "backward")
        if node in self.captures:
            g = self._capture(node, g, leads_on)
        return leads_on, g

    def fitting(self, node: Node, grads: Any, edge: Edge, g: Any) -> Any:
        """A gradient with the shape and dtype of what `edge` leads to."""
        if g.__class__ in _ASKING or g.__class__ in ELSEWHERE:
            self.elsewhere = True
        like = output_meta_at(edge)
        if g.__class__ is np.ndarray and (g.shape, g.dtype) == like:
            return g
        try:
            return fit(g, like)
        except Misfit as misfit:
            raise invalid(node, grads, misfit) from None

    def will_run(self, node: Node) -> bool:
        """Return whether `node` runs in this pass, as PyTorch tells it: the only root of a pass does not count."""
        if self.only is None:
            self._reached = self._reached or {*self.order, *self.leaves} - {self.root}
            return node in self._reached
        if node in self.captures and node.__class__ is AccumulateGrad and self.call.kind == "grad":
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
                "This is currently not supported."
            )
        return node in self.only or node in self.captures

    def _leads_on(self, node: Node) -> bool:
        """Return whether a node on the way must run although it is itself an input."""
        assert self.only is not None
        return node in self.only and any(e is not None and self._wants(e[0]) for e in node._ag_edges)

    def _wants(self, node: Node) -> bool:
        """Return whether a gradient that goes to `node` is asked for, in a call with `inputs`."""
        assert self.only is not None
        return node in self.only or node in self.captures

    def run_undefined(self, node: Node) -> None:
        """No gradient came: hooks hear so, what was saved is looked at and let go, and the leaves behind wait for one
        less."""
        extra = node._ag_extra
        if extra is not None and extra.runs_something:
            self._before(node, extra, None)
        if node._ag_frees and node._ag_saved is None:
            raise freed()
        check_versions(node, opens=True)
        if extra is not None and extra.hooks:
            nothing = [None] * len(node._ag_output_meta) if node._ag_multiple else None
            self._after(node, extra, [None] * len(node._ag_edges), nothing)
        if not self.call.keeps_graph and node._ag_frees:
            if node._ag_frees is not True:
                node._ag_kept = node._ag_frees(node._ag_saved)
            node._ag_saved = None
        for edge in node._ag_edges:
            if edge is not None and edge[0].__class__ is AccumulateGrad:
                self.deliver(edge[0], 0, None)

    def deliver(self, node: Node, number: int, g: Any) -> None:
        """Add a gradient to what waits at `node`."""
        if node.__class__ is AccumulateGrad:
            self._deliver_leaf(node, g)
            return
        if not node._ag_multiple:
            old = self.pending.get(node)
            self.pending[node] = g if old is None or g is None else old + g
            return
        waiting = self.pending.get(node)
        if waiting is None:
            waiting = self.pending[node] = [None] * len(node._ag_output_meta)
        waiting[number] = g if waiting[number] is None else waiting[number] + g

    def _deliver_leaf(self, leaf: Node, g: Any) -> None:
        if g is not None:
            old = self.pending.get(leaf)
            self.pending[leaf] = g if old is None else old + g
        self.leaves[leaf] -= 1
        if self.leaves[leaf] == 0:
            g = self.pending.pop(leaf, None)
            if g is not None:
                self.finish_leaf(leaf, g)
            else:
                self._finish_undefined(leaf)

    def _finish_undefined(self, leaf: Any) -> None:
        """No gradient came to a leaf: its hooks hear so."""
        meta = leaf.variable._ag_meta
        if (self.only is not None and leaf not in self.captures) or meta is None:
            return
        if meta.hooks:
            self._tensor_hooks(meta.hooks, None)
        if self.only is None or self.call.kind == "backward":
            hooks_module.accumulated_hooks(meta.post_hooks or {}, leaf.variable)
            if leaf._ag_extra is not None and leaf._ag_extra.hooks:
                hooks_module.post_hooks(leaf._ag_extra, (), (None,))

    def finish_leaf(self, leaf: Any, g: Any, shared: bool = False, own: bool = False) -> None:  # noqa: C901
        """Hand a leaf its gradient; `shared` says that others on the way got the same array, `own` that only the pass
        holds it."""
        if self.only is not None and leaf not in self.captures:
            if leaf is self.root and leaf.variable._ag_meta.hooks:
                self._tensor_hooks(leaf.variable._ag_meta.hooks, g)
            return
        watch = None if process_state.observer is None else self.call.watch
        if process_state.observer is not None:
            self.call.ran.append(leaf)
        variable: Tensor = leaf.variable
        meta = variable._ag_meta
        if meta is not None and meta.hooks:
            g, own = self._tensor_hooks(meta.hooks, g), False
        if watch is not None:
            watch(leaf, g)
            own = False
        if self.only is not None and self.call.kind == "grad":
            for position in self.captures[leaf][0]:
                self.found[position] = g
            return
        if not marks_leaf(variable._ag_edge):
            if variable.requires_grad:
                raise RuntimeError("leaf variable has been moved into the graph interior")
            return
        if not self.recorded:
            like = leaf._ag_output_meta
            if g.__class__ is not like and (g.__class__ is not np.ndarray or (g.shape, g.dtype) != like):
                g = self._fitting(leaf, g)
        extra: Extra | None = leaf._ag_extra
        if extra is not None and extra.pre_hooks:
            g, own = self._unwrap(hooks_module.pre_hooks(extra, [self._wrap(g)])[0]), False
        if self.recorded:
            accumulate_recorded(variable, g)
        else:
            accumulate(variable, g, shared or id(g) in self.given_ids, own)
        if meta is not None and meta.post_hooks:
            hooks_module.accumulated_hooks(meta.post_hooks, variable)
        if extra is not None and extra.hooks:
            hooks_module.post_hooks(extra, (), (self._wrap(g),))

    @staticmethod
    def _fitting(leaf: Node, g: Any) -> Any:
        try:
            return fit(g, leaf._ag_output_meta)
        except Misfit as misfit:
            got, wanted = map(list, misfit.args)
            raise RuntimeError(
                f"invalid gradient at index 0 - got {got} but expected shape compatible with {wanted}"
            ) from None

    # -- the careful way

    def run_node(self, node: Node, g: Any) -> Any:
        """Run a node with hooks, anomaly checks, or recorded."""
        if not thread_state.anomaly:
            return self._run_node(node, g)
        with anomalies.told(node):
            return self._run_node(node, g)

    def _run_node(self, node: Node, g: Any) -> Any:
        thread_state.current = node
        extra = node._ag_extra
        if extra is not None and extra.runs_something:
            g = self._before(node, extra, g)
            if g is None and not node._ag_takes_none:
                return [None] * len(node._ag_edges)
            if self.call.watch is not None:
                self.call.watch(node, g)
        grads = (
            self._formulas(node, g, self.recorded)
            if self.recorded or not _by_operations(node, g)
            else self._cast_formulas(node, g)
        )
        if thread_state.anomaly and thread_state.check_nan:
            anomalies.check_nan(node, grads)
        if extra is not None and extra.hooks:
            grads = self._after(node, extra, grads, g)
        return self.fitted(node, grads)

    def fitted(self, node: Node, grads: Any) -> list[Any]:
        """Gradients with the shapes and dtypes of what they belong to."""
        fitting = fit_recorded if self.recorded else fit
        try:
            return [
                None if g is None or e is None else fitting(g, output_meta_at(e))
                for e, g in zip(node._ag_edges, grads, strict=False)
            ]
        except Misfit as misfit:
            raise invalid(node, grads, misfit) from None

    def _formulas(self, node: Node, g: Any, recorded: bool) -> Any:
        """Return what a node's formulas give: on tensors, by operations, or on raw arrays."""
        run: Any = node._ag_run_recorded if recorded else node._ag_run_raw
        f = operations if recorded else self.kernels if not self.elsewhere else self._kernels_of(g)
        edges = None if self.only is None else self.wanted_edges(node)
        if node._ag_saved.__class__ is PackedItems and node._ag_operation is not None:
            with opened(node):
                return run(f, g, edges)
        return run(f, g) if edges is None else run(f, g, edges)

    def wanted_edges(self, node: Node) -> tuple[Edge | None, ...] | None:
        """The edges that lead to one of the inputs: no other gradient is computed; None stands for all."""
        if node._ag_operation is None and node.__class__ is not CopySlices:
            return None
        only, captures, edges = self.only, self.captures, node._ag_edges
        assert only is not None
        wanted = tuple([e if e is not None and (e[0] in only or e[0] in captures) else None for e in edges])
        if wanted == edges:
            return None
        check_versions(node)  # of what the others need, too
        return wanted

    def _kernels_of(self, g: Any) -> Any:
        """The kernels of the device that a gradient is on, where a pass goes from one to another."""
        found = kernels(*(x for x in (g if isinstance(g, list) else (g,)) if x is not None))
        return found if self.call.counted is None else Counted(found, self.call.counted)

    def _cast_formulas(self, node: Node, g: Any) -> Any:
        """The same as operations that are not recorded (see `_by_operations`)."""
        given = [self._wrap(x) for x in g] if isinstance(g, list) else self._wrap(g)
        return [self._unwrap(x) for x in self._formulas(node, given, recorded=True)]

    def _capture(self, node: Node, g: Any, leads_on: bool) -> Any:
        """Keep the gradient of an input that is no leaf; as in PyTorch, before its hooks if the node runs as well."""
        if not leads_on and g is not None and node._ag_extra is not None and node._ag_extra.runs_something:
            g = self._before(node, node._ag_extra, g, only_tensor_hooks=True)
        if self.call.kind == "grad":
            for number, positions in self.captures[node].items():
                value = g[number] if g is not None and node._ag_multiple else g
                for position in positions:
                    self.found[position] = value
        return g

    def _before(self, node: Node, extra: Extra, g: Any, only_tensor_hooks: bool = False) -> Any:
        grads = ([None] * len(node._ag_output_meta) if g is None else list(g)) if node._ag_multiple else [g]
        for number, hooks in sorted((extra.tensor_hooks or {}).items()):
            grads[number] = self._tensor_hooks(hooks, grads[number])
        for number, reference in (extra.retained or {}).items():
            tensor = reference()
            if tensor is not None and grads[number] is not None:
                retain(tensor, self._wrap(grads[number]))
        if extra.pre_hooks and not only_tensor_hooks:
            shown = node._ag_shown()
            for i, t in zip(shown, hooks_module.pre_hooks(extra, [self._wrap(grads[i]) for i in shown]), strict=False):
                grads[i] = self._unwrap(t)
        return grads if node._ag_multiple else grads[0]

    def _after(self, node: Node, extra: Extra, grads: Any, g: Any) -> Any:
        outputs = tuple(self._wrap(g[i]) for i in node._ag_shown()) if isinstance(g, list) else (self._wrap(g),)
        replaced = hooks_module.post_hooks(extra, [self._wrap(x) for x in grads], outputs)
        return [self._unwrap(x) for x in replaced]

    def _tensor_hooks(self, hooks: dict[int, Any], g: Any) -> Any:
        return self._unwrap(hooks_module.tensor_hooks(hooks, self._wrap(g)))

    def _wrap(self, g: Any) -> Any:
        return g if g is None or self.recorded else make(g)

    def _unwrap(self, g: Any) -> Any:
        return g if g is None or self.recorded else g._ag_raw


# ---------------------------------------------------------------- the loops over all nodes


def _collect(stack: list[Node], pending: dict[Node, Any], leaves: dict[Node, int], oldest: int) -> list[Node]:
    """All nodes from the number `oldest` on that can be reached from those of `stack`: each waits in `pending`, leaves
    are counted in `leaves`."""
    order = []
    while stack:
        node = stack.pop()
        order.append(node)
        for edge in node._ag_edges:
            if edge is not None:
                target = edge[0]
                if target.__class__ is AccumulateGrad:
                    leaves[target] = leaves.get(target, 0) + 1
                elif target not in pending and target._ag_seq >= oldest:
                    pending[target] = None
                    stack.append(target)
    return order


def _in_order(nodes: list[Node]) -> bool:
    """Return whether every node has a higher number than those that it leads to."""
    return all(
        edge is None or edge[0]._ag_seq < node._ag_seq or edge[0].__class__ is AccumulateGrad
        for node in nodes
        for edge in node._ag_edges
    )


def _leading(order: list[Node], captures: dict[Node, Any]) -> set[Node]:
    """The nodes that lead to one of those of `captures`, out of all in the order in which they run."""
    result: set[Node] = set()
    for node in reversed(order):
        if node in captures or any(e is not None and (e[0] in result or e[0] in captures) for e in node._ag_edges):
            result.add(node)
    return result


def _walk(run: Pass, order: list[Node], f: Any, plain: bool, quick: bool) -> None:
    """Run the nodes in order. `plain`: raw arrays flow that know their dtypes; `quick`: nodes without hooks run in the
    straight way."""
    pending, captures, only = run.pending, run.captures, run.only
    ran, watch = None if process_state.observer is None else run.call.ran, run.call.watch
    sums: set[Node] = set()
    """The nodes at which a sum waits, an array that nobody else holds."""
    for node in order:
        g = pending.pop(node)
        if only is not None and (node not in only or node in captures):
            runs, g = run.passed(node, g)
            if not runs:
                continue
        if g is None and not node._ag_takes_none:
            run.run_undefined(node)
            continue
        if ran is not None:
            ran.append(node)
            thread_state.current = node
            if watch is not None and (node._ag_extra is None or not node._ag_extra.runs_something):
                watch(node, g)
        extra = node._ag_extra
        if quick and (extra is None or extra.__class__ is Versions):
            grads = _gradients(run, node, f, g)
        else:
            grads = run.run_node(node, g)
        if watch is not None:
            watch(None, grads)
        if not run.call.keeps_graph and (frees := node._ag_frees):
            if frees is not True:
                node._ag_kept = frees(node._ag_saved)
            node._ag_saved = None
        _hand_on(run, node, grads, plain, sums)
        quick = quick and not run.elsewhere  # the nodes that follow look at what they are given


def _gradients(run: Pass, node: Node, f: Any, g: Any) -> Any:
    """Return the gradients that a node without hooks sends on."""
    gradients: Any = node._ag_run_recorded if run.recorded else node._ag_run_raw
    wanted = None if run.only is None else run.wanted_edges(node)
    grads = gradients(f, g) if wanted is None else gradients(f, g, wanted)
    if run.recorded and not all(map(_fits_recorded, node._ag_edges, grads)):
        return run.fitted(node, grads)  # all of them before any is added up
    return grads


def _hand_on(run: Pass, node: Node, grads: Any, plain: bool, sums: set[Node]) -> None:
    """Give the gradients of a node to those behind its edges; a leaf that waits for no other takes its own."""
    pending = run.pending
    for edge, g in zip(node._ag_edges, grads, strict=False):
        if edge is None:
            continue
        target = edge[0]
        if g is None:
            if target.__class__ is AccumulateGrad:
                run.deliver(target, 0, None)
            continue
        if plain:
            like = target._ag_output_meta
            if g.__class__ is not like and (g.__class__ is not np.ndarray or (g.shape, g.dtype) != like):
                g = run.fitting(node, grads, edge, g)
        if target._ag_multiple:
            run.deliver(target, edge[1], g)
            continue
        old = pending.get(target)
        if old is None:
            pending[target] = g
        elif target in sums:
            pending[target] += g
        else:
            pending[target] = old + g
            if old.__class__ is np.ndarray:
                sums.add(target)
        if target.__class__ is AccumulateGrad:
            run.leaves[target] -= 1
            if not run.leaves[target]:
                whole = pending.pop(target)
                own = whole is not g or getrefcount(g) <= ALONE
                shared = g is grads[-1] and edge is not node._ag_edges[-1]
                run.finish_leaf(target, whole, shared, own)


def _fits_recorded(edge: Edge | None, t: Any) -> bool:
    """Return whether a recorded gradient has the shape and dtype of what it goes to."""
    if t is None or edge is None:
        return True
    like, raw = edge[0]._ag_output_meta, t._ag_raw
    return raw.__class__ is like or (raw.__class__ is np.ndarray and (raw.shape, raw.dtype) == like)


_fast: Any = compiled("_core.running.fast_tape")
collect = _collect if _fast is None else _fast.collect
in_order = _in_order if _fast is None else _fast.in_order
leading = _leading if _fast is None else _fast.leading
walk = _walk if _fast is None else _fast.walk
if _fast is not None:  # a mode is put back whatever a handler of a signal raises on the way
    ThreadState.grad = ThreadState.grad.setter(_fast.put_grad)  # type: ignore[attr-defined, method-assign]
