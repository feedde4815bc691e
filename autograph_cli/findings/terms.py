"""Rules on the terms of a loss that have no history: they train nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from autograph_cli.findings.book import at, book_of
from autograph_cli.findings.calls import called
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.ways import plain_op, shape_of, takers
from autograph_cli.graph import Edge, Node, Pass, Source
from autograph_cli.graph.cuts import where
from autograph_cli.graph.views import backward_edges
from autograph_cli.record.names.bindings import Binding, Cause, Script

_TERMS = ("add", "sub", "rsub", "stack", "cat")
"""Operations that put the terms of a loss together: a term without history adds nothing to the gradient."""
_MULTIPLES = ("mul", "div", "neg", "sum", "mean")
_MEANT = re.compile(r"\bdetach\b|\bno_grad\b|\.data\b|\.item\(")


def _constant_term(seen: Seen) -> Iterator[Found]:
    """A derivative that was made without create_graph, in a term of what backward starts from."""
    if not seen.is_last_of_kind:
        return
    wanted = seen.behind(seen.outcome(), untracked=True)
    for node in seen.graph:
        if node.op != "grad" or node.kind != "untracked" or node.id not in wanted:
            continue
        by = {node.args[position] for position in node.cut}
        term = next((user for user in _terms(seen, node) if not by.intersection(user.args)), None)
        said = f"the derivative{at(node.source)} is made without create_graph, so "
        if term is not None:
            yield Found(
                said + "the term that is computed from it adds nothing to the gradient",
                node.source, (f"{where(term)} adds it to what backward starts from, and it has no history",),
                (node.id, term.id), covers=_lost(seen, node.args),
            )  # fmt: skip
            continue
        alone = next((user for user, edge in takers(seen, node) if _is_held_by_none(seen, user, edge)), None)
        if alone is not None:
            yield Found(
                f"{said}{where(alone)}, which takes it, hangs on no parameter: this part of the loss trains nothing",
                node.source, (f"it goes into what backward starts from by way of {seen.shown(Edge(alone.id))}",),
                (node.id, alone.id),
            )  # fmt: skip
            continue
        # An equation that a function and its derivative are to fulfil takes both; one number times the other weighs.
        made = node.args[:-1]
        beside = next((user for user, _ in takers(seen, node) if made and made[0] in user.args), None)
        weighs = beside is not None and plain_op(beside) in _MULTIPLES and not shape_of(seen, Edge(beside.id))
        if beside is not None and not weighs and beside.id in seen.reached:
            yield Found(
                f"{said}{where(beside)}, which takes it beside {seen.name(node.args[0])}, sends it no gradient",
                node.source, (f"it is differentiated for the value of {seen.name(node.args[0])} alone",),
                (node.id, beside.id),
            )  # fmt: skip
            continue
        with_graph = _differentiated(seen, node)
        user = next((user for user, _ in takers(seen, node, _MEANT) if _adds_to(seen, user, with_graph)), None)
        if user is not None:
            lines = " and ".join(dict.fromkeys(line_of(entry.source) for entry in with_graph))
            yield Found(
                f"{said}{where(user)}, which adds it to another derivative of {seen.name(node.args[0])}, sends it no "
                "gradient",
                node.source, (f"another derivative is made with create_graph=True at {lines}",), (node.id, user.id),
            )  # fmt: skip


def _differentiated(seen: Seen, derivative: Node) -> list[Pass]:
    """The calls with create_graph that make other derivatives of the same result, and derivatives of these."""
    roots, by, found = {_unsummed(seen, derivative.args[0])}, derivative.args[-1], []
    for entry in seen.graph.passes:
        of = {_unsummed(seen, edge) for edge in entry.roots}
        if entry.create_graph and entry.call == "grad" and by not in entry.inputs and of & roots:
            roots.update(edge for edge in entry.results if edge is not None)
            found.append(entry)
    return found


def _unsummed(seen: Seen, edge: Edge) -> Edge:
    node = seen.graph[edge.node]
    return node.args[0] if node.op == "sum" and node.args else edge


def _adds_to(seen: Seen, user: Node, calls: Sequence[Pass]) -> bool:
    """Return whether an operation adds what it is given to a derivative that one of these calls made."""
    made = {edge.node for entry in calls for edge in entry.results if edge is not None}
    adds = plain_op(user) in ("add", "sub", "rsub") and user.id in seen.reached
    return adds and not made.isdisjoint(seen.behind(backward_edges(user)))


def _constant_number(seen: Seen) -> Iterator[Found]:
    """A term of what backward starts from that is a plain number, which the script read out of a result that nothing
    else takes."""
    told: set[tuple[str, int]] = set()
    for term in seen.graph if seen.is_last_of_kind else ():
        edges = backward_edges(term)
        source = term.source
        if not _is_scalar_sum(seen, term) or len(edges) != 1 or source is None or source.file not in seen.scripts:
            continue
        script = seen.scripts[source.file]
        for name, one in _read_into(script, source.line):
            cut = [cause for cause in one.causes if cause.words in _NUMBERS or "new tensor" in cause.words]
            read = _read(seen, source.file, one, cut) if cut and (source.file, one.line) not in told else None
            if read is not None:
                told.add((source.file, one.line))
                words = ", ".join(dict.fromkeys(cause.words for cause in cut))
                shown = f"{name} is" if name else "a term of the loss is"
                yield Found(
                    f"{shown} made of a plain number, {words}: as a term of the loss it adds nothing to the gradient",
                    Source(source.file, one.line, one.text),
                    (f"{where(term)} adds it to what backward starts from",), (term.id,),
                    "Keep it a tensor: leave .item() and torch.tensor() out.",
                    "A number has no history: this term trains nothing.",
                    covers=_lost(seen, [Edge(read.id)]),
                )  # fmt: skip


def _constant_part(seen: Seen) -> Iterator[Found]:
    """A term of what backward starts from that is computed, over several operations, from what a line took off."""
    told: set[Source | None] = set()
    for term in seen.graph if seen.is_last_of_kind else ():
        constant = [edge for edge in term.args if seen.graph[edge.node].kind == "untracked"]
        if not _is_scalar_sum(seen, term) or len(constant) != 1 or shape_of(seen, constant[0]):
            continue
        nodes = [seen.graph[number] for number in seen.behind(constant, untracked=True)]
        for said, source, ids, remedy, why in _cuts(seen, term, nodes, told):
            if source not in told:
                told.add(source)
                facts = (f"{where(term)} adds it to what backward starts from, and it has no history",)
                said = f"a term of the loss is computed {said}: it adds nothing to the gradient"
                yield Found(said, source, facts, ids, remedy, why, covers=_lost(seen, constant))


def _lost(seen: Seen, edges: Iterable[Edge]) -> tuple[str, ...]:
    """The names of the leaves behind a term that no other way brings a gradient to."""
    lost = seen.behind(edges, untracked=True) - seen.reached
    return tuple(
        name for number in lost if seen.graph[number].kind == "leaf" for name in seen.graph[number].outputs[0].names
    )


def _cuts(
    seen: Seen, term: Node, nodes: Sequence[Node], told: Collection[Source | None]
) -> Iterator[tuple[str, Source | None, tuple[int, ...], str, str]]:
    """Yield the reasons why a term is constant: words, line, nodes, remedy, and why it matters."""
    compared = next((node for node in nodes if _compares(seen, node)), None)
    if compared is not None:
        # What masks another term, or stands beside its own soft numbers, is a constant on purpose.
        others = any(user is not term for user, _ in takers(seen, compared))
        if not others and all(node.op != "detach" for node in nodes):
            said = f"from the whole numbers that {where(compared)} makes"
            yield said, compared.source, (term.id, compared.id), _SOFT, _NO_SLOPE
        return
    unrecorded = _unrecorded(seen, nodes)
    if unrecorded is not None and unrecorded not in told:
        yield f"at {line_of(unrecorded)}, where nothing is recorded", unrecorded, (term.id,), _OUTSIDE, _NOT_RECORDED
        return
    # What a derivative made is another matter.
    lines = {node.source for node in nodes if node.kind == "untracked" and _is_of_weights(seen, node)}
    for source in lines - {None, term.source} if all(node.op != "grad" for node in nodes) else ():
        if taken := _taken_off(seen, source):
            yield f"from what {taken}{at(source)} takes off", source, (term.id,), _KEPT, _TAKEN_OFF


_OUTSIDE = "Compute it outside of no_grad; what is to stay as it is alone within."
_NOT_RECORDED = "What is computed under no_grad has no history: this term trains nothing."
_KEPT = "Leave .data and detach out of what is to be learned from."
_TAKEN_OFF = "What was taken off has no history: this term trains nothing."


def _compares(seen: Seen, node: Node) -> bool:
    """Return whether an operation compares, or picks by, numbers that hang on what another way brings a gradient to."""
    given = [node.args[position] for position in node.cut] if node.op in _WHOLE else []
    return bool(given) and not seen.reached.isdisjoint(seen.behind(given))


_WHOLE = ("gt", "ge", "lt", "le", "eq", "ne", "argmax", "argmin")
_NO_SLOPE = "Whole numbers have no gradient: this term trains nothing."
_SOFT = "Compute it from the numbers that were compared: probabilities instead of what is above a threshold."


def _is_of_weights(seen: Seen, node: Node) -> bool:
    """Return whether a node makes more than one number, or one of a tensor without a name that is like a trained leaf,
    as `.data` of it is."""
    if shape_of(seen, Edge(node.id)):
        return True
    inputs = [edge for edge in node.args if seen.graph[edge.node].kind == "input" and seen.name(edge)[0] == "%"]
    leaves = [Edge(number) for number in seen.reached if seen.graph[number].kind == "leaf"]
    return bool({shape_of(seen, edge) for edge in inputs} & {shape_of(seen, leaf) for leaf in leaves} - {()})


def _unrecorded(seen: Seen, nodes: Sequence[Node]) -> Source | None:
    """The line that made a part of a term last of those that took what requires a gradient under no_grad; None if none
    did, or if a part was cut off in another way."""
    cut = [node for node in nodes if node.cut and node.source is not None]
    others = any(node.op in ("grad", "detach") or (node.source and _MEANT.search(node.source.text)) for node in nodes)
    trained = [node for node in cut if any(node.args[at].node in seen.reached for at in node.cut)]
    return None if others or not trained else trained[-1].source


def _taken_off(seen: Seen, source: Source | None) -> str:
    """The first `.data` or `.detach()` in the statement on a line; empty where there is none."""
    script = seen.scripts.get(source.file) if source else None
    every = [one for one in script.bindings if one.line <= source.line <= one.last_line] if script and source else []
    causes = [cause.words for one in every for cause in one.causes]
    if any(words.startswith("torch.") for words in causes):
        return ""
    return next((words for words in causes if words in (".data", ".detach()")), "")


def _read_into(script: Script, line: int) -> Iterator[tuple[str, Binding]]:
    """The statements that make the terms of the sums on a line, each with the term's name; the line itself has none."""
    for part in ast.walk(script.tree):
        sides: list[ast.expr] = []
        if isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Add, ast.Sub)):
            sides = [part.left, part.right]
        elif isinstance(part, ast.AugAssign) and isinstance(part.op, (ast.Add, ast.Sub)):
            sides = [part.value]
        here = sides and part.lineno <= line <= (part.end_lineno or 0)  # type: ignore[attr-defined]
        for side in map(_without_factor, sides if here else ()):
            if isinstance(side, (ast.Name, ast.Attribute)):
                yield from ((ast.unparse(side), one) for one in script.reaching(ast.unparse(side), line))
            elif isinstance(side, ast.Call) and called(side) in ("item", "float"):
                yield from (("", one) for one in script.bindings if one.line <= line <= one.last_line)


