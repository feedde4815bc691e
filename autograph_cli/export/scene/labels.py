"""The words on a box and on an arrow: the title, the lines below it, and the tooltip."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from autograph_cli.export.style import Style
from autograph_cli.graph import Graph, Node, TensorType
from autograph_cli.graph.arguments import LONGEST, operation_text, step_text
from autograph_cli.graph.derivatives import incoming_gradients
from autograph_cli.graph.facts import FACTS, FEW, RECORDED, USUAL, bytes_text, facts_of, values_line
from autograph_cli.graph.names import output_names, shown_name, visible
from autograph_cli.graph.saved_memory import Kept, origin_words
from autograph_cli.graph.text import saved_text
from autograph_cli.graph.views import CUT, is_cut, what_was_cut

LONGEST_LABEL, LONGEST_SUBTITLE = 48, 60
SUM = "⊕ "
"""The sign before the name of a tensor whose gradients are added up."""

Label = tuple[Style, str, str, tuple[str, ...], str]
"""The words on one box: its style, the title, the subtitle, the lines below it, and the tooltip."""


class Labels:
    """The words for the nodes of one view; `several` are nodes of which more than the first output is used.

    `brief` tooltips only say which node it is, for one who knows the rest. `flows` tells for each output how many
    arrows stand for it, where its numbers may stand at these. `sums` are the derivatives that add up gradients, and
    of which tensor. Operations are `written` as in a script.
    """

    def __init__(
        self,
        graph: Graph,
        data: bool,
        several: Collection[int] = (),
        shown: Collection[str] = USUAL,
        brief: bool = False,
        flows: Mapping[tuple[int, int], int] = MappingProxyType({}),
        sums: Mapping[int, str] = MappingProxyType({}),
        written: bool = False,
    ) -> None:
        self.write = step_text if written else operation_text
        self.graph, self.data, self.several, self.shown = graph, data, several, frozenset(shown)
        self.brief, self.sums = brief, sums
        self.naming = "names" in self.shown
        self.asked = self.shown.intersection(FACTS) - {"saved"}
        self.flowing = "values" if data else "gradients"
        """The numbers that go along the arrows of the picture."""
        self.flows = flows if self.flowing in self.shown else {}
        self.names = output_names(graph)
        self.incoming = incoming_gradients(graph) if data else {}
        self.common = _most_common([output.type for node in graph.nodes for output in node.outputs])
        self._kinds: dict[tuple[str, str, str, int], tuple[Style, str, bool]] = {}
        self._types: dict[int, tuple[str, str]] = {}
        """The text of each type, and what is written of it at an arrow, by its id: the graph keeps it."""
        self._heads: dict[str, str] = {}
        """The words that follow the number of a node in a tooltip, by the node's name."""
        self._saved: dict[tuple[str, int, int, str], str] = {}

    def of(self, node: Node, rooted: dict[tuple[int, int], list[str]], told: str) -> Label:
        """The label of a node, of whose first output this is told; names that `rooted` has for its outputs stand beside
        it already."""
        tooltip = self.tooltip(node, told)
        if node.kind != "operation" and not node.computes:
            subtitle = "" if self.data or node.kind != "leaf" else short(node.name)
            return node.kind, self.title(node), subtitle, self.lines(node), tooltip
        style, title, cut = self._kinds.get((node.name, node.op, node.kind, node.order)) or self._kind(node)
        subtitle = ""
        if self.naming:
            for output in node.outputs:
                if output.names:
                    subtitle = _subtitle(node, rooted)
                    break
        if node.id in self.sums:
            added = short(f"{SUM}{self.sums[node.id]}")
            if cut:
                subtitle = short(f"{added} · {subtitle}" if subtitle else added, LONGEST_SUBTITLE)
            else:
                title = added
        elif node.parent is not None:
            made_by = self.graph.nodes[node.parent]
            of = f"∂ {what_was_cut(made_by) or made_by.name}"
            if node.op and node.op != node.name and not cut:
                of = f"{node.name} · {of}"
            subtitle = short(f"{of} · {subtitle}" if subtitle else of, LONGEST_SUBTITLE)
        lines = self.lines(node) if self.asked and not cut else ()
        return style, title or self.title(node), subtitle, lines, tooltip

    def _kind(self, node: Node) -> tuple[Style, str, bool]:
        """The style of what computes, its title unless that has arguments in it, and whether it is cut."""
        cut = is_cut(node)
        style: Style = "cut" if cut else "derivative" if node.order else node.kind
        alike = cut or "arguments" not in self.shown or not self._says_operation(node)
        kind = style, self.title(node) if alike else "", cut
        self._kinds[node.name, node.op, node.kind, node.order] = kind
        return kind

    def title(self, node: Node) -> str:
        """The first line of a label."""
        if not node.computes:
            own = _own_names(node)
            return short(own[0] if own else node.op or self.incoming.get(node.id) or node.kind)
        if is_cut(node):
            return short(f"{CUT} {(self.data and what_was_cut(node)) or node.name}")
        return short(self._computed(node))

    def _computed(self, node: Node) -> str:
        """Return the operation and its plain arguments, in a forward picture or of a derivative, else the node name."""
        if not self._says_operation(node):
            return node.name
        if "arguments" not in self.shown:
            return node.op
        shapes = [self.graph.nodes[edge.node].outputs[edge.nr].type.shape for edge in node.args]
        room = min(LONGEST, LONGEST_LABEL - len(node.op) - 1)
        return self.write(node, shapes, room)

    def _says_operation(self, node: Node) -> bool:
        return bool(node.op) and (self.data or node.order > 0 or node.kind == "untracked")

    def lines(self, node: Node) -> tuple[str, ...]:
        """Return the facts that were asked for and stand at no arrow."""
        used = [nr for nr in range(len(node.outputs)) if (node.id, nr) in self.flows]
        told = used and all(self.flow(node, nr) for nr in used)
        asked = self.asked - {self.flowing} if told else self.asked
        return tuple(facts_of(node, asked)) if asked else ()

    def flow(self, node: Node, nr: int) -> str:
        """The numbers of an output that go along its arrows; of a gradient, if no other arrow brings a part of it."""
        arrows = self.flows.get((node.id, nr), 0)
        if node.measured is None or not arrows or (arrows > 1 and not self.data):
            return ""
        numbers = node.measured.values if self.data else node.measured.gradients
        values = numbers[nr] if nr < len(numbers) else None
        return "" if values is None else values_line(values)

    def numbers(self, used: int, nr: int, label: str) -> str:
        """The label of an arrow for an output with the numbers that go along it: all instead of a shape if few."""
        node = self.graph.nodes[used]
        numbers, shape = self.flow(node, nr), node.outputs[nr].type.shape
        if not numbers or math.prod(map(abs, shape)) > FEW:
            return numbers and f"{label} {numbers}".lstrip()
        words = label.removesuffix(_shape_text(shape))
        return f"{words}{' ' if words and words[-1] != ' ' and numbers[0] != '[' else ''}{numbers}"

    def kept(self, kept: Kept) -> Label:
        """The label of something that nodes keep."""
        origin = kept.origin
        title = "saved" if origin is None else f"saved {self.names[origin.node][origin.nr]}"
        tooltip = [f"{kept.type}, {kept.bytes:,} bytes"]
        tooltip += [f"kept by %{number} {self.graph.nodes[number].name} as {name}" for number, name in kept.savers]
        lines = (origin_words(self.graph, kept),)
        return (
            "saved",
            short(title),
            f"{kept.type}, {bytes_text(kept.bytes)}",
            tuple(map(short, lines)),
            "\n".join(map(visible, tooltip)),
        )

    def told(self, node: Node, nr: int) -> tuple[str, str]:
        """The name and the type of an output; and what is written of it at an arrow, as short as it can be: of the most
        frequent dtype only the shape."""
        type_: TensorType = node.outputs[nr].type
        whole, brief = self._types.get(id(type_)) or self._texts(type_)
        if node.id in self.several:
            brief = f"#{nr} {brief}".rstrip()
        return f"{self.names[node.id][nr]}: {whole}", brief

    def _texts(self, type_: TensorType) -> tuple[str, str]:
        told = at_arrow = visible(str(type_))
        if "shapes" not in self.shown:
            at_arrow = ""
        elif (type_.dtype, type_.device) == self.common:
            at_arrow = _shape_text(type_.shape) if type_.shape else ""
        self._types[id(type_)] = told, at_arrow
        return told, at_arrow

    def tooltip(self, node: Node, told: str) -> str:
        """All that is known of a node, a fact a line; this is told of its first output."""
        head = self._heads.get(node.name)
        if head is None:
            head = self._heads[node.name] = visible(node.name) or "not recorded by autograd"
        if self.brief:
            return f"%{node.id} {head}"
        text = f"%{node.id} {head}\n{told}" if told else f"%{node.id} {head}"
        for nr in range(1, len(node.outputs)):
            text += f"\n{self.told(node, nr)[0]}"
        if node.source:
            text += f"\n{_line_of(node.source.file, node.source.line, node.source.text)}"
        if node.module:
            text += f"\nin {visible(node.module)}"
        if node.id in self.sums:
            text += f"\nsum of gradients of {visible(self.sums[node.id])}"
        elif node.parent is not None:
            parent = visible(self.graph.nodes[node.parent].name)
            text += f"\nmade by the backward of {self.names[node.parent][0]} ({parent})"
        if node.pass_id is not None:
            text += f"\norder {node.order}, pass {node.pass_id}"
        for saved in node.saved:
            key = saved.name, id(saved.type), saved.bytes, saved.value
            text += self._saved.get(key) or self._saved.setdefault(key, f"\nsaved {saved_text(saved)}")
        if node.measured is not None:
            text = "\n".join([text, *facts_of(node, RECORDED)])
        return text


