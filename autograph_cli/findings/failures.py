"""Errors of autograd that ended the script: what led to them, and where."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from autograph_cli.findings.calls import WHOLE_PARAMETER, around, parts_of, script_parts
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.unconnected import BACKWARD, without_history
from autograph_cli.findings.ways import memory, moves, shape_of
from autograph_cli.graph import Edge, Node, Pass, Source
from autograph_cli.graph.cuts import LISTED, reasons, where
from autograph_cli.graph.paths import Position, leading_to
from autograph_cli.record.graphs.causes import causes, unused

_GRAD_READ = re.compile(r"([\w.\[\]]+?)\.grad\b")
_CHANGED = re.compile(
    r"\[([\w.]+) \[(.*?)\]\](?:, which is output (\d+) of ([\w:]+))?,? is at version (\d+); expected version (\d+)"
)


def failing(*texts: str) -> Callable[[Callable[[Seen], Iterable[Found]]], Callable[[Seen], Iterable[Found]]]:
    """The rule looks at the last step of a script that failed with one of these texts."""

    def limited(find: Callable[[Seen], Iterable[Found]]) -> Callable[[Seen], Iterable[Found]]:
        def look(seen: Seen) -> Iterable[Found]:
            failed = seen.trace.failure
            return find(seen) if seen.is_last and any(text in failed for text in texts) else ()

        return look

    return limited


def _failed_pass(seen: Seen) -> Pass | None:
    """The backward call that raised, if it is of this step."""
    last = seen.graph.passes[-1] if seen.graph.passes else None
    return last if last is not None and last.source == seen.trace.failed_at else None


def _named(edges: Sequence[Edge], seen: Seen) -> str:
    listed = [seen.name(edge) for edge in edges[:LISTED]]
    return ", ".join(listed) + (", ..." if len(edges) > LISTED else "")


@failing("Trying to backward through the graph a second time")
def _freed(seen: Seen) -> Iterator[Found]:
    at, failed = seen.trace.failed_at, _failed_pass(seen)
    needed = seen.graph[failed.ran[-1]] if failed is not None and failed.ran else None
    freeing = _freeing(seen, failed, needed)
    facts = [f"the buffers were freed by {freeing.call} at {line_of(freeing.source)}"] if freeing else []
    shared = [needed] if freeing and needed is not None and needed.kind == "operation" else []
    facts += [f"{where(node)} ({seen.names[node.id][0]}) is in both graphs" for node in shared]
    again = freeing is not None and freeing.source == at
    said, remedy = "a second backward pass needs what the first one has freed", ""
    if again and (node := next((node for node in shared if _of_parameter(seen, node)), None)) is not None:
        said += f": {where(node)} makes {seen.name(Edge(node.id))} once, of a Parameter, and it is none itself"
        at, remedy = node.source, WHOLE_PARAMETER
    remedy = remedy or ((_above_loop(seen, shared) or _CARRIED) if again else _of_another(seen, shared, freeing))
    yield Found(said, at, tuple(facts), tuple(node.id for node in shared), remedy)


def _of_parameter(seen: Seen, node: Node) -> bool:
    """Return whether the line of an operation makes a Parameter and computes from it."""
    made = node.source is not None and "Parameter(" in node.source.text
    return made and seen.graph[node.args[0].node].kind == "leaf"


_CARRIED = (
    "Detach what is carried from one turn of the loop to the next (hidden.detach()), or build the loss again in "
    "each turn."
)


def _of_another(seen: Seen, shared: Sequence[Node], freeing: Pass | None) -> str:
    """Return what to do where the first backward was for an optimizer that holds nothing of what made the shared
    result, as that of a discriminator beside its generator's."""
    ledger = seen.trace.ledger
    steps = [each for each in ledger.happenings if each.kind in ("step", "backward")] if ledger is not None else []
    steps = [two for one, two in pairwise(steps) if (one.kind, two.kind) == ("backward", "step")][-1:]
    for node, step in zip(shared, steps, strict=False):
        held = set(ledger.names(ledger.sets[step.given])) if ledger is not None else set()
        leaves = [seen.names[number] for number in seen.behind([Edge(node.id)]) if seen.graph[number].kind == "leaf"]
        if held and leaves and not any(held.intersection(names) for names in leaves) and freeing is not None:
            name = seen.name(Edge(node.id))
            return (
                f"The step at {line_of(step.source)} moves nothing that made {name}: give the loss of "
                f"{line_of(freeing.source)} {name}.detach()."
            )
    return ""


