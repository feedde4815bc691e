"""Targets that a loss moves as well, terms that cancel, and results that nothing takes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from autograph_cli.findings.book import book_of
from autograph_cli.findings.calls import called, parts_of, script_parts
from autograph_cli.findings.last_layer import DIFFERENCES
from autograph_cli.findings.numbers import largest, value_of
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.ways import PRODUCTS, behind_moves, ends_in_loss, is_given, moves, shape_of, takers
from autograph_cli.graph import Edge, Node, Source
from autograph_cli.graph.cuts import LISTED, where
from autograph_cli.graph.views import backward_edges, walk

_SQUARES = ("pow", "square", "abs", *DIFFERENCES)
_SIDED = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
_BY_ELEMENT = ("add", "sub", "rsub", "mul", "div", "neg", "clamp")


def _differences(seen: Seen) -> Iterator[tuple[Node, Edge, Edge]]:
    """The operations that take the difference of two tensors with gradients, and these."""
    for node in seen.graph:
        two = len(node.args) == 2 and set(node.args) <= set(backward_edges(node))
        if two and node.id in seen.reached and not node.order and node.op in (*DIFFERENCES, "sub", "rsub"):
            one, other = node.args
            yield node, one, other


def _leaves(seen: Seen, edge: Edge) -> frozenset[int]:
    """The leaves that a tensor hangs on; none where it hangs on a derivative."""
    nodes = [seen.graph[number] for number in seen.behind([edge])]
    return frozenset(() if any(node.order for node in nodes) else (node.id for node in nodes if node.kind == "leaf"))


# -- targets with gradients


def _moved_targets(seen: Seen) -> Iterator[Found]:
    if seen.is_last_of_kind:
        yield from _bootstrapped(seen)
        yield from _moved_by_a_product(seen)
        yield from _taught(seen)


def _taught(seen: Seen) -> Iterator[Found]:
    """Yield divergences from the result of another network that is moved, and that no other term teaches anything."""
    book = book_of(seen)
    moved = frozenset().union(*(book.sets[each.moved] for each in book.of("step"))) if book else frozenset[int]()
    names = set(book.ledger.names(moved)) if book else set[str]()
    for node in seen.graph if names else ():
        if node.op != "xlogy" or node.order or len(set(node.args)) > 1 or node.id not in seen.reached:
            continue
        own, made = _leaves(seen, node.args[0]), seen.graph[node.args[0].node]
        held = [seen.name(Edge(number)) for number in sorted(own) if names.intersection(seen.names[number])]
        others = _leaves_beside(seen, made)
        if held and others and not own & others:
            said = f"the divergence at {line_of(node.source)} also moves its target, which {where(made)} makes"
            fact = f"{', '.join(held[:LISTED])}, which a step changes, {'get' if len(held) > 1 else 'gets'} a gradient "
            yield Found(said, node.source, (f"{fact}from there alone",), (node.id, made.id))


def _leaves_beside(seen: Seen, without: Node) -> set[int]:
    """The leaves that get a gradient by other ways than through a node."""

    def following(node: Node) -> Sequence[Edge]:
        return [] if node is without else backward_edges(node)

    found = walk(seen.graph, [edge.node for edge in seen.outcome()], following)
    return {number for number in found if seen.graph[number].kind == "leaf"}


def _bootstrapped(seen: Seen) -> Iterator[Found]:
    """Yield differences of a result and of data plus a part of another result of the same parameters."""
    for node, *sides in _differences(seen):
        for made, target in (sides, sides[::-1]):
            value = _discounted(seen, target)
            if value is None or not _ends_in_loss(seen, node):
                continue
            leaves = _leaves(seen, made)
            if leaves and leaves == _leaves(seen, value) and _discounted(seen, made) is None:
                total = seen.graph[behind_moves(seen, target).node]
                said = f"{where(node)} also moves its target, which {where(total)} makes of data and of a part of what "
                said += f"the same parameters make at {line_of(seen.graph[behind_moves(seen, value).node].source)}"
                yield Found(said, total.source, (), (node.id, total.id, value.node))


def _discounted(seen: Seen, target: Edge) -> Edge | None:
    """Return the result that a target is data plus a multiple of; None where it is none."""
    total = seen.graph[behind_moves(seen, target).node]
    if total.op != "add" or total.kind != "operation" or len(total.args) != 2:
        return None
    rest = [edge for edge in total.args if edge in backward_edges(total)]
    data = [edge for edge in total.args if edge not in rest and shape_of(seen, edge)]
    if len(data) != 1 or len(rest) != 1:
        return None
    edge, multiples = rest[0], 0
    while (node := seen.graph[behind_moves(seen, edge).node]).op == "mul" and node.kind == "operation":
        recorded = [one for one in node.args if one in backward_edges(node)]
        if len(recorded) != 1:
            return None
        edge, multiples = recorded[0], multiples + 1
    return edge if multiples else None


def _ends_in_loss(seen: Seen, node: Node) -> bool:
    return node.op in DIFFERENCES or ends_in_loss(seen, Edge(node.id))


def _moved_by_a_product(seen: Seen) -> Iterator[Found]:
    """Yield results that are compared with data, and whose difference from it also multiplies another result."""
    told = set()
    for node in seen.graph:
        given = [edge for edge in node.args if is_given(seen, edge)]
        if node.op not in ("sub", "rsub") or node.id not in seen.reached or len(node.args) != 2 or len(given) != 1:
            continue
        value = next(edge for edge in node.args if edge not in given)
        product = _product(seen, node)
        if product is None or not _is_compared(seen, node, value) or (product.source, node.source) in told:
            continue
        told.add((product.source, node.source))
        said = f"{where(product)} multiplies by the difference at {line_of(node.source)}, and moves "
        yield Found(
            f"{said}{seen.name(value)} as well, which another term compares with the same targets",
            product.source, (f"the difference is {seen.shown(Edge(node.id))}",), (product.id, node.id),
            _WEIGHT, _WEIGHED,
        )  # fmt: skip


def _product(seen: Seen, start: Node) -> Node | None:
    """The first operation that multiplies what is computed, element by element, from a node by another result."""
    own, stack = {start.id}, [start]
    for node in stack:
        for user in seen.users.get(Edge(node.id), ()):
            edges = backward_edges(user)
            others = [edge for edge in edges if edge.node not in own]
            if len(others) == len(edges) or (user.op == "mul" and not others):
                continue  # a square is weighed, and moves on purpose
            if user.op == "mul" and len(others) == 1 and not user.order:
                # A number of its own, as a multiplier of Lagrange, is to weigh what moves.
                apart = _leaves(seen, others[0]) - _leaves(seen, Edge(start.id))
                taken = [each for each in seen.users.get(Edge(user.id), ()) if each.id in seen.reached]
                squared = any(
                    each.op in _SQUARES or (each.op == "mul" and {e.node for e in each.args} <= {*own, user.id})
                    for each in taken
                )
                if not squared and any(len(shape_of(seen, Edge(leaf))) > 1 for leaf in apart):
                    return user
            elif not others and user.id not in own and (user.op in _BY_ELEMENT or moves(user)):
                own.add(user.id)
                stack.append(user)
    return None


def _is_compared(seen: Seen, difference: Node, value: Edge) -> bool:
    """Return whether a loss is a function of the difference itself, or of the value and data."""
    trained = [user for user in seen.users.get(value, ()) if user.id in seen.reached]
    given = [user for user in trained if any(is_given(seen, edge) for edge in user.args)]
    alike = [user for user in given if user.op in ("sub", "rsub") and set(user.args) == set(difference.args)]
    squared = [
        user
        for node in (difference, *alike)
        for user in seen.users.get(Edge(node.id), ())
        if user.op in _SQUARES or (user.op == "mul" and len(set(user.args)) == 1)
    ]
    return bool(squared) or any(user.op in DIFFERENCES for user in given)


def _turned_round(seen: Seen) -> Iterator[Found]:
    """Yield losses of two kinds of arguments that are given data as what is predicted, and a result as the target."""
    for node in seen.graph:
        if node.op in _SIDED and node.id in seen.reached and len(node.args) > 1 and not node.order:
            predicted, target = node.args[:2]
            if is_given(seen, predicted) and target in backward_edges(node):
                said = f"{where(node)} is given {seen.shown(predicted)} as what is predicted, and the result of "
                said += f"{where(seen.graph[behind_moves(seen, target).node])} as the target"
                yield Found(said, node.source, (), (node.id,))


# -- targets that are drawn


def _drawn_target(seen: Seen) -> Iterator[Found]:
    """Yield losses that compare with noise that nothing else takes, beside other noise of its shape that is put into
    what the model is given."""
    draws = [node for node in seen.graph if node.op in _NOISE and node.kind == "untracked"]
    for target, made in _compared_with(seen, draws) if seen.is_last and len(draws) > 1 else ():
        shape = shape_of(seen, Edge(target.id))
        others = [node for node in draws if node is not target and shape_of(seen, Edge(node.id)) == shape]
        users = (user for node in others for user, edge in takers(seen, node) if _is_mixed(seen, user, edge))
        taken = next((user for user in users if user.id in seen.reached), None)
        if taken is not None and seen.users.get(Edge(target.id)) == [made]:
            said = f"{where(made)} compares with noise that is drawn for it alone"
            yield Found(
                said, made.source, (f"{where(taken)} is given other noise of that shape",), (target.id, made.id)
            )


def _is_mixed(seen: Seen, user: Node, noise: Edge) -> bool:
    """Return whether noise is added to something, and is not all that a model is given."""
    nodes = [seen.graph[number] for number in seen.behind([noise], untracked=True)]
    return user.op in _BY_ELEMENT or sum(node.kind == "input" or node.op in _NOISE for node in nodes) > 1


def _compared_with(seen: Seen, drawn: Sequence[Node]) -> Iterator[tuple[Node, Node]]:
    """The losses that take the difference from one of these nodes, and that node first."""
    for target in drawn:
        for user in seen.users.get(Edge(target.id), ()):
            difference = user.op in ("sub", "rsub") and ends_in_loss(seen, Edge(user.id))
            if user.id in seen.reached and not user.order and (user.op in DIFFERENCES or difference):
                yield target, user


_NOISE = ("randn_like", "randn", "normal")


# -- terms that cancel


def _cancelled(seen: Seen) -> Iterator[Found]:
    """Yield differences of two results that the same parameters make and that are equal, number by number."""
    first = Seen(seen.trace, seen.of_kind[0], seen.scripts)
    if seen.step.number == first.step.number or not seen.is_last_of_kind:
        return
    before = {node.source for node, *_ in _equal(first)}
    for node, one, other in _equal(seen):
        if node.source in before:
            lines = [line_of(seen.graph[behind_moves(seen, edge).node].source) for edge in (one, other)]
            yield Found(
                f"{where(node)} takes the difference of two results that are equal, and both have a gradient: these "
                "cancel each other",
                node.source, (f"they are made at {lines[0]} and {lines[1]}, by the same parameters",), (node.id,),
            )  # fmt: skip


def _equal(seen: Seen) -> Iterator[tuple[Node, Edge, Edge]]:
    for node, one, other in _differences(seen):
        leaves = _leaves(seen, one)
        zero = largest(value_of(seen, Edge(node.id))) == 0
        same = leaves and leaves == _leaves(seen, other) and _apart(seen, one, other) == _apart(seen, other, one)
        if node.op in ("sub", "rsub") and zero and one != other and same:
            yield node, one, other


def _apart(seen: Seen, one: Edge, other: Edge) -> Counter[str]:
    """The operations that only one of two results is made by."""
    return Counter(seen.graph[number].op for number in seen.behind([one]) - seen.behind([other]))


# -- samples


def _drawn(seen: Seen) -> Iterator[Found]:
    """Yield samples that a network takes, of a distribution that gets its gradient from other terms alone."""
    cut: dict[Source, list[Node]] = {}
    for node in seen.graph if seen.is_last_of_kind else ():
        drawn = node.op == "normal" if node.kind == "operation" else node.kind == "untracked" and node.cut
        if drawn and node.source is not None and _SAMPLE.search(node.source.text):
            cut.setdefault(node.source, []).append(node)
    for source, nodes in cut.items():
        asked = {behind_moves(seen, edge) for node in nodes for edge in (*node.next, *_cut(node)) if edge is not None}
        if not any(shape_of(seen, edge) and _is_learned(seen, edge, nodes) for edge in asked):
            continue
        there = [node for node in seen.graph if node.source == source and not node.order]
        last = there[-1] if there[-1].kind == "untracked" else nodes[-1]
        users = [user for user, _ in takers(seen, last) if user.id in seen.reached]
        scored = any(asked & {behind_moves(seen, edge) for edge in user.args} for user in users)
        enters = next((user for user in users if user.op in PRODUCTS), None)
        if enters is not None and not scored:
            names = ", ".join(dict.fromkeys(seen.name(edge) for edge in asked if seen.name(edge)[0] != "%"))
            said = f"what is drawn at {line_of(source)} goes into {where(enters)}, and "
            yield Found(
                said + "what it is drawn by gets no gradient there",
                source, (f"it is drawn by {names}",) if names else (), (last.id, enters.id),
            )  # fmt: skip


def _cut(node: Node) -> list[Edge]:
    return [node.args[position] for position in node.cut]


def _is_learned(seen: Seen, edge: Edge, without: list[Node]) -> bool:
    """Return whether a gradient comes to a tensor by other operations than these."""
    users = [user for user in seen.graph if edge in backward_edges(user) and user not in without]
    return any(
        user.id in seen.reached and (not moves(user) or _is_learned(seen, Edge(user.id), without)) for user in users
    )


_SAMPLE = re.compile(r"\.sample\(|\bnormal\(")


# -- results that nothing takes


def _thrown_away(seen: Seen) -> Iterator[Found]:
    """Yield statements whose result nothing takes, though what they were given is used on."""
    made: dict[tuple[str, int], list[Node]] = {}
    for node in seen.graph if seen.is_last_of_kind else ():
        if node.source is not None and node.args and node.id not in seen.reached and not node.order:
            made.setdefault((node.source.file, node.source.line), []).append(node)
    yield from _left_as_it_was(seen) if seen.is_last and seen.graph.passes else ()
    for line, part in script_parts(seen, ast.Expr) if made else ():
        nodes = made.get((line.file, line.line))
        if nodes and isinstance(part.value, ast.BinOp) and _SIGNS.get(type(part.value.op)) == nodes[-1].op:
            yield from _of_statement(seen, nodes[-1].op, ast.unparse(part.value.left), nodes)
        elif nodes and isinstance(part.value, ast.Call):
            owner, _, name = ast.unparse(part.value.func).rpartition(".")
            if owner.rpartition(".")[2] in _LIBRARY and part.value.args:
                yield from _of_statement(seen, name, ast.unparse(part.value.args[0]), nodes)
            elif owner and nodes[-1].op.lstrip("_") == name:
                yield from _of_statement(seen, name, owner, nodes)


def _left_as_it_was(seen: Seen) -> Iterator[Found]:
    """Yield statements on each of a model's parameters that only compute what the same method with _ would make."""
    for line, loop in script_parts(seen, ast.For):
        if not any(called(call) == "parameters" for call in parts_of(loop.iter, ast.Call)):
            continue
        names = {part.id for part in parts_of(loop.target, ast.Name)}
        for part in (part for each in loop.body for part in parts_of(each, ast.Expr)):
            function = part.value.func if isinstance(part.value, ast.Call) else None
            owner, _, method = ast.unparse(function).rpartition(".") if function else ("", "", "")
            if method in _TWINS and owner.removesuffix(".data").removesuffix(".grad") in names:
                said = f"the result of {method} at {line.file}:{part.lineno} is thrown away: {owner} stays as it was"
                yield Found(said, Source(line.file, part.lineno, seen.scripts[line.file].line(part.lineno)))


