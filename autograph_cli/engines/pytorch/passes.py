"""The backward passes of PyTorch: all of them go through one function, around which a connection listens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from autograph_cli.engines.pytorch import hooks, private, private_compiler, private_replaced
from autograph_cli.engines.pytorch.saved import is_custom, is_packed, until_broken


class BackwardCall:
    """One backward pass; see `protocol.BackwardCall`."""

    def __init__(self, roots: Any, inputs: Any, keeps_graph: bool, create_graph: bool, accumulates: bool) -> None:
        self.kind = "backward" if accumulates else "grad"
        self.roots, self.inputs = roots, inputs or None
        self.found: Any = None
        self.keeps_graph, self.create_graph = keeps_graph, create_graph
        self.ran: list[Any] = []
        self.failed = False
        self.watch: Callable[[Any, Any], None] | None = None
        self.counted: Callable[[int], None] | None = None


_original = private.run_backward()


def listen() -> None:
    """Hear of every pass from now on."""
    global _original
    _original = private.run_backward()
    private_replaced.replace_run_backward(_run_backward)


def listen_no_more() -> None:
    """Hear of none."""
    private_replaced.replace_run_backward(_original)


def attach(engine: Any) -> Any:
    """Let this connection listen to operations and passes; returns the one that did."""
    before = hooks.attach(engine)
    if before is None:
        listen()
    return before


def detach(engine: Any, before: Any = None) -> None:
    """Let it listen no more, and another one, if there was one before it."""
    if hooks.detach(engine, before):
        listen_no_more()


def _watched(nodes: list[Any], watch: Callable[[Any, Any], None]) -> list[Any]:
    """Tell of each of these nodes when it begins and when it is done, until the handles are removed."""

    def begins(node: Any, grads: Any) -> None:
        hooks.here()
        with hooks.unheard():
            watch(node, list(grads))

    def ends(sent: Any, _: Any) -> None:
        with hooks.unheard():
            watch(None, sent)

    handles = []
    for node in dict.fromkeys(nodes):
        handles.append(node.register_prehook(lambda grads, node=node: begins(node, grads)))
        handles.append(node.register_hook(ends))
    return handles


def _keeping_back(nodes: list[Any], kept: set[tuple[Any, int]]) -> list[Any]:
    """Note where the backward of a custom Function returns None though an edge is there, until the handles are
    removed."""

    def returned(node: Any, grads: Any) -> None:
        edges = zip(node.next_functions, grads, strict=False)
        kept.update((node, nr) for nr, ((target, _), grad) in enumerate(edges) if target is not None and grad is None)

    custom = [node for node in dict.fromkeys(nodes) if hasattr(node, "_forward_cls")]
    return [node.register_hook(lambda grads, _, node=node: returned(node, grads)) for node in custom]


def _reached(roots: Any, nodes: list[Any], kept: set[tuple[Any, int]]) -> list[Any]:
    """Return the nodes of a pass that a gradient came to; custom Functions are given zeros where none did."""
    found = {root.grad_fn if hasattr(root, "grad_fn") else root.node for root in roots}
    for node in nodes:
        if node in found or hasattr(node, "_forward_cls"):
            edges = enumerate(node.next_functions)
            found |= {node, *(target for nr, (target, _) in edges if (node, nr) not in kept)}
    return [node for node in nodes if node in found]


@private_compiler.uncounted
def _run_unfollowed(roots: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a pass of a step that is not followed, and tells that it is over."""
    result = _original(roots, *args, **kwargs)
    listening = hooks.listener()
    if listening is not None and not (private.in_pass() or hooks.is_apart()):
        listening.passed(bool(args[1]) or private.is_differentiated_around(roots))
    return result


def _end(engine: Any, call: BackwardCall) -> None:
    """The pass is over; of a step that is not followed, only its end is told."""
    listening = hooks.listener()
    if engine is not None:
        engine.tell(engine.listener.ends, call)
    elif listening is not None and not (call.failed or private.in_pass()):
        listening.passed(call.keeps_graph)


def _hearing(engine: Any, call: BackwardCall) -> contextlib.AbstractContextManager[None]:
    """Operations of a pass run unheard where nothing is told of them. Within a transform, so do formulas that compute
    with a number that a node has saved: the number is wrapped, and PyTorch fails to hand it to Python."""
    if private.is_within_transform():
        unheard = any(map(private.has_wrapped_number, call.ran))
    else:
        unheard = engine is not None and engine.watcher is None and _is_plain(call)
    return hooks.unheard() if unheard else contextlib.nullcontext()


def _is_plain(call: BackwardCall) -> bool:
    """Return whether no code of the script runs in a pass, which makes no graph and speaks to no other ranks."""
    if call.create_graph or call.watch is not None or hooks.are_hooked() or is_packed() or private.has_ranks():
        return False
    return not (private_compiler.compiles_passes() or any(is_custom(node.__class__) for node in call.ran))


def _carried(engine: Any) -> contextlib.AbstractContextManager[None]:
    """The threads of devices that a pass runs in are told whose pass it is."""
    return contextlib.nullcontext() if engine is None else private.carrying(hooks.caller(engine))


@private_compiler.uncounted
def _run_backward(roots: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a pass, and tells of it."""
    if not hooks.follows():
        return _run_unfollowed(roots, *args, **kwargs)
    if hooks.is_apart():
        return _original(roots, *args, **kwargs)
    engine = hooks.here()
    _, keeps, creates, inputs = args[:4]
    goes_on = bool(keeps) or private.is_differentiated_around(roots)
    call = BackwardCall(tuple(roots), inputs, goes_on, bool(creates), kwargs.get("accumulate_grad", False))
    if engine is not None:
        with hooks.unheard():
            engine.tell(engine.listener.begins, call)
            call.ran = engine.tell(engine.will_run, call.roots, call.inputs, call.kind) or []
    kept: set[tuple[Any, int]] = set()
    handles = []
    if not private_compiler.compiles_passes():
        handles += [] if call.watch is None else _watched(call.ran, call.watch)
        handles += _keeping_back(call.ran, kept) if call.kind == "backward" else []
    try:
        with _hearing(engine, call), _carried(engine):
            result = _original(roots, *args, **kwargs)
        if engine is not None and private.is_within_transform():
            with hooks.unheard():  # nodes that were made unheard are of this pass
                engine.tell(engine.numbers, private.nodes_made(result or ()))
        call.ran = _reached(call.roots, call.ran, kept) if kept else call.ran
        call.found = result if call.kind == "grad" else None
        return result
    except BaseException:
        if engine is not None:
            with hooks.unheard():
                call.ran = engine.tell(until_broken, call.ran, engine.was_freed)
        call.failed = True
        raise
    finally:
        for handle in handles:
            handle.remove()
        with hooks.unheard():
            _end(engine, call)
        if hooks.here() is not None and engine is None:
            private.intercepted(True)  # the step that begins is followed, which the block above has undone
