"""Parameters and leaves that no gradient reaches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from autograph_cli.findings.book import book_of
from autograph_cli.findings.calls import WHOLE_PARAMETER, around, made_at, parts_of, script_parts
from autograph_cli.findings.endings import Ending, built_anew, endings, read_out, remedy
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.ways import behind_moves
from autograph_cli.graph import Edge, Node, Source
from autograph_cli.graph.cuts import LISTED, reasons, where
from autograph_cli.graph.views import backward_edges, walk
from autograph_cli.graph.withheld import withheld
from autograph_cli.record.graphs.causes import causes, switched_off, unused

_POSITION = re.compile(r"\.\d+\b|\[\d+\]")
_BUILT = re.compile(r"(?:read|Cut) at (.+?):(\d+) `(.*?)`: a new tensor")
_TAKEN = re.compile(r"(.+?):(\d+) `(.*?)` cuts ")
_CUT = re.compile(r"Cut at (.+?):(\d+) `(.*?)`:")


def _unused(seen: Seen) -> Iterator[Found]:
    if not seen.is_last or seen.trace.failure:
        return
    scripts = dict(seen.scripts)
    starts = [(edge.node, edge.nr) for edge in seen.outcome()]
    routed = _routed(seen)
    found = []
    for notice in seen.trace.notices:
        if notice.kind == "unused" and _family(notice.name) not in routed:
            there = [each for leaf in _leaves(seen, notice.name) for each in endings(seen, leaf)]
            facts = _facts(seen, there, causes(seen.graph, starts, [], notice.name, scripts))
            facts = facts or unused(notice.name, scripts)
            own = notice.name.rpartition(".")[2]
            read = (match for fact in facts if (match := _TAKEN.match(fact)) and re.search(rf"\b{own}\b", match[3]))
            built = next((match for fact in facts if not there and (match := _BUILT.search(fact))), next(read, None))
            cut = None if built is None else Source(built[1], int(built[2]), built[3])
            one = Found(
                "", cut or _off(seen, there) or made_at(seen, notice.name), tuple(facts[:LISTED]),
                tuple(dict.fromkeys(each.node.id for each in there)),
                remedy(["built"] if built else [each.kind for each in there], scripts), _ENDS if there else "",
                about=(notice.name,),
            )  # fmt: skip
            found.append((one, ("never gets a gradient", "never get a gradient"), "an optimizer has"))
    yield from _together(found)


def _together(found: Iterable[tuple[Found, tuple[str, str], str]]) -> Iterator[Found]:
    """Yield one finding of all parameters that have one cause: what is said of one, and of several, and who has it."""
    groups: dict[tuple[object, ...], list[tuple[Found, tuple[str, str], str]]] = {}
    for each in found:
        one = each[0]
        groups.setdefault((one.source, one.reason, one.remedy, *each[1:]), []).append(each)
    for alike in groups.values():
        those, ((single, several), who) = [one for one, _, _ in alike], alike[0][1:]
        names = [name for one in those for name in one.about]
        nodes = tuple(dict.fromkeys(node for one in those for node in one.nodes))
        facts = tuple(dict.fromkeys(fact for one in those for fact in one.facts))[:LISTED]
        rest = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        said = f"{', '.join(names[:LISTED])}{rest} {single if len(names) == 1 else several}, and {who} "
        said += "it" if len(names) == 1 else "them"
        yield replace(those[0], said=said, facts=facts, nodes=nodes, about=tuple(names))


def _routed(seen: Seen) -> set[str]:
    """The families of parameters of which each backward call reaches others, as where data are sent to experts."""
    book = book_of(seen)
    calls: dict[str, set[frozenset[int]]] = {}
    for number, parameter in enumerate(book.ledger.parameters) if book else ():
        assert book is not None
        reaching = frozenset(each.at for each in book.backward if number in book.given(each))
        if reaching:
            calls.setdefault(_family(parameter.name), set()).add(reaching)
    return {family for family, different in calls.items() if len(different) > 1}


def _family(name: str) -> str:
    """Return what the names of the same parameter of several like modules have in common."""
    return _POSITION.sub(".#", name)


def _facts(seen: Seen, there: Iterable[Ending], told: list[str]) -> list[str]:
    """Return what the text tells of a cut; where it tells of none, what the graph does."""
    return [fact for fact in told if _cut(fact)] or [each.fact(seen) for each in there] or told


def _off(seen: Seen, there: Sequence[Ending]) -> Source | None:
    """The line that switches recording off around the call in which a gradient ends."""
    quiet = (switched_off(each.node, seen.scripts) for each in there if each.kind == "unrecorded")
    return next((source for _, source in filter(None, quiet)), None)


def _leaves(seen: Seen, name: str) -> Iterator[Edge]:
    return (Edge(node.id) for node in seen.graph if node.kind in ("leaf", "input") and name in node.outputs[0].names)


def _unreached(seen: Seen) -> Iterator[Found]:
    """Leaves that operations take and no backward pass of the kept steps reaches, where an optimizer is to change them
    or the script reads their gradient."""
    if not seen.is_last_of_kind or not seen.graph.passes or seen.trace.failure:
        return
    noticed = {notice.name for notice in seen.trace.notices if notice.kind == "unreached"}
    wanted = noticed | _read_gradients(seen)
    reached = {name for step in seen.trace.steps for name in _reached(Seen(seen.trace, step))}
    starts = [(edge.node, edge.nr) for edge in seen.outcome()]
    # AG104 tells of those that a backward returned None for.
    kept_back = _behind_gradients(seen, [edge for node, nr in withheld(seen.graph) if (edge := node.next[nr])])
    differentiated = seen.behind(edge for entry in seen.graph.passes if entry.create_graph for edge in entry.roots)
    found = []
    for node in seen.graph:
        name = next((name for name in node.outputs[0].names if name in wanted), "")
        users = seen.users.get(Edge(node.id), [])
        if node.kind != "leaf" or not name or name in reached or not users or node.id in kept_back:
            continue
        ends, there = [(node.id, 0)], list(endings(seen, Edge(node.id)))
        if not there and node.id in differentiated:
            continue  # the loss is made of a derivative that does not hang on it
        read = [] if there else list(read_out(seen, Edge(node.id))) or list(built_anew(seen))
        facts = _facts(seen, there, causes(seen.graph, starts, ends, name, dict(seen.scripts)))
        facts = facts or [fact for *_, fact in read] or reasons(seen.graph, starts, ends)
        kinds = [each.kind for each in there] + [kind for kind, *_ in read]
        who = "an optimizer has" if name in noticed else "the script reads"
        source = next((cut for fact in facts if (cut := _cut(fact))), None)
        if not facts or (not there and not read):
            source = source or _last_of_it(seen, Edge(node.id))
        source = source or _off(seen, there) or (there[0].node.source if there else read[0][1] if read else None)
        one = Found(
            "", source or users[0].source or made_at(seen, name), tuple(dict.fromkeys(facts))[:LISTED],
            (node.id, there[0].node.id if there else users[0].id),
            _RSAMPLE if source is not None and _SAMPLES.search(source.text) else remedy(kinds, seen.scripts),
            _ENDS if kinds else "", about=(name,),
        )  # fmt: skip
        found.append((one, ("is used and gets no gradient", "are used and get no gradient"), who))
    yield from _together(found)


def _last_of_it(seen: Seen, leaf: Edge) -> Source | None:
    """The line of the one number that is computed from a leaf last, and that nothing takes: a loss that is left out."""
    waiting, ends = [leaf], list[Node]()
    for edge in waiting:
        users = [user for user in seen.users.get(edge, ()) if user.kind == "operation"]
        ends += [seen.graph[edge.node]] if not users else []
        waiting += [made for user in users if (made := Edge(user.id)) not in waiting]
    losses = {end.source for end in ends if end.outputs[0].type.shape == ()}
    return losses.pop() if len(losses) == 1 and all(end.outputs[0].type.shape == () for end in ends) else None


def _no_leaf(seen: Seen) -> Iterator[Found]:
    """Variables whose `.grad` the script reads, and that were computed from leaves."""
    if not seen.is_last_of_kind or seen.trace.failure:
        return
    in_time, late = _retained(seen)
    if in_time:
        return
    graphs = [step.graph for step in seen.trace.steps]
    leaves = {name for graph in graphs for node in graph if node.kind != "operation" for name in node.outputs[0].names}
    read = _read_gradients(seen)
    found: dict[str, Node] = {}
    for node in seen.graph:
        names = (name for output in node.outputs for name in output.names)
        name = next((n for n in names if n in read), "") if node.kind == "operation" and node.id in seen.reached else ""
        if name and (name not in leaves or _is_rebound(seen, name, node)):
            found[name] = node  # the last one of a name that is given again
    for name, node in found.items():
        said = f"{name}.grad stays None: {name} is no leaf, {where(node)} makes it"
        if name in late:
            said = f"{name}.grad stays None: retain_grad() at {line_of(late[name])} comes after the backward pass"
        wrapped = node.source is not None and "Parameter(" in node.source.text
        facts = () if name in late else tuple(f"it is made of {seen.shown(edge)}" for edge in node.args[:1])
        remedy = _BEFORE if name in late else WHOLE_PARAMETER if wrapped else ""
        yield Found(said, late.get(name, node.source), facts, (node.id,), remedy)


def _is_rebound(seen: Seen, name: str, node: Node) -> bool:
    """Return whether the name of a leaf is that of what an operation makes where the gradient is read, after a backward
    call."""
    file, made = (node.source.file, node.source.line) if node.source else ("", 0)
    called = [entry.source.line for entry in seen.graph.passes if entry.source and entry.source.file == file]
    for line, part in script_parts(seen, ast.Attribute):
        if line.file == file and ast.unparse(part) == f"{name}.grad" and isinstance(part.ctx, ast.Load):
            last = max((one.line for one in seen.scripts[file].reaching(name, line.line)), default=0)
            if last == made and any(made < each <= line.line for each in called):
                return True
    return False


_BEFORE = "Call retain_grad() before backward."


def _retained(seen: Seen) -> tuple[bool, dict[str, Source]]:
    """Return whether a retain_grad may be in time, and the variables of which it comes after the last backward pass, in
    lines that run once."""
    calls = [(file, part, script) for file, script in seen.scripts.items() for part in script.calls("retain_grad")]
    passes = [entry.source for step in seen.trace.steps for entry in step.graph.passes if entry.source is not None]
    late: dict[str, Source] = {}
    for file, part, script in calls:
        once = not around(script.tree, part.lineno, ast.For, ast.While, ast.FunctionDef, ast.Lambda)
        if once and passes and all(each.file == file and each.line < part.lineno for each in passes):
            late[ast.unparse(part.func).removesuffix(".retain_grad")] = Source(
                file, part.lineno, script.line(part.lineno)
            )
    return len(late) < len({ast.unparse(part.func) for _, part, _ in calls}), late


def _made_anew(seen: Seen) -> Iterator[Found]:
    """Yield a finding for each new view that `grad` differentiates by, where the result hangs on its base."""
    told: set[tuple[Source | None, Edge]] = set()
    for entry in seen.graph.passes if not seen.trace.failure else ():
        inside = seen.behind(entry.roots) if entry.call == "grad" else set()
        for edge in entry.inputs if inside else ():
            base, node = behind_moves(seen, edge), seen.graph[edge.node]
            made_anew = edge != base and edge.node not in inside and base.node in inside and node.kind == "operation"
            if made_anew and (entry.source, base) not in told:
                told.add((entry.source, base))
                yield Found(
                    f"{seen.name(edge)} gets no gradient: {where(node)} makes it from {seen.name(base)}, which the "
                    "result was made from",
                    entry.source, (f"{seen.shown(base)} leads to the result whole, and this part of it does not",),
                    (edge.node, base.node),
                )  # fmt: skip


def _behind_gradients(seen: Seen, edges: Iterable[Edge]) -> set[int]:
    """The nodes that a gradient goes to which goes along one of these edges."""
    return set(walk(seen.graph, {edge.node for edge in edges}, backward_edges))


def _cut(fact: str) -> Source | None:
    match = _CUT.match(fact)
    return None if match is None else Source(match[1], int(match[2]), match[3])


def _reached(seen: Seen) -> Iterator[str]:
    """The names of the leaves that a backward call was to differentiate by."""
    asked = {edge.node for entry in seen.graph.passes for edge in entry.inputs}
    for number in seen.reached | asked:
        yield from seen.graph[number].outputs[0].names


def _read_gradients(seen: Seen) -> set[str]:
    """The variables whose `.grad` the script reads, other than to ask whether there is one."""
    found: set[str] = set()
    for script in seen.scripts.values():
        tests = parts_of(script.tree, ast.If, ast.IfExp, ast.Assert, ast.Compare)
        asked = {ast.unparse(part) for test in tests for part in parts_of(test, ast.Attribute)}
        every = parts_of(script.tree, ast.Attribute)
        read = [part for part in every if part.attr == "grad" and isinstance(part.ctx, ast.Load)]
        names = {ast.unparse(part.value) for part in read if ast.unparse(part) not in asked}
        # A module of nn.Sequential is read by its index, and named by its path.
        found |= names | {re.sub(r"\[(\d+)\]\.", r".\1.", name) for name in names}
    return found


_SAMPLES = re.compile(r"\.sample\(")
_RSAMPLE = "sample() records nothing: take rsample(), where there is one, or learn from log_prob() of what was drawn."
_ENDS = "What is computed from it goes into the loss, and its gradient ends on the way, so it stays None."
RULES = (
    Rule("AG201", "a parameter never gets a gradient",
        "No recorded operation takes it, so it stays as it was at the start.",
        "Use it in forward, outside of no_grad and detach, or give the optimizer only what is to be learned.",
        _unused),
    Rule("AG202", "a leaf is used, and its gradient is cut",
        "Operations take it, but none of them leads to what backward is called on, so its gradient stays None.",
        "Add what is computed from it to the loss; where no gradient is meant, let no optimizer have it.",
        _unreached),
    Rule("AG203", "differentiated by a part that is made later",
        "An index, a slice and each turn of a loop make a new tensor: the result hangs on that which it was made from, "
        "and not on one that is made later.",
        "Differentiate by the whole, and take the part of its gradient.",
        _made_anew),
    Rule("AG204", "the gradient of what is no leaf is read",
        "backward keeps gradients for leaves: for what is computed from others it passes them on and forgets them.",
        "Call requires_grad_() on it after it is moved or converted, so that it is the leaf; or retain_grad() before "
        "backward.",
        _no_leaf),
)  # fmt: skip