_TWINS = tuple("add sub mul div clamp clamp_min clamp_max clip lerp masked_fill addcmul addcdiv zero".split())
_LIBRARY = ("torch", "F", "functional")
_SIGNS: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}


def _of_statement(seen: Seen, name: str, shown: str, nodes: list[Node]) -> Iterator[Found]:
    last, own = nodes[-1], {node.id for node in nodes}
    given = last.args[0]
    while given.node in own and seen.graph[given.node].args:
        given = seen.graph[given.node].args[0]
    later = [user for user in seen.users.get(given, ()) if user.id > last.id]
    same = shape_of(seen, given) == shape_of(seen, Edge(last.id))
    if later and same and not name.endswith("_") and not seen.users.get(Edge(last.id)):
        said = f"the result of {name} at {line_of(last.source)} is thrown away: {shown} stays as it was"
        fact = f"{where(later[0])} takes {shown} as it was before"
        lost = [
            seen.name(Edge(n)) for n in seen.behind(Edge(n) for n in own) - seen.reached if seen.graph[n].kind == "leaf"
        ]
        yield Found(said, last.source, (fact,), (last.id, later[0].id), covers=tuple(lost))


_WEIGHED = "What weighs is to be a number: else the weighed term pushes it to where that term is smallest."
_WEIGHT = "Detach the difference where it multiplies: log_prob * advantage.detach()."
RULES = (
    Rule("AG205", "a sample without a gradient",
        "A draw by sample() is a new tensor without history: what is computed from it trains neither the mean nor the "
        "deviation that it was drawn with.",
        "Draw with rsample(), or as mean + deviation * torch.randn_like(deviation).",
        _drawn),
    Rule("AG512", "a target that the loss moves as well",
        "The loss is to move the prediction to the target; here it also moves the target to the prediction.",
        "Make the target under torch.no_grad(), or detach it, best from a copy of the network that follows slowly.",
        _moved_targets),
    Rule("AG513", "a term whose gradients cancel",
        "The gradients of both sides differ in their sign alone: this term trains nothing.",
        "Make the side that is to stay as it was under torch.no_grad(), or detach it.",
        _cancelled, ("values",)),
    Rule("AG514", "a result is thrown away",
        "This operation returns a new tensor, and does not change the one that it is given.",
        "Assign the result, or use the operation with _ at its end, which works in place.",
        _thrown_away),
    Rule("AG515", "the arguments of a loss are turned round",
        "Of the two, only the first is brought to the other: the logarithms are of the data, and not of what is made.",
        "Give what is predicted first, and then the target.",
        _turned_round),
    Rule("AG517", "a target that is drawn by itself",
        "Noise that is drawn for the loss alone is in nothing that the model is given: nothing but 0 can be learned.",
        "Draw the noise once, put it into what the model is given, and compare with the same tensor.",
        _drawn_target),
)  # fmt: skip
