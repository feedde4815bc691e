"""What stands on a box and on an arrow: the title, the lines below it, and the tooltip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from autograph_cli.export.style import Style
from autograph_cli.graph import Graph, Node, TensorType
from autograph_cli.graph.facts import RECORDED, USUAL, bytes_text, facts_of
from autograph_cli.graph.kept import Kept, origin_words
from autograph_cli.graph.names import output_names, visible
from autograph_cli.graph.slices import CUT
from autograph_cli.graph.text import saved_text

LONGEST_LABEL = 44


class Label(NamedTuple):
    """What is written on one box."""

    style: Style
    title: str
    subtitle: str = ""
    lines: tuple[str, ...] = ()
    tooltip: str = ""


class Labels:
    """The words for the nodes of one view; `several` are nodes of which more than the first output is used."""

    def __init__(
        self, graph: Graph, data: bool, several: Collection[int] = (), shown: Collection[str] = USUAL
    ) -> None:
        self.graph, self.data, self.several, self.shown = graph, data, several, frozenset(shown)
        self.names = output_names(graph)
        types = Counter((output.type.dtype, output.type.device) for node in graph for output in node.outputs)
        self.common = max(sorted(types), key=types.__getitem__) if types else ("", "")

    def of(self, node: Node, rooted: dict[tuple[int, int], list[str]]) -> Label:
        """The label of a node; names that `rooted` has for its outputs stand beside it already."""
        own = [name for output in node.outputs for name in output.names]
        if node.kind != "operation":
            title = short(own[0] if own else self.names[node.id][0])
            subtitle = "" if self.data or node.kind == "input" else short(node.name)
            return Label(node.kind, title, subtitle, self.lines(node), self.tooltip(node))
        named = {name for nr in range(len(node.outputs)) for name in rooted.get((node.id, nr), ())}
        own = own if "names" in self.shown else []
        subtitle = short(", ".join(name for name in dict.fromkeys(own) if name not in named))
        if node.parent is not None:
            parent = self.graph.nodes[node.parent]
            of = f"∂ {parent.name if parent.op in (CUT, '') else parent.op}"
            subtitle = short(f"{of} · {subtitle}" if subtitle else of)
        title = node.op or node.name if self.data else node.name
        style: Style = "cut" if node.op == CUT else "derivative" if node.order else "operation"
        if style == "cut":
            title = f"{CUT} {node.name}" if not self.data or not subtitle else CUT
        return Label(style, short(title), subtitle, () if style == "cut" else self.lines(node), self.tooltip(node))

    def lines(self, node: Node) -> tuple[str, ...]:
        """What was asked for, a fact after the other."""
        return tuple(facts_of(node, self.shown - {"saved"}))

    def kept(self, kept: Kept) -> Label:
        """The label of something that nodes keep."""
        origin = kept.origin
        title = "saved" if origin is None else f"saved {self.names[origin.node][origin.nr]}"
        tooltip = [f"{kept.type}, {kept.bytes:,} bytes"]
        tooltip += [f"kept by %{number} {self.graph.nodes[number].name} as {name}" for number, name in kept.savers]
        lines = (origin_words(self.graph, kept),)
        return Label("saved", short(title), f"{kept.type}, {bytes_text(kept.bytes)}", tuple(map(short, lines)),
                     "\n".join(map(visible, tooltip)))  # fmt: skip

    def type(self, node: Node, nr: int) -> str:
        """The type of an output, as short as it can be: of the most frequent dtype only the shape."""
        if "shapes" not in self.shown:
            return f"#{nr}" if node.id in self.several else ""
        type_: TensorType = node.outputs[nr].type
        shape = f"[{', '.join(map(str, type_.shape))}]"
        if (type_.dtype, type_.device) == self.common:
            text = shape if type_.shape else ""
        else:
            text = visible(str(type_))
        return f"#{nr} {text}".rstrip() if node.id in self.several else text

    def tooltip(self, node: Node) -> str:
        """All that is known of a node, a fact a line."""
        lines = [f"%{node.id} {node.name}"]
        lines += [f"{name}: {output.type}" for name, output in zip(self.names[node.id], node.outputs, strict=True)]
        if node.source:
            code = f"  {node.source.text.strip()}" if node.source.text else ""
            lines.append(f"{node.source.file}:{node.source.line}{code}")
        if node.module:
            lines.append(f"in {node.module}")
        if node.parent is not None:
            lines.append(f"made by the backward of {self.names[node.parent][0]} ({self.graph.nodes[node.parent].name})")
        if node.pass_id is not None:
            lines.append(f"order {node.order}, pass {node.pass_id}")
        lines += [f"saved {saved_text(saved)}" for saved in node.saved]
        lines += facts_of(node, RECORDED)
        return "\n".join(map(visible, lines))


def short(text: str, limit: int = LONGEST_LABEL) -> str:
    """The text on one line, its middle left out where it is too long for a label."""
    text = visible(text)
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}…{text[len(text) - limit + limit // 2 + 1 :]}"
