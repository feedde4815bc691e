"""The words of a review: counts, lists and articles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from autograph_cli.graph.compared import constants
from autograph_cli.graph.names import visible
from autograph_cli.graph.records import Node

FEW = 4
"""The most operations that are named with their neighbours; of more in one position, their number is told."""
_ORDERS = ("forward", "backward", "double backward", "triple backward")


def ordinal(order: int) -> str:
    """Return what the derivatives of an order are called."""
    return _ORDERS[order] if order < len(_ORDERS) else f"order {order} backward"


def an(name: str) -> str:
    """Return the article of an operation's name."""
    return "an" if name[:1].lower() in "aeio" else "a"


def called_with(node: Node) -> str:
    """Return ` with exponent=2`, of few plain arguments."""
    given = [f"{name}={value}" for name, value in constants(node).items()]
    return f" with {visible(joined(given))}" if given and len(given) < FEW else ""


def in_order(order: int) -> str:
    """Return the beginning of a sentence on a derivative."""
    return f"{ordinal(order)}: " if order else ""


def each(names: Sequence[str], told: str) -> Iterator[str]:
    """A sentence on each name, or, of many, one on all."""
    if len(names) > FEW:
        yield f"{few(names)} {told.format('')}"
    else:
        yield from (f"{name} {told.format('s')}" for name in names)


def few(names: Sequence[str]) -> str:
    """Return the first names of many, and how many more there are."""
    more = len(names) - FEW
    return f"{', '.join(names[:FEW])} and {more} more" if more > 0 else joined(names)


def article(kind: str) -> str:
    """Return `a leaf`, or `an input`."""
    return f"{'a' if kind == 'leaf' else 'an'} {kind}"


def joined(parts: Iterable[str]) -> str:
    """Return `a, b and c`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def data(node: Node, *, before: bool = False) -> str:
    """`is drawn by randint(low=0, high=3)`, or `is 0.25`."""
    facts = constants(node)
    verb = "was" if before else "is"
    if "drawn" not in facts:
        return f"{verb} {visible(facts.get('values', 'something else'))}"
    given = ", ".join(f"{name}={value}" for name, value in facts.items() if name not in ("drawn", "then"))
    then = f", then {visible(facts['then'])}" if "then" in facts else ""
    return f"{verb} drawn by {visible(facts['drawn'])}({visible(given)}){then}"


def counted(nodes: Sequence[Node]) -> str:
    """`a `mul` with other=2 and 2 `add``; of few operations with their arguments."""
    told = len(nodes) <= FEW
    counts = Counter((visible(node.op or node.name), called_with(node) if told else "") for node in nodes)
    parts = [f"{count if count > 1 else an(name)} `{name}`{tail}" for (name, tail), count in counts.items()]
    more = sum(list(counts.values())[FEW:])
    return joined(parts) if not more else f"{', '.join(parts[:FEW])} and {more} more"