def _most_common(every: Sequence[TensorType]) -> tuple[str, str]:
    """The dtype and the device that most of these have; they are told apart by their ids, which is quick."""
    by_id = dict(zip(map(id, every), every, strict=True))
    types = Counter([(type_.dtype, type_.device) for type_ in by_id.values()])
    if len(types) > 1:
        types.clear()
        for key, count in Counter(map(id, every)).items():
            types[by_id[key].dtype, by_id[key].device] += count
    return max(sorted(types), key=types.__getitem__) if types else ("", "")


def _subtitle(node: Node, rooted: Mapping[tuple[int, int], list[str]]) -> str:
    """The names of what a node made, without those that stand beside it."""
    named = {shown_name(name) for nr in range(len(node.outputs)) for name in rooted.get((node.id, nr), ())}
    return short(", ".join(name for name in dict.fromkeys(_own_names(node)) if name not in named))


def _own_names(node: Node) -> list[str]:
    return [shown_name(name) for output in node.outputs for name in output.names]


@lru_cache(1 << 12)
def _line_of(file: str, line: int, text: str) -> str:
    code = f"  {text.strip()}" if text else ""
    return visible(f"{file}:{line}{code}")


@lru_cache(1 << 12)
def _shape_text(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


@lru_cache(1 << 14)
def short(text: str, limit: int = LONGEST_LABEL) -> str:
    """The text on one line, its middle left out where it is too long for a label."""
    text = visible(text)
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}…{text[len(text) - limit + limit // 2 + 1 :]}"


def clipped(text: str, limit: int) -> str:
    """An operation with its arguments, a list, or code on one line: without the last of these, or what is in brackets,
    where it is too long for a label.

    >>> clipped("convolution_backward 3×3 s2, padding 0, transposed", 34)
    'convolution_backward 3×3 s2, …'
    """
    text = visible(text)
    if len(text) <= limit or _CODE.search(text):
        return abridged(text, limit)
    whole = text[: limit - 2].rpartition(", ")[0]
    name = text.partition(" ")[0]
    return f"{whole}, …" if whole else f"{name} …" if len(name) + 2 <= limit else short(text, limit)


@lru_cache(1 << 12)
def abridged(code: str, limit: int) -> str:
    """A line of code, as little left out of its brackets as it takes to be no longer.

    >>> abridged("fast = [w - 0.01 * g for w, g in zip(fast, grads)]", 28)
    'fast = [w - 0.01 * g for …]'
    >>> abridged("return F.cross_entropy(model(x),", 32)
    'F.cross_entropy(model(x), …)'
    """
    code = _balanced(_KEYWORD.sub("", code)).rstrip(":,")
    code = code.removeprefix("return ") if len(code) > limit else code
    while len(code) > limit:
        cuts = [(at, end) for start, end in _brackets(code) for at in _ends(code, start, end)]
        shorter = [f"{code[:at].rstrip('…')}…{code[end:]}" for at, end in cuts]
        fit = [one for one in shorter if len(one) <= limit]
        if not fit and min(map(len, shorter), default=len(code)) >= len(code):
            end = max(code.rfind(" ", 0, limit - 1), code.rfind(".", 0, limit - 1)) + 1
            return f"{code[:end]}…" if end else short(code, limit)
        code = max(fit, key=len) if fit else min(shorter, key=len)
    return code


_CODE = re.compile(r"[(=]")
_KEYWORD = re.compile(r"^(?:if|elif|while|assert|with|yield) (?=.)")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def _balanced(code: str) -> str:
    """The code of one line of a statement without brackets that were opened before, and with those closed that end
    after it."""
    open_: list[str] = []
    text = ""
    for letter in code:
        if letter in _CLOSING.values() and not (open_ and open_.pop() == letter):
            continue
        if letter in _CLOSING:
            open_.append(_CLOSING[letter])
        text += letter
    more = " …" if text.endswith(",") else "…"
    return f"{text}{more}{''.join(reversed(open_))}" if open_ else text


def _brackets(code: str) -> Iterator[tuple[int, int]]:
    """Find where the contents of brackets start and end."""
    starts = []
    for position, letter in enumerate(code):
        if letter in _CLOSING:
            starts.append(position + 1)
        elif letter in _CLOSING.values() and starts:
            yield starts.pop(), position


def _ends(code: str, start: int, end: int) -> Iterator[int]:
    """Find where the contents of a bracket can be cut: at their start, and after words outside of further ones."""
    yield start
    deep = 0
    for position in range(start, end):
        deep += (code[position] in _CLOSING) - (code[position] in _CLOSING.values())
        if code[position] == " " and not deep:
            yield position + 1
