"""Finds where the gradient of a leaf ends, though results are computed from it further on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from autograph_cli.findings.book import book_of
from autograph_cli.findings.records import Seen, line_of
from autograph_cli.graph import Edge, Node, Source
from autograph_cli.graph.cuts import where
from autograph_cli.graph.views import backward_edges
from autograph_cli.record.names.bindings import Script

Kind = Literal["detached", "whole", "number", "unrecorded", "derivative", "early", "flat", "constant", "built"]
_REMEDIES: dict[Kind, str] = {
    "detached": "Detach less, or let no optimizer have it.",
    "whole": "Whole numbers, and so indices, have no gradient: weigh what may be picked (softmax, interpolation), or "
    "let no optimizer have it.",
    "number": "Stay with tensors: a plain number or an array has no gradient.",
    "unrecorded": "Compute it where gradients are recorded, outside of no_grad, or let no optimizer have it.",
    "derivative": "Make this derivative with create_graph=True.",
    "early": "Have it require a gradient before it is used.",
    "flat": "This derivative is the same whatever it is, as that of ReLU: use a smooth activation, or a loss of the "
    "function itself.",
    "built": "Join tensors by torch.stack or torch.cat, which record it: torch.tensor takes numbers alone.",
    "constant": "Compute the result from it by what sends it a gradient, or let no optimizer have it.",
}
_REENTRANT = "A checkpoint with use_reentrant=True records nothing where none of its inputs requires a gradient."
_WORDS: dict[str, Kind] = {
    "detach": "detached", ".data": "detached", "an integer": "whole", "a new": "built", "torch.": "unrecorded",
}  # fmt: skip
"""Words in the causes that a line's text shows, and the kind they mean; without any it is a plain number."""


class Ending(Struct, frozen=True):
    """An operation that was given what has a gradient, or was to have one, and sends it none."""

    kind: Kind
    node: Node
    given: Edge

    def fact(self, seen: Seen) -> str:
        """Return what happens there, in a sentence."""
        given = seen.shown(self.given)
        return {
            "detached": f"{where(self.node)} cuts it off from {given}",
            "whole": f"{where(self.node)} makes whole numbers of {given}",
            "unrecorded": f"{where(self.node)} takes {given} where no gradients are recorded",
            "derivative": f"{where(self.node)} differentiates by {given} without create_graph",
            "early": f"{where(self.node)} took {given} when it did not require a gradient",
            "flat": f"{where(self.node)}, a derivative, takes {given} and has none by it",
            "constant": f"{where(self.node)} takes {given} and sends it no gradient",
        }[self.kind]


def remedy(kinds: Collection[Kind], scripts: Mapping[str, Script]) -> str:
    """Return what to change, for each kind of ending."""
    words = [_REMEDIES[kind] for kind in dict.fromkeys(kinds)]
    reentrant = any("use_reentrant=True" in line for script in scripts.values() for line in script.lines)
    return " ".join([*words, *[_REENTRANT] * ("unrecorded" in kinds and reentrant)])


def read_out(seen: Seen, leaf: Edge) -> Iterator[tuple[Kind, Source, str]]:
    """Yield what ends the gradient of a leaf in the text of the lines that use it last: of what is read as a plain
    number the graph does not tell."""
    used, stack = {leaf.node}, [leaf.node]
    while stack:
        number = stack.pop()
        outputs = [Edge(number, nr) for nr in range(len(seen.graph[number].outputs))]
        following = {user.id for edge in outputs for user in seen.users.get(edge, ())}
        stack += following - used
        used |= following
        source = seen.graph[number].source
        script = None if source is None or following else seen.scripts.get(source.file)
        if script is None or source is None:
            continue
        for one in script.bindings:
            for cause in one.causes if one.line <= source.line <= one.last_line else ():
                known = [kind for word, kind in _WORDS.items() if word in cause.words]
                cut = Source(source.file, one.line, one.text)
                yield known[0] if known else "number", cut, f"{line_of(cut)} `{one.text}`: {cause.words}"


def built_anew(seen: Seen) -> Iterator[tuple[Kind, Source, str]]:
    """Yield the lines that make a leaf which the result hangs on of other tensors' numbers, or of what they detach."""
    book = book_of(seen)
    learned = {each.name for each in book.ledger.parameters if each.module is not None} if book else set()
    hung = [seen.graph[number] for number in seen.behind(seen.outcome()) if seen.graph[number].kind == "leaf"]
    for leaf in (node for node in hung if not learned.intersection(node.outputs[0].names)):
        last = {name.rpartition(".")[2] for name in leaf.outputs[0].names}
        places = [user.source for user in seen.users.get(Edge(leaf.id), ())] + [leaf.source]
        lines = [(each.file, each.line) for each in places if each]
        for file, script in seen.scripts.items():
            for one in script.bindings:
                here = any(each == file and one.line <= line <= one.last_line for each, line in lines)
                own = any(name.rpartition(".")[2] in last for name in one.targets)
                made = [one, *(by for use in one.uses for by in script.reaching(use, one.line))] if own else [one]
                for each, cause in ((by, why) for by in made for why in by.causes if here or own):
                    kinds = [kind for word, kind in _WORDS.items() if word in cause.words]
                    if kinds[:1] == ["built"] or (own and kinds[:1] == ["detached"]):
                        cut = Source(file, each.line, each.text)
                        yield kinds[0], cut, f"{line_of(cut)} `{each.text}`: {cause.words}"


def endings(seen: Seen, leaf: Edge, roots: Iterable[Edge] | None = None) -> Iterator[Ending]:
    """Yield where the ways of a leaf end that go on, by data, to these roots, else to what backward started from."""
    wanted = seen.behind(seen.outcome() if roots is None else roots, untracked=True)
    met, stack = {leaf}, [leaf]
    while stack:
        edge = stack.pop()
        for user in seen.users.get(edge, ()):
            if user.id not in wanted:
                continue
            if edge not in backward_edges(user):
                yield _ending(seen, user, edge)
                continue
            following = {Edge(user.id, nr) for nr in range(len(user.outputs))} - met
            met |= following
            stack += following


def _ending(seen: Seen, user: Node, given: Edge) -> Ending:
    """Return the ending where an operation is given a tensor: before it, where that is of whole numbers already."""
    made = seen.graph[given.node]
    if made.args and is_whole(made, given.nr):
        return Ending("whole", made, made.args[0])
    return Ending(_kind(user, given), user, given)


def is_whole(node: Node, nr: int) -> bool:
    """Return whether a result is of whole numbers, which have no gradient."""
    return not node.outputs[nr].type.dtype.startswith(("float", "bfloat", "complex"))


def _kind(node: Node, given: Edge) -> Kind:
    if node.kind == "operation":
        return "flat" if node.order else "constant"
    if given not in [node.args[position] for position in node.cut]:
        return "early"
    if is_whole(node, 0):
        return "whole"
    return {"detach": "detached", "grad": "derivative"}.get(node.op, "unrecorded")  # type: ignore[return-value]
