"""The backward pass: ready nodes in order of their sequence numbers, the highest first; leaves at once."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from . import dtypes, hooking
from .gradients import Misfit, accumulate, accumulate_recorded, fit, fit_recorded, invalid, like_at, retain
from .node import (
    AccumulateGrad,
    Edge,
    Extra,
    Node,
    check_versions,
    edge_of,
    extra_of,
    freed,
    like_of,
    marks_leaf,
    shape_dtype,
)  # fmt: skip
from .operation import operations
from .placement import filled, kernels, like_is_meta
from .reverse import GradCall, backward_parts, in_front
from .size import Size
from .state import BackwardCall, L, S
from .tensor import Tensor, Wrapped, make
from .transforms import BatchLevel, batched, running

_by_sequence = attrgetter("_seq")


class GradientEdge(NamedTuple):
    """A gradient's place in the graph: a node and the number of its output."""

    node: Node
    output_nr: int
    ownership_token: Any = None


# ---------------------------------------------------------------- the two entrances


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:  # fmt: skip
    """Add the gradients of `tensors` to the `.grad` of the leaves (of `inputs` only, if given).

    >>> from autograph_cli import torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    roots = _sequence(tensors)
    targets = None if inputs is None else _sequence(inputs)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    grads = _root_gradients(roots, _gradients(grad_tensors, len(roots)), "grad_tensors")
    keep = create_graph if retain_graph is None else retain_graph
    if L.levels:
        roots, grads = backward_parts(roots, grads)
    run(BackwardCall("backward", roots, targets, keep, create_graph), grads)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of `outputs` by `inputs`, as a tuple.

    >>> from autograph_cli import torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> torch.autograd.grad(x**3, x)
    (tensor(12.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    roots, targets = _sequence(outputs), _sequence(inputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    wrong = next((x for x in targets if not isinstance(x, (Tensor, GradientEdge))), None)
    if wrong is not None:
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(wrong).__name__}")
    if is_grads_batched:
        return _grad_batched(roots, targets, _gradients(grad_outputs, len(roots)), retain_graph, create_graph, allow_unused, materialize_grads)
    keep = create_graph if retain_graph is None else retain_graph
    grads = _root_gradients(roots, _gradients(grad_outputs, len(roots)), "grad_outputs")
    found = GradCall(roots, targets, grads, keep, create_graph).run()
    for i, (g, target) in enumerate(zip(found, targets, strict=True)):
        if g is not None:
            continue
        if materialize_grads:
            if not isinstance(target, Tensor):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            found[i] = make(filled(like_of(target._raw), 0))
        elif not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if "
                "this is the desired behavior."
            )
    return tuple(found)


def gradients(call: GradCall) -> list[Tensor | None]:
    """The gradients of a `GradCall` of which only cotangents are wrapped; None for targets that are not reached."""
    return run(BackwardCall("grad", call.roots, call.targets, call.retain_graph, call.create_graph), call.cotangents)


def _grad_batched(roots: list[Any], targets: list[Any], grads: list[Any], retain_graph: bool | None, create_graph: bool,
                  allow_unused: bool | None, materialize_grads: bool) -> tuple[Any, ...]:  # fmt: skip
    """A `grad` call for each row of the gradients, all at once: a vmap over them."""
    level = BatchLevel(_rows(roots, grads))
    with running(level):
        rows = [batched(level, g, 0) for g in grads]
        found = grad(roots, targets, rows, retain_graph, create_graph, True, allow_unused, False, materialize_grads)
        return tuple(None if g is None else in_front(level, g) for g in found)


def _rows(roots: list[Any], grads: list[Any]) -> int:
    """The number of rows, which all gradients have."""
    sizes = []
    for i, (root, g) in enumerate(zip(roots, grads, strict=True)):
        edge = _root_edge(root)
        if g is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        shape = _root_type(root, edge)[0] if edge is not None else g._raw.shape[1:]
        if g._raw.shape[1:] != shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of "
                f"the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {Size(g._raw.shape)} and output[{i}] has a shape of {Size(shape)}. If you only want "
                "some tensors in `grad_output` to be considered batched, consider using vmap."
            )
        sizes.append(g._raw.shape[0])
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        )
    return sizes[0] if sizes else 0


def _sequence(x: Any) -> list[Any]:
    if isinstance(x, (Tensor, GradientEdge)):
        return [x]
    return list(x)


def _root_edge(root: Any) -> Edge | None:
    if isinstance(root, GradientEdge):
        return root.node, root.output_nr
    if not isinstance(root, Tensor):
        raise AssertionError("Expected output to be a torch.Tensor")
    return edge_of(root)


def _gradients(given: Any, count: int) -> list[Any]:
    if given is None:
        return [None] * count
    grads = [given] if isinstance(given, Tensor) else list(given)
    if len(grads) != count:
        raise RuntimeError(f"got {count} tensors and {len(grads)} gradients")
    return grads


def _root_gradients(roots: list[Any], grads: list[Any], _argument: str) -> list[Tensor]:
    """A gradient for each root: the given one, checked, or ones for a scalar."""
    edges = [_root_edge(root) for root in roots]
    made = [_root_gradient(i, root, edge, g) for i, (root, edge, g) in enumerate(zip(roots, edges, grads, strict=True))]
    if None in edges:
        raise RuntimeError(f"element {edges.index(None)} of tensors does not require grad and does not have a grad_fn")
    return made


def _root_gradient(i: int, root: Any, edge: Any, g: Any) -> Any:
    shape, kind = _root_type(root, edge)
    if g is None:
        if edge is None and not root.requires_grad:
            return None
        if np.prod(shape, dtype=int) != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if dtypes.CATEGORY[kind] == dtypes.COMPLEX:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtypes.FROM_NUMPY[kind]}")
        return make(filled(like_at(edge), 1) if S.reserved and edge is not None else np.ones(shape, kind)[()])
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._raw.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {Size(g._raw.shape)} and output[{i}] has a shape of {Size(shape)}."
        )
    if S.reserved and edge is not None and g.is_meta is not like_is_meta(like_at(edge)):
        places = ("meta", "cpu") if g.is_cpu else ("cpu", "meta")
        raise RuntimeError(f"invalid gradient at index {i} - expected device {places[0]} but got {places[1]}")
    if (dtypes.CATEGORY[g._raw.dtype] == dtypes.COMPLEX) != (dtypes.CATEGORY[kind] == dtypes.COMPLEX):
        raise RuntimeError(
            f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {dtypes.FROM_NUMPY[kind]}."
        )
    return g if g._raw.dtype == kind else operations._to_copy(g, kind)


def _root_type(root: Any, edge: Any) -> tuple[tuple[int, ...], Any]:
    if isinstance(root, Tensor):
        return root._raw.shape, root._raw.dtype
    return shape_dtype(like_at(edge))


# ---------------------------------------------------------------- one call


def run(call: BackwardCall, grads: list[Tensor]) -> list[Tensor | None]:
    """Run a backward call; the gradients captured for `call.inputs`, in order, if it is a `grad` call."""
    observer = S.observer
    if observer is not None:
        observer.begins(call)
    try:
        edges = [edge for edge in map(_root_edge, call.roots) if edge is not None]
        return Pass(call, any(isinstance(g, Wrapped) for g in grads)).run(edges, grads)
    finally:
        if observer is not None:
            observer.ends(call)


class Pass:
    """One walk over the graph. Raw arrays flow, or tensors when the walk is recorded (create_graph) or a transform's."""

    def __init__(self, call: BackwardCall, wrapped: bool = False) -> None:
        self.call = call
        self.recorded = call.create_graph or wrapped
        self.kernels: Any = None
        self.captures: dict[Node, dict[int, list[int]]] = {}
        """For `grad` calls: node -> output number -> places in the result."""
        self.found: list[Any] = [None] * len(call.inputs or ())
        self.only: set[Node] | None = None
        """For calls with `inputs`: the nodes that lead to one."""
        self.pending: dict[Node, Any] = {}
        self.leaves: dict[Node, int] = {}
        """AccumulateGrad -> how many gradients it still waits for."""
        self.given: list[Any] = []
        """The gradients of the roots, which the caller still holds."""
        self.root: Node | None = None
        """The node that the pass begins with, if there is one only: its tensor's hooks run even where it is not needed."""
        self._reached: set[Any] | None = None

    def run(self, edges: list[Edge], grads: list[Tensor]) -> list[Any]:
        if self.call.inputs is not None:
            self._prepare_captures()
        self.order = order = self._collect(edges)
        self.root = edges[0][0] if len(edges) == 1 else None
        if self.call.inputs is not None:
            self._restrict(order)
        self.kernels = kernels(*(g._raw for g in grads)) if grads else kernels()
        outer, mode, walk = L.current, L.grad, L.walk
        L.grad, L.walk = self.call.create_graph, self
        try:
            self.given = [g._raw for g in grads]
            for edge, given in zip(edges, grads, strict=True):
                self._deliver(edge[0], edge[1], given if self.recorded else given._raw)
            self._walk(order)
        finally:
            L.current, L.grad, L.walk = outer, mode, walk
        return [g if g is None or isinstance(g, Tensor) else make(g) for g in self.found]

    def _prepare_captures(self) -> None:
        for place, target in enumerate(self.call.inputs):
            edge = _root_edge(target)
            if edge is None and isinstance(target, Tensor) and target.requires_grad:
                continue  # a view without a history
            if edge is None and self.call.kind == "backward":
                raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
            if edge is None:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            if self.call.kind == "backward" and edge[0].__class__ is not AccumulateGrad:
                target.retain_grad()
            self.captures.setdefault(edge[0], {}).setdefault(edge[1], []).append(place)

    def _collect(self, edges: list[Edge]) -> list[Node]:
        """Every node that can be reached, highest sequence number first; leaves are counted apart."""
        pending, leaves = self.pending, self.leaves
        order: list[Node] = []
        stack: list[Node] = []
        for node, _ in edges:
            if node.__class__ is AccumulateGrad:
                leaves[node] = leaves.get(node, 0) + 1
            elif node not in pending:
                pending[node] = None
                stack.append(node)
        while stack:
            node = stack.pop()
            order.append(node)
            for edge in node._edges:
                if edge is not None:
                    target = edge[0]
                    if target.__class__ is AccumulateGrad:
                        leaves[target] = leaves.get(target, 0) + 1
                    elif target not in pending:
                        pending[target] = None
                        stack.append(target)
        order.sort(key=_by_sequence, reverse=True)
        return order

    def _restrict(self, order: list[Node]) -> None:
        """Find the nodes that lead to one of the inputs."""
        only: set[Node] = set()
        captures = self.captures
        for node in reversed(order):
            if node in captures or any(e is not None and (e[0] in only or e[0] in captures) for e in node._edges):
                only.add(node)
        self.only = only

    def _walk(self, order: list[Node]) -> None:
        pending, only, keep = self.pending, self.only, self.call.keeps_graph
        captures, leaves, kernels = self.captures, self.leaves, self.kernels
        ndarray = np.ndarray
        plain = not (self.recorded or L.anomaly or L.autocast is not None)
        ran, watch = None if S.observer is None else self.call.ran, self.call.watch
        for node in order:
            g = pending.pop(node)
            if only is not None and (node in captures or node not in only):
                if node is self.root and node not in captures and g is not None and node._extra is not None:
                    self._before(node, node._extra, g, only_tensor_hooks=True)
                leads_on = self._leads_on(node) or (node in captures and self.call.kind == "backward")
                if node in captures:
                    g = self._capture(node, g, leads_on)
                if not leads_on:
                    continue
            if g is None and not node._takes_none:
                self._run_undefined(node)
                continue
            if ran is not None:
                ran.append(node)
                L.current = node
                if watch is not None:
                    watch(node, g)
            if plain and only is None and node._extra is None:
                grads = node._run_raw(kernels, g)
            else:
                grads = self._run_node(node, g)
            if not keep and node._frees:
                node._saved = None
            for edge, g in zip(node._edges, grads, strict=False):
                if edge is None:
                    continue
                target = edge[0]
                if g is None:
                    if target.__class__ is AccumulateGrad:
                        self._deliver(target, 0, None)
                    continue
                if plain:
                    like = target._like
                    if g.__class__ is not like and (g.__class__ is not ndarray or (g.shape, g.dtype) != like):
                        try:
                            g = fit(g, like[edge[1]] if target._multiple else like)
                        except Misfit as misfit:
                            raise invalid(node, grads, misfit) from None
                if target._multiple:
                    self._deliver(target, edge[1], g)
                    continue
                old = pending.get(target)
                pending[target] = g if old is None else old + g
                if target.__class__ is AccumulateGrad:
                    leaves[target] -= 1
                    if not leaves[target]:
                        shared = g is grads[-1] and edge is not node._edges[-1]
                        self._finish_leaf(target, pending.pop(target), shared)

    def will_run(self, node: Node) -> bool:
        """Whether `node` runs in this pass, as PyTorch tells it: the only root of a pass does not count."""
        if self.only is None:
            self._reached = self._reached or {*self.order, *self.leaves} - {self.root}
            return node in self._reached
        if node in self.captures and node.__class__ is AccumulateGrad and self.call.kind == "grad":
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
                "currently not supported."
            )
        return node in self.only or node in self.captures

    def _leads_on(self, node: Node) -> bool:
        """Whether a node on the way must run although it is itself an input."""
        assert self.only is not None
        return node in self.only and any(e is not None and self._wants(e[0]) for e in node._edges)

    def _wants(self, node: Node) -> bool:
        """Whether a gradient that goes to `node` is asked for, in a call with `inputs`."""
        assert self.only is not None
        return node in self.only or node in self.captures

    def _run_undefined(self, node: Node) -> None:
        """No gradient came: hooks hear so, what was saved is looked at and let go, and the leaves behind wait for one less."""
        extra = node._extra
        if extra is not None and extra.runs_something:
            self._before(node, extra, None)
        if node._frees and node._saved is None:
            raise freed()
        check_versions(node, opens=True)
        if extra is not None and extra.hooks:
            self._after(extra, [None] * len(node._edges), [None] * len(node._like) if node._multiple else None)
        if not self.call.keeps_graph and node._frees:
            node._saved = None
        for edge in node._edges:
            if edge is not None and edge[0].__class__ is AccumulateGrad:
                self._deliver(edge[0], 0, None)

    def _deliver(self, node: Node, number: int, g: Any) -> None:
        """Add a gradient to what waits at `node`."""
        if node.__class__ is AccumulateGrad:
            self._deliver_leaf(node, g)
            return
        if not node._multiple:
            old = self.pending[node]
            self.pending[node] = g if old is None or g is None else old + g
            return
        waiting = self.pending[node]
        if waiting is None:
            waiting = self.pending[node] = [None] * len(node._like)
        waiting[number] = g if waiting[number] is None else waiting[number] + g

    def _deliver_leaf(self, leaf: Node, g: Any) -> None:
        if g is not None:
            old = self.pending.get(leaf)
            self.pending[leaf] = g if old is None else old + g
        self.leaves[leaf] -= 1
        if self.leaves[leaf] == 0:
            g = self.pending.pop(leaf, None)
            if g is not None:
                self._finish_leaf(leaf, g)
            else:
                self._finish_undefined(leaf)

    def _finish_undefined(self, leaf: Any) -> None:
        """No gradient came to a leaf: its hooks hear so."""
        meta = leaf.variable._meta
        if (self.only is not None and leaf not in self.captures) or meta is None:
            return
        if meta.hooks:
            self._tensor_hooks(meta.hooks, None)
        if self.only is None or self.call.kind == "backward":
            hooking.accumulated_hooks(meta.post_hooks or {}, leaf.variable)

    def _finish_leaf(self, leaf: Any, g: Any, shared: bool = False) -> None:
        """Hand a leaf its gradient; `shared` says that others on the way got the same array."""
        if self.only is not None and leaf not in self.captures:
            if leaf is self.root and leaf.variable._meta.hooks:
                self._tensor_hooks(leaf.variable._meta.hooks, g)
            return
        if S.observer is not None:
            self.call.ran.append(leaf)
            if self.call.watch is not None:
                self.call.watch(leaf, g)
        variable: Tensor = leaf.variable
        meta = variable._meta
        if meta is not None and meta.hooks:
            g = self._tensor_hooks(meta.hooks, g)
        if self.only is not None and self.call.kind == "grad":
            for place in self.captures[leaf][0]:
                self.found[place] = g
            return
        if not marks_leaf(variable._edge):
            if variable.requires_grad:
                raise RuntimeError("leaf variable has been moved into the graph interior")
            return
        if not self.recorded:
            g = self._fitting(leaf, g)
        extra: Extra | None = leaf._extra
        if extra is not None and extra.pre_hooks:
            g = self._unwrap(hooking.pre_hooks(extra, [self._wrap(g)])[0])
        if self.recorded:
            accumulate_recorded(variable, g)
        else:
            accumulate(variable, g, shared or any(g is root for root in self.given))
        if meta is not None and meta.post_hooks:
            hooking.accumulated_hooks(meta.post_hooks, variable)
        if extra is not None and extra.hooks:
            hooking.post_hooks(extra, (), (self._wrap(g),))

    @staticmethod
    def _fitting(leaf: Node, g: Any) -> Any:
        try:
            return fit(g, leaf._like)
        except Misfit as misfit:
            got, wanted = map(list, misfit.args)
            raise RuntimeError(f"invalid gradient at index 0 - got {got} but expected shape compatible with {wanted}") from None

    # -- the careful way

    def _run_node(self, node: Node, g: Any) -> Any:
        """Run a node with hooks, anomaly checks, or recorded."""
        L.current = node
        extra = node._extra
        if extra is not None and extra.runs_something:
            g = self._before(node, extra, g)
        # Under autocast formulas are operations too, which choose their dtypes.
        by_operations = self.recorded or L.autocast is not None
        run: Any = node._run_recorded if by_operations else node._run_raw
        f = operations if by_operations else self.kernels
        wrapped = by_operations and not self.recorded
        if wrapped:
            g = [self._wrap(x) for x in g] if isinstance(g, list) else self._wrap(g)
        if self.only is not None and node._operation is not None:
            check_versions(node)
            # A gradient that leads to none of the inputs is not computed.
            grads = run(f, g, tuple(e if e is not None and self._wants(e[0]) else None for e in node._edges))
        else:
            grads = run(f, g)
        if wrapped:
            grads = [self._unwrap(x) for x in grads]
            g = [self._unwrap(x) for x in g] if isinstance(g, list) else self._unwrap(g)
        if L.anomaly and L.check_nan:
            _check_nan(node, grads)
        if extra is not None and extra.hooks:
            grads = self._after(extra, grads, g)
        fitting = fit_recorded if self.recorded else fit
        try:
            return [
                None if g is None or e is None else fitting(g, like_at(e)) for e, g in zip(node._edges, grads, strict=False)
            ]
        except Misfit as misfit:
            raise invalid(node, grads, misfit) from None

    def _capture(self, node: Node, g: Any, leads_on: bool) -> Any:
        """Keep the gradient of an input that is no leaf; as in PyTorch, before its hooks if the node runs as well."""
        if not leads_on and g is not None and node._extra is not None and node._extra.runs_something:
            g = self._before(node, node._extra, g, only_tensor_hooks=True)
        if self.call.kind == "grad":
            for number, places in self.captures[node].items():
                value = g[number] if g is not None and node._multiple else g
                for place in places:
                    self.found[place] = value
        return g

    def _before(self, node: Node, extra: Extra, g: Any, only_tensor_hooks: bool = False) -> Any:
        grads = ([None] * len(node._like) if g is None else list(g)) if node._multiple else [g]
        for number, hooks in sorted((extra.tensor_hooks or {}).items()):
            grads[number] = self._tensor_hooks(hooks, grads[number])
        for number, reference in (extra.retained or {}).items():
            tensor = reference()
            if tensor is not None and grads[number] is not None:
                retain(tensor, self._wrap(grads[number]))
        if extra.pre_hooks and not only_tensor_hooks:
            grads = [self._unwrap(t) for t in hooking.pre_hooks(extra, [self._wrap(x) for x in grads])]
        return grads if node._multiple else grads[0]

    def _after(self, extra: Extra, grads: Any, g: Any) -> Any:
        outputs = tuple(self._wrap(x) for x in g) if isinstance(g, list) else (self._wrap(g),)
        replaced = hooking.post_hooks(extra, [self._wrap(x) for x in grads], outputs)
        return [self._unwrap(x) for x in replaced]

    def _tensor_hooks(self, hooks: dict[int, Any], g: Any) -> Any:
        return self._unwrap(hooking.tensor_hooks(hooks, self._wrap(g)))

    def _wrap(self, g: Any) -> Any:
        return g if g is None or self.recorded else make(g)

    def _unwrap(self, g: Any) -> Any:
        return g if g is None or self.recorded else g._raw


def _check_nan(node: Node, grads: Any) -> None:
    for i, g in enumerate(grads):
        raw = g._raw if isinstance(g, Tensor) else g
        if raw is not None and np.isnan(raw).any():
            _print_anomaly(node)
            raise RuntimeError(f"Function '{node._name()}' returned nan values in its {i}th output.")


def _print_anomaly(node: Node) -> None:
    import warnings

    lines = node.metadata.get("traceback_")
    text = (
        f"Error detected in {node._name()}. Traceback of forward call that caused the error:\n{''.join(lines)}"
        if lines
        else f"Error detected in {node._name()}. No forward pass information available. Enable detect anomaly during forward pass for more information."
    )
    warnings.warn(text, UserWarning, stacklevel=2)
    extra_of(node)
