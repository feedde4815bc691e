"""The memory that nodes keep for backward: each storage and version once, however many nodes keep it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from autograph_cli.graph.facts import bytes_text, plain_name
from autograph_cli.graph.names import visible
from autograph_cli.graph.records import HELD, PACKED, Edge, Graph, Node, Saved, TensorType


class Kept(Struct, frozen=True):
    """One storage at one version: its bytes, who keeps it under which name, and which output it is, if known."""

    storage: int | None
    version: int
    type: TensorType
    bytes: int
    savers: tuple[tuple[int, str], ...]
    origin: Edge | None = None
    given: bool = False
    """True if it is a leaf or an input, even one that this view does not have."""


def kept_tensors(graph: Graph) -> list[Kept]:
    """All that the nodes of a graph keep, in order of first use; what tells no storage stands alone."""
    savers: dict[tuple[object, int], list[tuple[int, str]]] = {}
    largest: dict[tuple[object, int], Saved] = {}
    for node in graph:
        for position, saved in enumerate(node.saved):
            if saved.type is not None:
                key = (node.id, position) if saved.storage is None else saved.storage, saved.version
                savers.setdefault(key, []).append((node.id, plain_name(saved)))
                if key not in largest or saved.bytes > largest[key].bytes:
                    largest[key] = saved
    origins = _origins(graph)
    return [_kept(saved, tuple(savers[key]), origins) for key, saved in largest.items()]


def _kept(saved: Saved, savers: tuple[tuple[int, str], ...], origins: dict[int, Edge]) -> Kept:
    assert saved.type is not None
    origin = None if saved.storage is None else origins.get(saved.storage)
    return Kept(saved.storage, saved.version, saved.type, saved.bytes, savers, origin, saved.given)


def _origins(graph: Graph) -> dict[int, Edge]:
    """For each storage the output that it is: a leaf or an input before a result, which may be a view of it."""
    found: dict[int, Edge] = {}
    for node in sorted(graph, key=lambda node: (node.kind == "operation", node.id)):
        for nr, output in enumerate(node.outputs):
            if output.storage is not None:
                found.setdefault(output.storage, Edge(node.id, nr))
    return found


def total_bytes(kept: Iterable[Kept]) -> int:
    """The memory that they take; versions of one storage are the same memory."""
    sizes: dict[object, int] = {}
    for number, each in enumerate(kept):
        key = ("alone", number) if each.storage is None else each.storage
        sizes[key] = max(each.bytes, sizes.get(key, 0))
    return sum(sizes.values())


def uncounted_words(nodes: Iterable[Node]) -> str:
    """The end of a sentence on what nodes keep: of how many the bytes are not known, as hooks packed what they keep.

    What a checkpoint holds is told beside what it packed, where it is known.
    """
    count = sum(_is_packed(node) and not any(saved.name.startswith(HELD) for saved in node.saved) for node in nodes)
    return f", not counting what hooks (a checkpoint's, the script's) hold for {count} operations" if count else ""


def _is_packed(node: Node) -> bool:
    return any(saved.type is None and saved.value == PACKED for saved in node.saved)


def retained(kept: Iterable[Kept]) -> list[Kept]:
    """Return what lives on after a backward pass for `retain_graph=True` alone: results, not leaves and inputs."""
    return [each for each in kept if not each.given]


def origin_words(graph: Graph, kept: Kept) -> str:
    """Return what it is: `leaf`, `input`, `result of tanh`; and the version, if it is not the first."""
    node = None if kept.origin is None else graph.nodes[kept.origin.node]
    words = _kind(node) if node is not None else "leaf or input" if kept.given else "made on the way"
    return f"{words}, version {kept.version}" if kept.version else words


def kept_words(kept: Sequence[Kept], nodes: Iterable[Node]) -> str:
    """The total of what nodes keep, and what `retain_graph=True` would keep of it."""
    uncounted = uncounted_words(nodes)
    if not kept:
        return f"saved: nothing{uncounted}"
    held = total_bytes(retained(kept))
    return (
        f"saved: {bytes_text(total_bytes(kept))} in {len(kept)} tensor{'s' * (len(kept) != 1)}, "
        f"of which retain_graph=True would keep {bytes_text(held)} (results){uncounted}"
    )


def kept_lines(graph: Graph, names: Sequence[tuple[str, ...]]) -> list[str]:
    """A line for each, and the total."""
    kept = kept_tensors(graph)
    lines = []
    for each in kept:
        name = "" if each.origin is None else f"{names[each.origin.node][each.origin.nr]}: "
        savers = ", ".join(f"{names[number][0]} as {saved}" for number, saved in each.savers)
        what = origin_words(graph, each)
        lines.append(visible(f"{name}{each.type} ({each.bytes} bytes), {what}; kept by {savers}"))
    return [*lines, kept_words(kept, graph)]


def _kind(node: Node) -> str:
    return node.kind if node.kind in ("leaf", "input") else f"result of {node.op or node.name}"