def _without_factor(part: ast.expr) -> ast.expr:
    """A term without the number, or the variable, that it is multiplied by."""
    while isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Mult, ast.Div)):
        part = (
            part.right
            if isinstance(part.op, ast.Mult) and isinstance(part.left, (ast.Constant, ast.Name, ast.Attribute))
            else part.left
        )
    return part


def _read(seen: Seen, file: str, one: Binding, cut: Sequence[Cause]) -> Node | None:
    """The result that a line reads the number out of: one that has a name, or one that it makes, which no operation
    took."""
    names = {name for cause in cut for name in cause.operands}
    for node in (node for node in seen.graph if node.kind == "operation"):
        here = node.source is not None and node.source.file == file and one.line <= node.source.line <= one.last_line
        unused = node.id not in seen.reached and not seen.users.get(Edge(node.id))
        if names.intersection(node.outputs[0].names) or (here and unused and not shape_of(seen, Edge(node.id))):
            return node
    return None


_NUMBERS = (".item()", "a number made by float()", ".tolist()", ".numpy()")


def _without_graph(seen: Seen) -> Iterator[Found]:
    yield from _constant_term(seen)
    yield from _constant_number(seen)
    yield from _constant_part(seen)


def _is_held_by_none(seen: Seen, user: Node, given: Edge) -> bool:
    """Return whether what an operation adds to a derivative without history hangs on no parameter, though the loss that
    it goes into hangs on some."""
    book = book_of(seen)
    held = {book.ledger.parameters[n].name for n in book.in_some} if book else set()
    leaves = [
        {name for n in seen.behind([e]) for name in seen.graph[n].outputs[0].names}
        for e in (Edge(user.id), *seen.outcome())
    ]
    adds = plain_op(user) in _TERMS and user.id in seen.reached and given not in backward_edges(user)
    return adds and not leaves[0] & held and any(other & held for other in leaves[1:])


