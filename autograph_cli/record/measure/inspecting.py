"""All that a tensor knows of itself when a script is over, and what the graph knows of it."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from autograph_cli import AutographError
from autograph_cli.engines.protocol import Engine, TensorFacts
from autograph_cli.graph import Graph, GraphError, Node, Step, Trace
from autograph_cli.graph.facts import bytes_text, plain_name, values_lines
from autograph_cli.graph.ledger_facts import facts_of
from autograph_cli.graph.names import output_names
from autograph_cli.graph.paths import find_positions, known_names
from autograph_cli.record.log.ledger_hooks import script_hook
from autograph_cli.record.measure.values import summary
from autograph_cli.record.names.variables import tensors_in

LEVELS = 2
"""The levels of a tensor's backward graph that are shown."""
_NEAR = 5
_LISTED = 20
Facts = dict[str, Any]
"""The facts by name: a text, a number, a truth value, None, or a list of texts."""


class UnknownName(AutographError):
    """No tensor has this name."""


def tensors_of(scope: Mapping[str, Any], cls: type) -> dict[str, Any]:
    """The tensors that the variables of a script lead to, by their paths: `w`, `params[0]`, `model.fc1.weight`."""
    found: dict[str, Any] = {}
    for name, value in list(scope.items()):
        if not name.startswith("_"):
            for path, tensor in tensors_in(name, value, cls=cls):
                found.setdefault(path, tensor)
    return found


def inspected(engine: Engine, scope: Mapping[str, Any], trace: Trace, name: str) -> Facts:
    """The facts of a tensor that a variable leads to, and those that the last step with such a name tells.

    Raises `UnknownName`, with the names that are near.
    """
    every = tensors_of(scope, engine.tensor)
    tensor = every.get(name)
    tensor = _read(scope, name, engine.tensor) if tensor is None else tensor
    recorded = _recorded(trace, [name, *_others(every, tensor, name)])
    if tensor is None and recorded is None:
        raise UnknownName(_unknown(trace, every, name))
    facts: Facts = {"name": name}
    if tensor is None:
        facts["now"] = "gone when the script was over; this is what the trace tells"
    else:
        facts |= dict(_facts(engine, tensor, every, name))
    training = facts_of(trace.ledger, [name, *_others(every, tensor, name)]) if trace.ledger else []
    if training and (tensor.is_leaf if tensor is not None else recorded is not None and recorded[1].kind == "leaf"):
        facts["training"] = training
    if recorded is not None:
        facts |= dict(_of_graph(*recorded, several=len(trace.steps) > 1, live=tensor is not None))
    return facts


def _read(scope: Mapping[str, Any], name: str, cls: type) -> Any:
    """The tensor that an expression of names, attributes and constant indices leads to, if there is one."""
    try:
        found = _walked(ast.parse(name, mode="eval").body, scope)
    except Exception:  # whatever an attribute or an index of the script's own raises
        return None
    return found if isinstance(found, cls) else None


def _walked(tree: ast.expr, scope: Mapping[str, Any]) -> Any:
    if isinstance(tree, ast.Name):
        return scope[tree.id]
    if isinstance(tree, ast.Attribute):
        return getattr(_walked(tree.value, scope), tree.attr)
    if isinstance(tree, ast.Subscript):
        return _walked(tree.value, scope)[ast.literal_eval(tree.slice)]
    raise ValueError(f"{ast.dump(tree)} is no path to a variable")


def _unknown(trace: Trace, every: Mapping[str, Any], name: str) -> str:
    known = list(dict.fromkeys([*every, *(word for step in trace.steps for word in known_names(step.graph))]))
    near = difflib.get_close_matches(name, known, _NEAR, 0.5) or [
        word for word in known if word.endswith(f".{name}") or word.startswith(f"{name}.")
    ]
    near = sorted(near, key=known.index)
    if near:
        return f"There is no tensor {name!r} in {trace.script}; near it: {', '.join(near[:_NEAR])}."
    more = f", and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"There is no tensor {name!r} in {trace.script}; there are: {', '.join(known[:_LISTED]) or 'none'}{more}."


def _others(every: Mapping[str, Any], tensor: Any, name: str) -> list[str]:
    """Other paths that lead to the same tensor."""
    return [path for path, other in every.items() if other is tensor and path != name] if tensor is not None else []


# -- the tensor itself