def _above_loop(seen: Seen, shared: Sequence[Node]) -> str:
    """Return what to do about a result that is made above the loop which calls backward, in the same function."""
    at, made = seen.trace.failed_at, next((node.source for node in shared), None)
    if not at or not made or (made.file, made.function) != (at.file, at.function) or at.file not in seen.scripts:
        return ""
    loops = around(seen.scripts[at.file].tree, at.line, ast.For, ast.While)
    loops = [part for part in loops if part.lineno < at.line]
    if not loops or any(part.lineno <= made.line for part in loops):
        return ""
    name = seen.name(Edge(shared[0].id))
    return f"Compute {name} within the loop, whose first turn frees its graph; or detach it."


def _freeing(seen: Seen, failed: Pass | None, needed: Node | None) -> Pass | None:
    """The last pass before the failed one that ran the node which that needs, as its operation and line tell, where no
    step between was left out."""
    for step in reversed(seen.trace.steps):
        for entry in reversed(step.graph.passes):
            if entry is not failed and needed is not None and any(_same(step.graph[n], needed) for n in entry.ran):
                return entry
        if step.number != seen.step.number and step.number - 1 not in {each.number for each in seen.trace.steps}:
            return None
    return None


def _same(node: Node, other: Node) -> bool:
    return (node.name, node.source, node.outputs[0].type) == (other.name, other.source, other.outputs[0].type)


@failing("has been modified by an inplace operation")
def _changed(seen: Seen) -> Iterator[Found]:
    match = _CHANGED.search(seen.trace.failure)
    if match is None:
        return
    shape = tuple(int(part) for part in match[2].split(",") if part.strip())
    here, seen = seen, _that_saved(seen, shape)
    maker = (match[4] or "").rpartition(":")[2]
    made = {n.id for n in seen.graph if maker and n.name.startswith(maker) and n.outputs[0].type.shape == shape}
    changers = [node for node in seen.graph if node.op.endswith("_") and node.outputs[0].type.shape == shape]
    first = next((node for node in changers if node.args and node.args[0].node in made), None)
    first = first or _changed_whole(seen, shape) or next(iter(changers), None)
    place = memory(seen, first.args[0]) if first is not None else None
    kept = _kept(seen, shape, place)
    line = first.source if first is not None else None
    facts = []
    if first is not None and line is not None:
        facts.append(f"{where(first)} changed it in place: {line.text}")
    savers = [node for node, _ in kept]
    in_text = _changed_in_text(seen, savers) if first is None else []
    by_optimizer, given = _stepped(seen, savers) if first is None and not in_text else ([], set())
    kept = [(node, edge) for node, edge in kept if not given or node.id in given]
    savers = [node for node, _ in kept]
    saved = [f"{where(node)} saved {_unnumbered(seen.shown(edge))} for its backward" for node, edge in kept]
    facts = [*list(dict.fromkeys(saved))[:LISTED], *facts]
    changed = in_text or by_optimizer
    facts += [f"{line_of(source)} changes {name} in place: {source.text}" for name, source in changed]
    line = changed[0][1] if changed else line
    facts.append(f"it is at version {match[5]}, and version {match[6]} was saved")
    target = first.args[0] if first is not None else kept[0][1] if kept else None
    name = seen.name(target) if target is not None else f"{match[1]} [{match[2]}]"
    name = changed[0][0] if changed else _in_text(line, name)
    nodes = (*[node.id for node, _ in kept], *([] if first is None else [first.id])) if seen is here else ()
    remedy = "Run all backward passes before the step, or compute the loss again after it." if by_optimizer else ""
    updated = bool(by_optimizer) or (target is not None and seen.graph[memory(seen, target).node].kind == "leaf")
    if updated and (total := _running(here)):
        remedy = f"{total} holds the graphs of the turns before: call backward of the loss of this turn alone, and add "
        remedy += "up its number, loss.item()."
    elif updated and len({(node.source, node.op) for node in savers}) < len(savers):
        remedy = "The graph goes back to the turn before, which began with other weights: detach what is carried from "
        remedy += "one turn to the next (hidden = hidden.detach())."
    said = f"{name}, which a backward needs, was changed in place"
    yield Found(said, line or seen.trace.failed_at, tuple(facts), nodes, remedy)


