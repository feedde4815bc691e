"""Derivatives that are silently wrong or missing where a custom Function was differentiated."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograph_cli.findings.functions import FunctionText, function_text
from autograph_cli.findings.numbers import gradient_of, largest
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.graph import Edge, Node, Saved, Source
from autograph_cli.graph.cuts import where
from autograph_cli.graph.marks import kept_without_history
from autograph_cli.graph.withheld import withheld
from autograph_cli.record.names.bindings import Binding


def _differentiated(seen: Seen) -> Iterator[tuple[Node, FunctionText | None]]:
    """The custom Functions whose derivative was to have a graph: of each class the node that is known best."""
    met: dict[str, FunctionText | None] = {}
    for entry in seen.graph.passes:
        for node in (seen.graph[number] for number in entry.ran if entry.create_graph):
            if node.is_custom and node.op not in met:
                text = function_text(seen.scripts, node.op)
                # What is once differentiable raises in time, unless its gradient was a constant from the start.
                if None in entry.results or text is None or text.once is None:
                    met[node.op] = text
    for op, text in met.items():
        yield max((node for node in seen.graph if node.op == op and node.is_custom), key=lambda n: len(n.saved)), text


def _kept_without_history(seen: Seen) -> Iterator[Found]:
    for node, text in _differentiated(seen):
        for kept in kept_without_history(seen.graph, node) if text is None or text.once is None else ():
            found = _one_kept(node, kept, text)
            if found is not None:
                yield found
        if (
            text is not None
            and text.once is None
            and not node.saved
            and (_is_constant(seen, node) or _takes_constant(seen, node))
        ):
            yield from _computed(node, text)


def _is_constant(seen: Seen, node: Node) -> bool:
    """Return whether a gradient that was to have a graph has none at all."""
    return any(node.id in entry.ran and entry.create_graph and None in entry.results for entry in seen.graph.passes)


def _takes_constant(seen: Seen, node: Node) -> bool:
    """Return whether its backward takes what was computed from a tensor with a history, and has none."""
    inside = (edge for other in seen.graph if other.parent == node.id for edge in other.args)
    return any(seen.graph[edge.node].kind == "untracked" and seen.graph[edge.node].cut for edge in inside)


def _computed(node: Node, text: FunctionText) -> Iterator[Found]:
    """The same, of a node that was gone before it was looked at: its class tells what forward keeps."""
    for name, statement, _ in text.computed():
        yield Found(
            f"{node.op}: backward uses {name}, which has no history: the second derivative leaves it out",
            text.source(statement),
            (f"{name} is computed within forward, and neither an input nor an output of {node.op}",),
            (node.id,),
        )


def _one_kept(node: Node, kept: Saved, text: FunctionText | None) -> Found | None:
    by_name = kept.name.startswith("ctx.")
    source, value = node.source, None
    if text is not None and by_name:
        statement = text.keeps(kept.name.removeprefix("ctx."))
        value = text.kept_value(kept.name.removeprefix("ctx."))
        source = source if statement is None else text.source(statement)
    elif text is not None:
        saved = text.saves(int(kept.name.partition("[")[2].rstrip("]") or 0))
        source, value = (source, None) if saved is None else (text.source(saved[0]), saved[1])
    if value is not None and text is not None and text.is_piecewise_constant(value):
        return None
    shown = kept.name if value is None or by_name else f"{ast.unparse(value)} ({kept.name})"
    return Found(
        f"{node.op}: backward uses {shown}, which has no history: the second derivative leaves it out",
        source,
        (f"{shown} is {kept.type}, computed within forward, and neither an input nor an output of {node.op}",),
        (node.id,),
    )


def _cut_in_backward(seen: Seen) -> Iterator[Found]:
    for node, text in _differentiated(seen):
        method = None if text is None else text.method("backward", "vjp")
        if text is None or method is None:
            continue
        if text.once is not None:
            said = f"{node.op}: its backward is marked as once differentiable, and has no second derivative"
            remedy = "Write it with tensor operations on grad_output and ctx.saved_tensors, without the mark."
            yield Found(said, text.source(text.once), (), (node.id,), remedy)
        for one in text.script.bindings:
            if not one.causes or _is_handed_over(seen, method, one):
                continue
            if method.lineno < one.line <= (method.end_lineno or 0):
                words = ", ".join(dict.fromkeys(cause.words for cause in one.causes))
                source = Source(text.file, one.line, one.text, node.op)
                said = f"{node.op}: its backward cuts the second derivative by {words}"
                yield Found(said, source, (), (node.id,))


def _is_handed_over(seen: Seen, method: ast.FunctionDef, one: Binding) -> bool:
    """Return whether what a statement cuts goes to another Function alone, beside what it was cut from: that one's
    backward has the derivative by both."""
    calls = [
        part for part in ast.walk(method) if isinstance(part, ast.Call) and ast.unparse(part.func).endswith(".apply")
    ]
    calls = [call for call in calls if function_text(seen.scripts, ast.unparse(call.func)[: -len(".apply")])]
    whole = {part.id for call in calls for part in call.args if isinstance(part, ast.Name)}
    if not calls or not all(whole & cause.operands for cause in one.causes):
        return False
    inside = {part for call in calls for part in ast.walk(call)}
    if any(call.lineno <= one.last_line and one.line <= (call.end_lineno or 0) for call in calls):
        here = [
            part for part in ast.walk(method) if isinstance(part, ast.Attribute) and part.attr in ("detach", "data")
        ]
        return inside.issuperset(part for part in here if one.line <= part.lineno <= one.last_line)
    read = [part for part in ast.walk(method) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
    uses = [part for part in read if part.id in one.targets]
    return bool(uses) and inside.issuperset(uses)


def _ignored_gradient(seen: Seen) -> Iterator[Found]:
    met: set[str] = set()
    for node in seen.graph:
        if not node.is_custom or node.op in met or node.id not in seen.reached or _starts(seen, node):
            continue
        text = function_text(seen.scripts, node.op)
        method = None if text is None else text.method("backward", "vjp")
        if text is None or method is None or method.args.vararg is not None:
            continue
        met.add(node.op)
        read = text.read(method)
        for nr, argument in enumerate(method.args.args[1:]):
            users = [user for user in seen.users.get(Edge(node.id, nr), []) if Edge(node.id, nr) in user.next]
            if argument.arg not in read and any(user.id in seen.reached for user in users):
                only = len(node.outputs) == 1
                yield Found(
                    f"{node.op}: its backward does not use {argument.arg}, the gradient of "
                    f"{'its result' if only else f'output {nr}'}",
                    text.source(argument),
                    (f"{seen.shown(Edge(node.id, nr))} goes into {users[0].op}, which sends it a gradient",),
                    (node.id, users[0].id), *((_TIMES, _AS_IF_ONE) if only else ()),
                )  # fmt: skip


def _starts(seen: Seen, node: Node) -> bool:
    """Return whether a node has one result alone, of which the gradient is one: a loss, or what is added up to it."""
    return len(node.outputs) == 1 and largest(gradient_of(seen, Edge(node.id))) in (None, 1.0)


_TIMES = "Multiply the derivative by it."
_AS_IF_ONE = "The gradient that is passed on is the same whatever comes: it hangs neither on the loss nor on its scale."


def _kept_back(seen: Seen) -> Iterator[Found]:
    """Gradients that a backward of the script's own returned None for."""
    for node, nr in withheld(seen.graph):
        text, edge = function_text(seen.scripts, node.op), node.next[nr]
        ended = seen.trace.failure and seen.is_last and seen.graph.passes[-1].ran[-1:] == (node.id,)
        if text is None or edge is None or ended:
            continue
        returns = text.returns(nr, len(node.next))
        source = text.source(returns[-1]) if returns else node.source
        user = f"{where(node)} is given {seen.shown(edge)}, which needs a gradient"
        yield Found(
            f"{node.name} returned None for input {nr}, {line_of(source)}", source, (user,), (node.id, edge.node)
        )


RULES = (
    Rule("AG101", "a second derivative misses what was kept in forward",
        "Operations in forward are not recorded, so what they made counts as a constant when backward is "
        "differentiated: the first derivative is right, and the second is wrong without an error.",
        "Return it as a further output and use its gradient in backward, or compute it in backward from saved inputs.",
        _kept_without_history),
    Rule("AG102", "a backward cuts the second derivative",
        "Results computed in backward from detached tensors or plain numbers have no history, so no derivative.",
        "Compute the gradient with tensor operations on grad_output and ctx.saved_tensors, or mark backward with "
        "@once_differentiable, so that a second derivative is an error.",
        _cut_in_backward),
    Rule("AG103", "a backward ignores the gradient of an output that is used",
        "The part of the derivative that goes through this output is lost, in the first derivative already.",
        "Use it, or mark the output with ctx.mark_non_differentiable.",
        _ignored_gradient),
    Rule("AG104", "a backward returns None for an input that needs a gradient",
        "None stands for no gradient: the input, and all that it was computed from, gets none from here.",
        "Return its gradient in this place; where none is meant, detach the input before it is given.",
        _kept_back),
)  # fmt: skip