def _facts(engine: Engine, tensor: Any, every: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    yield "type", _type(engine, tensor)
    others = _others(every, tensor, name)
    if others:
        yield "also called", others
    yield "data", _numbers(engine, tensor)
    yield "dtype", str(tensor.dtype)
    yield "device", str(tensor.device)
    yield "layout", str(tensor.layout)
    yield "requires_grad", bool(tensor.requires_grad)
    yield "is_leaf", bool(tensor.is_leaf)
    yield "retains_grad", bool(tensor.retains_grad)
    yield from _gradient(engine, tensor)
    node = tensor.grad_fn
    yield "grad_fn", None if node is None else node.name()
    yield "output_nr", int(tensor.output_nr)
    if node is not None:
        yield "next_functions", list(_next(node, {id(other): path for path, other in every.items()}, 1))
    yield "_version", None if tensor.is_inference() else int(tensor._version)
    yield from _memory(engine, tensor, every, name)
    yield "hooks", [f"{kind}: {_called(script_hook(hook))}" for kind, hook in engine.hooks(tensor)]


def _type(engine: Engine, tensor: Any) -> str:
    return str(engine.types(None, engine.like(tensor))[0])


def _numbers(engine: TensorFacts, tensor: Any) -> list[str]:
    values = summary(engine.array(tensor))
    return [f"no numbers: on the device {tensor.device}"] if values is None else values_lines(values)


def _gradient(engine: Engine, tensor: Any) -> Iterator[tuple[str, Any]]:
    grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    if grad is not None:
        yield "grad", [_type(engine, grad), *_numbers(engine, grad)]
    elif not tensor.requires_grad:
        yield "grad", None
    elif not tensor.is_leaf and not tensor.retains_grad:
        yield "grad", "None: not a leaf, and retain_grad() was not called"
    else:
        yield "grad", "None: no backward pass has come to it"


def _next(node: Any, names: Mapping[int, str], level: int) -> Iterator[str]:
    """The nodes behind a node, those behind them set in."""
    for following, nr in node.next_functions:
        indent = "  " * (level - 1)
        if following is None:
            yield f"{indent}None"
            continue
        variable = getattr(following, "variable", None)
        path = "" if variable is None else names.get(id(variable), "")
        yield f"{indent}{following.name()}{f' ({path})' if path else ''}{f', output {nr}' if nr else ''}"
        if level < LEVELS:
            yield from _next(following, names, level + 1)


def _memory(engine: Engine, tensor: Any, every: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    yield "is_view", bool(tensor._is_view())
    base = tensor._base
    if base is not None:
        paths = _others(every, base, "")
        yield "base", f"{paths[0] if paths else 'without a name'}: {_type(engine, base)}"
    if "strided" not in str(tensor.layout):
        return
    yield "strides", str(tuple(tensor.stride()))
    yield "is_contiguous", bool(tensor.is_contiguous())
    yield "storage_offset", int(tensor.storage_offset())
    memory = engine.memory(tensor)
    if memory is None:
        return
    owner, size = memory
    yield "storage", bytes_text(size)
    sharing = [path for path, other in every.items() if other is not tensor and _owner(engine, other) is owner]
    yield "storage shared with", [path for path in sharing if path != name]


def _owner(engine: TensorFacts, tensor: Any) -> Any:
    memory = engine.memory(tensor)
    return None if memory is None else memory[0]


def _called(hook: Any) -> str:
    code = getattr(hook, "__code__", None)
    name = getattr(hook, "__qualname__", None) or type(hook).__name__
    return name if code is None else f"{name} ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"


# -- the graph


def _recorded(trace: Trace, names: list[str]) -> tuple[Step, Node, int] | None:
    """The last step that has a tensor of one of these names, its node and which output it is."""
    for step in reversed(trace.steps):
        for name in names:
            try:
                node, nr = find_positions(step.graph, name)[-1]
            except GraphError:
                continue
            return step, step.graph[node], nr or 0
    return None


def _of_graph(step: Step, node: Node, nr: int, *, several: bool, live: bool) -> Iterator[tuple[str, Any]]:
    graph, output = step.graph, node.outputs[nr]
    if not live:
        yield "type", str(output.type)
    measured = node.measured
    if measured is not None and not live and nr < len(measured.values) and (values := measured.values[nr]):
        yield "data", values_lines(values)
    if measured is not None and nr < len(measured.gradients) and (values := measured.gradients[nr]):
        yield "gradient that came", values_lines(values)
    if several:
        yield "step", step.nth
    what = {"leaf": "a leaf", "input": "an input, which needs no gradient"}.get(node.kind, node.op)
    yield "made by", f"{what} ({node.name})" if node.op and node.name else what
    if node.source is not None:
        yield "made at", f"{node.source.file}:{node.source.line}  {node.source.text.strip()}".rstrip()
    if node.module:
        yield "module", node.module
    if node.order:
        yield "order", node.order
    names = output_names(graph)
    yield "used by", [_node(graph, other, names) for other in graph if (node.id, nr) in _given(other)]
    yield "saved by", list(_savers(graph, output.storage, names))


def _given(node: Node) -> set[tuple[int, int]]:
    return {(edge.node, edge.nr) for edge in node.args}


def _savers(graph: Graph, storage: int | None, names: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if storage is None:
        return
    for other in graph:
        kept = [plain_name(saved) for saved in other.saved if saved.type is not None and saved.storage == storage]
        if kept:
            yield f"{_node(graph, other, names)} as {', '.join(kept)}"


def _node(graph: Graph, node: Node, names: Sequence[tuple[str, ...]]) -> str:
    where = f", {node.source.file}:{node.source.line}" if node.source else ""
    return f"{node.name or node.op} {names[node.id][0]}{where}"