def _that_saved(seen: Seen, shape: tuple[int, ...]) -> Seen:
    """The last step in which an operation saved a tensor of this shape: a retained graph may be of an earlier one."""
    for step in (seen.step, *reversed(seen.trace.steps)):
        if step.number <= seen.step.number and any(_saves(node, shape) for node in step.graph):
            return seen if step is seen.step else Seen(seen.trace, step, seen.scripts)
    return seen


def _running(seen: Seen) -> str:
    """The sum over turns that the failed backward call started from: each turn adds to it; empty if it is none."""
    failed = _failed_pass(seen)
    sums = [seen.graph[edge.node] for edge in failed.roots] if failed is not None else []
    pairs = [(node, seen.graph[edge.node]) for node in sums for edge in node.args]
    ours = (node for node, other in pairs if {node.op, other.op} <= {"add", "add_"} and node.source == other.source)
    return next((seen.name(Edge(node.id)).partition("~")[0] for node in ours), "")


def _kept(seen: Seen, shape: tuple[int, ...], place: Edge | None) -> list[tuple[Node, Edge]]:
    """The operations that saved a tensor of this shape, each with that; of a place in memory, those before it was
    changed in place last."""
    writers = [node for node in seen.graph if node.op.endswith("_") and node.args]
    last = max((node.id for node in writers if memory(seen, node.args[0]) == place), default=0)
    return [
        (node, edge)
        for node in seen.graph
        if (not last or node.id < last) and _saves(node, shape)
        for edge in (*node.args, Edge(node.id))
        if shape_of(seen, edge) == shape
        and _storage(seen, edge) in {one.storage for one in node.saved}
        and place in (None, memory(seen, edge))
    ]


def _saves(node: Node, shape: tuple[int, ...]) -> bool:
    return any(one.type is not None and one.type.shape == shape for one in node.saved)


def _changed_whole(seen: Seen, shape: tuple[int, ...]) -> Node | None:
    """The first change in place of what a tensor of this shape is a part of, after an operation saved that."""
    kept: set[Edge] = set()
    for node in seen.graph:
        if node.op == "copy_" and memory(seen, Edge(node.id)) in kept:
            return node
        if _saves(node, shape):
            given = (edge for edge in node.args if shape_of(seen, edge) == shape)
            kept.update(memory(seen, edge) for edge in given)
    return None


def _in_text(line: Source | None, name: str) -> str:
    """The variable that a line changes in place, where the tensor has no name of its own."""
    if line is None or not name.startswith("%"):
        return name
    try:
        parts = ast.parse(line.text).body
    except SyntaxError:  # the statement goes over several lines
        return name
    found = [_changed_name(part) for body in parts for part in ast.walk(body)]
    return next(filter(None, found), name)


def _stepped(seen: Seen, savers: Sequence[Node]) -> tuple[list[tuple[str, Source]], set[int]]:
    """Return a leaf that these nodes were given, the last step of the optimizer that holds it, and which of them were
    given what it changed: that is not among the operations."""
    ledger = seen.trace.ledger
    for each in reversed(ledger.happenings if ledger is not None else ()):
        held = set(ledger.names(ledger.sets[each.given])) if ledger is not None and each.kind == "step" else set()
        given = {
            node.id: leaf
            for node in savers
            for edge in node.args
            if held.intersection(seen.graph[(leaf := memory(seen, edge)).node].outputs[leaf.nr].names)
        }
        if given and each.source is not None:
            return [(seen.name(next(iter(given.values()))), each.source)], set(given)
    return [], set()


def _unnumbered(shown: str) -> str:
    """A tensor's type alone, where it has no name but its number."""
    return shown.partition(": ")[2] if shown.startswith("%") else shown


def _storage(seen: Seen, edge: Edge) -> int | None:
    return seen.graph[edge.node].outputs[edge.nr].storage


def _changed_in_text(seen: Seen, savers: Sequence[Node]) -> list[tuple[str, Source]]:
    """Return what the lines of these nodes read and a later line changes in place, `x += 1`, `x[0] = 1` or `x.mul_(2)`:
    the variable and that line."""
    found: dict[tuple[str, int], tuple[str, Source]] = {}
    changes = [(line, _changed_name(part)) for line, part in script_parts(seen, ast.stmt, ast.expr)]
    for made in (node.source for node in savers if node.source is not None):
        script = seen.scripts.get(made.file)
        for one in script.bindings if script is not None else ():
            for line, name in changes if one.line <= made.line <= one.last_line else ():
                if name in one.uses | one.targets and line.file == made.file and line.line > one.line:
                    found.setdefault((name, line.line), (name, line))
    return list(found.values())