def _terms(seen: Seen, start: Node) -> Iterator[Node]:
    """The operations with a gradient that take a number in which is computed from a derivative, as a term."""
    return (user for user, edge in takers(seen, start, _MEANT) if _is_term(seen, user, edge))


def _is_term(seen: Seen, user: Node, given: Edge) -> bool:
    """Return whether an operation adds what it is given, which has no history, to a number that has one."""
    edges = backward_edges(user)
    return _is_scalar_sum(seen, user) and bool(edges) and given not in edges


def _is_scalar_sum(seen: Seen, node: Node) -> bool:
    scalar = plain_op(node) in _TERMS and node.outputs[0].type.shape == ()
    return scalar and node.id in seen.reached and _is_in_sum(seen, node)


def _is_in_sum(seen: Seen, term: Node) -> bool:
    """Return whether nothing but sums and multiples lead from a term to what backward starts from: what an update makes
    goes into other operations first."""
    ends, stack, met = {edge.node for edge in seen.outcome()}, [term], {term.id}
    while stack:
        node = stack.pop()
        if node.id in ends:
            return True
        users = (user for nr in range(len(node.outputs)) for user in seen.users.get(Edge(node.id, nr), ()))
        for user in users:
            if plain_op(user) in (*_TERMS, *_MULTIPLES) and user.id not in met:
                met.add(user.id)
                stack.append(user)
    return False


RULES = (
    Rule("AG816", "a term of the loss has no graph",
        "Without create_graph=True a derivative is a constant: this term trains nothing.",
        "Make this derivative with create_graph=True.",
        _without_graph),
)  # fmt: skip