def _changed_name(part: ast.AST) -> str:
    """The variable that a part of a script changes in place; empty if it does not."""
    if isinstance(part, ast.AugAssign):
        return ast.unparse(part.target)
    if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
        return ast.unparse(part.targets[0].value)
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
        method = part.func.attr
        return ast.unparse(part.func.value) if method.endswith("_") and not method.endswith("__") else ""
    return ""


@failing("a leaf Variable that requires grad", "a view of a leaf Variable that requires grad")
def _leaf_changed(seen: Seen) -> Iterator[Found]:
    at = seen.trace.failed_at
    text = at.text if at else ""
    yield Found(f"a leaf is changed in place while it is recorded: {text}", at)


@failing("appears to not have been used in the graph")
def _unused(seen: Seen) -> Iterator[Found]:
    entry = _failed_pass(seen)
    if entry is None:
        yield Found("grad was asked for a tensor that the result does not hang on", seen.trace.failed_at)
        return
    starts = [(edge.node, edge.nr) for edge in entry.roots]
    unrecorded = _asked_for(seen)
    if unrecorded and not any(unrecorded in output.names for node in seen.graph for output in node.outputs):
        said = f"{unrecorded} was not used to make {_named(entry.roots, seen)}"
        yield Found(said, seen.trace.failed_at, _why_unrecorded(seen, starts, unrecorded))
        return
    for edge in entry.inputs:
        if not any(node in leading_to(seen.graph, [(edge.node, edge.nr)]) for node, _ in starts):
            said = f"{seen.name(edge)} was not used to make {_named(entry.roots, seen)}"
            yield Found(said, seen.trace.failed_at, _why(seen, starts, edge), (edge.node,))


def _asked_for(seen: Seen) -> str:
    """The tensor of the failed call that the error names by its position."""
    at, match = seen.trace.failed_at, re.search(r"at index (\d+)", seen.trace.failure)
    try:
        calls = parts_of(ast.parse(at.text), ast.Call) if at else []
    except SyntaxError:  # the call goes over several lines
        return ""
    for call in calls:
        asked = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "inputs")]
        parts = asked[0].elts if asked and isinstance(asked[0], (ast.List, ast.Tuple)) else asked
        position = int(match[1]) if match else 0
        if ast.unparse(call.func).endswith("grad") and position < len(parts):
            return ast.unparse(parts[position])
    return ""


def _why_unrecorded(seen: Seen, starts: Sequence[Position], name: str) -> tuple[str, ...]:
    """The same of a tensor that no recorded operation takes."""
    scripts = dict(seen.scripts)
    return tuple((causes(seen.graph, starts, [], name, scripts) or unused(name, scripts))[:LISTED])


def _why(seen: Seen, starts: Sequence[Position], edge: Edge) -> tuple[str, ...]:
    """Return why no gradient goes from `starts` to a tensor, in the words of `autograph why`."""
    ends = [(edge.node, edge.nr)]
    found = causes(seen.graph, starts, ends, seen.name(edge), dict(seen.scripts))
    return tuple((found or reasons(seen.graph, starts, ends))[:LISTED])


@failing("'NoneType'")
def _none(seen: Seen) -> Iterator[Found]:
    at = seen.trace.failed_at
    match = _GRAD_READ.search(at.text) if at else None
    if match is None:
        yield from _unused_inputs(seen)
        return
    name = match[1]
    made = [Edge(n.id, nr) for n in seen.graph for nr, output in enumerate(n.outputs) if name in output.names]
    said = f"{name}.grad is None"
    if made and seen.graph[made[-1].node].kind == "operation":
        remedy = f"Call {name}.retain_grad() before backward, or ask for it with torch.autograd.grad."
        if any(seen.graph[edge.node].kind == "leaf" for edge in made):  # the name was that of a leaf
            again = seen.graph[made[-1].node]
            stay = _STAY.format(name, f" at {line_of(again.source)}" if again.source else "")
            remedy = f"Convert it first, and then call {name}.requires_grad_()." if moves(again) else stay
        known = f"{name} is the result of {where(seen.graph[made[-1].node])}; only leaves keep their gradient"
        yield Found(said, at, (known,), (made[-1].node,), remedy)
    elif not seen.graph.passes:
        yield Found(said, at, ("no backward pass has run before this line",))
    else:
        starts = [(edge.node, edge.nr) for edge in seen.graph.passes[-1].roots]
        facts: tuple[str, ...] = _why(seen, starts, made[-1]) if made else ()
        if made and made[-1].node in seen.reached:
            written = any(made[-1].node in entry.ran for entry in seen.graph.passes if entry.call == "backward")
            facts = ("a backward pass reached it, and it was set to None since, as zero_grad() does",)
            facts = facts if written else (_ONLY_GRAD,)
        facts = facts or _why_unrecorded(seen, starts, name)
        remedy = "Take what grad returns, or call backward." if facts == (_ONLY_GRAD,) else ""
        yield Found(said, at, facts, tuple(edge.node for edge in made), remedy)


def _unused_inputs(seen: Seen) -> Iterator[Found]:
    """Yield a call of grad with allow_unused whose result the line that failed reads."""
    at, calls = seen.trace.failed_at, [entry for entry in seen.graph.passes if entry.call == "grad"]
    for source in dict.fromkeys(entry.source for entry in calls if entry.source is not None) if at else ():
        assert at is not None
        every = seen.scripts[source.file].bindings if source.file in seen.scripts else []
        made = [one for one in every if one.line <= source.line <= one.last_line and "allow_unused" in one.text]
        if any(re.search(rf"\b{re.escape(name)}\b", at.text) for one in made for name in one.targets):
            known = [seen.name(edge) for entry in seen.graph.passes if entry.source == source for edge in entry.inputs]
            said = f"grad at {line_of(source)} gave None for what its result does not hang on, as allow_unused lets it"
            yield Found(said, at, (f"it hangs on {', '.join(known[:LISTED])}",) if known else (), (), _WITHOUT_NONE)


_WITHOUT_NONE = "Leave None out where gradients are read, or pass materialize_grads=True, which gives zeros instead."


@failing("grad can be implicitly created only for scalar outputs")
def _no_scalar(seen: Seen) -> Iterator[Found]:
    at, entry = seen.trace.failed_at, _failed_pass(seen)
    match = BACKWARD.search(at.text) if at else None
    what = seen.shown(entry.roots[0]) if entry is not None and entry.roots else match[1] if match else "the result"
    yield Found(f"{what} is no scalar, so backward needs to be told its gradient", at)


@failing("marked with @once_differentiable")
def _once(seen: Seen) -> Iterator[Found]:
    named = ", ".join(dict.fromkeys(n.op for n in seen.graph if n.order == 0 and n.name == f"{n.op}Backward"))
    yield Found(
        f"a Function that is once differentiable was differentiated twice{named and ': '}{named}", seen.trace.failed_at
    )


_STAY = "Change {0} in place{1}, under torch.no_grad(), so that it stays the leaf."
_ONLY_GRAD = "autograd.grad returns gradients, and writes none to .grad"
RULES = (
    Rule("AG001", "a second backward pass through a graph that was freed",
        "A backward pass frees what its nodes have saved, unless retain_graph=True.",
        "Add the losses and call backward once, or call the first one with retain_graph=True.",
        _freed),
    Rule("AG002", "a saved tensor was changed in place",
        "The gradient would be computed from other numbers than the forward pass used.",
        "Write the change out of place (x = x * 2, not x *= 2), or change a clone.",
        _changed),
    Rule("AG003", "a leaf is changed in place",
        "A leaf has no history that the change could be recorded in: it would no longer be the leaf.",
        "Update it within torch.no_grad(), or give the result a name of its own.",
        _leaf_changed),
    Rule("AG004", "backward from a tensor without history",
        "There is nothing to differentiate: its history was cut, or no tensor required grad.",
        "Make the leaves with requires_grad=True, and compute the loss from them with tensor operations throughout.",
        failing("does not require grad and does not have a grad_fn")(without_history)),
    Rule("AG005", "grad was asked for a tensor that was not used",
        "No path of the graph leads from the result to this tensor.",
        "Compute the result from this very tensor; if it may be unused, pass allow_unused=True.",
        _unused),
    Rule("AG006", "a gradient is None",
        "A leaf has a gradient only after a backward pass that reaches it.",
        "Call backward before this line, and keep the way to the leaf in tensor operations.",
        _none),
    Rule("AG007", "backward from more than one number",
        "A gradient is of one number; of several, backward needs a weight for each.",
        "Reduce it with sum() or mean(), or pass gradient= of the same shape.",
        _no_scalar),
    Rule("AG008", "a second derivative of what is once differentiable",
        "Its backward was declared not to be differentiable, and runs without a record.",
        "Write backward with tensor operations and take @once_differentiable away, or leave create_graph out.",
        _once),
)  # fmt: skip
