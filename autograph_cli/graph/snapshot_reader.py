"""Reads snapshots back, line by line; what does not belong there is named with its line."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from autograph_cli.graph.errors import GraphError
from autograph_cli.graph.records import Edge, Graph, Kind, Node, Output, Pass, Root, Saved, Source, TensorType
from autograph_cli.graph.snapshot import EXTRAS, FORMAT, HOLDS, LISTED, VERSION, Section, Snapshot
from autograph_cli.graph.snapshot_folding import resolved
from autograph_cli.graph.verifier import verify

_PLAIN = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|%?[\w{](?:[\w.\[\]{}]|(?<=\d)-(?=\}))*)(?:~\d+)?'*(?:\#\d+)?"""
_LABEL = re.compile(f"{_PLAIN}(?:>{_PLAIN})?")
_TIMES = re.compile(r"([0-9]{1,9}) times")
_TYPE = re.compile(
    r"([A-Za-z_]\w*)?(?:\[((?:(?:-1|\d{1,18})(?:, (?:-1|\d{1,18})){0,63})?)\])?(?:@([\w:.-]+))?", re.ASCII
)
_WORD = re.compile(r"[^\s(),]+")
_CONFLICT = re.compile(r"<{7}( |$)|={7}$|>{7}( |$)|\|{7}( |$)")
_TITLE = re.compile(r"\[([^\[\]]+)\](?: as \[([^\[\]]+)\])?")
_STEP = re.compile(r"^step ([0-9]{1,18})(?=[,:]|$)")
_FROM_ONE = 3
"""The version from which on steps are counted from 1."""
_PASS = re.compile(r"(\d{1,18}): ", re.ASCII)
_HOW = ("engine", "module", "kept", "pytorch", "within")
_TAIL = re.compile(r" order ([0-9]{1,18})(, create_graph)?, (?:(no gradients)|gradients of (.+))")


class SnapshotError(GraphError):
    """A file that is no snapshot, or not a whole one, or of a newer version."""


def read_snapshot(text: str, name: str = "the snapshot") -> Snapshot:
    """Read what `Snapshot.to_text` wrote; `name` is what errors call it.

    Raises `SnapshotError`: empty, no snapshot, of a newer version, with the marks of a merge conflict, or malformed.

    >>> read_snapshot("")
    Traceback (most recent call last):
    autograph_cli.graph.snapshot_reader.SnapshotError: the snapshot is empty.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    if not "".join(lines).strip():
        raise SnapshotError(f"{name} is empty.")
    for number, line in enumerate(lines, 1):
        if _CONFLICT.match(line):
            raise SnapshotError(
                f"{name}, line {number}: there is a merge conflict; resolve it, or write it again with --update."
            )
    head = re.fullmatch(rf"{FORMAT} ([0-9]{{1,18}}): (.*)", lines[0])
    if head is None:
        raise SnapshotError(f"{name} is no autograph snapshot: its first line is {lines[0][:60]!r}.")
    version = int(head[1])
    if not 1 <= version <= VERSION:
        raise SnapshotError(
            f"{name} has version {head[1]}, and this autograph reads up to version {VERSION}: "
            "a newer autograph wrote it."
        )
    try:
        found = replace(_Reader(head[2], lines).snapshot(), version=version)
    except _Wrong as wrong:
        raise SnapshotError(f"{name}, line {wrong.number}: {wrong.what}.") from None
    except SyntaxError:
        raise SnapshotError(f"{name} is malformed: it has a name in quotes that is no text of Python.") from None
    except GraphError as error:
        raise SnapshotError(f"{name} is malformed: {error}") from None
    return found if version >= _FROM_ONE else _counted_from_one(found)


def _counted_from_one(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot of an early format with the numbers that its steps have now."""

    def counted(text: str) -> str:
        return _STEP.sub(lambda found: f"step {int(found[1]) + 1}", text)

    sections = tuple(replace(section, title=counted(section.title)) for section in snapshot.sections)
    return replace(snapshot, sections=sections, collectives=tuple(map(counted, snapshot.collectives)))


class _Wrong(Exception):
    def __init__(self, number: int, what: str) -> None:
        self.number, self.what = number, what


@dataclass(slots=True)
class _Part:
    """The lines of one section, with their numbers, below its headings."""

    title: str
    number: int
    like: str | None = None
    lines: list[tuple[int, str, str]] = field(default_factory=list)
    """Line number, heading, text."""


class _Reader:
    def __init__(self, name: str, lines: list[str]) -> None:
        self.name = name
        self.lines = lines
        self.holds: tuple[str, ...] = ()
        self.steps: int | None = None
        self.ranks = 1
        self.how: dict[str, str] = {}
        """The settings of the run: the engine, the module, the steps that were kept."""

    def snapshot(self) -> Snapshot:
        graphs: dict[str, Graph] = {}
        extras: dict[str, tuple[str, ...]] = {}
        for part in self._parts():
            if part.title in graphs or part.title in extras:
                raise _Wrong(part.number, f"there is a second section [{part.title}]")
            if part.title in (*LISTED, *EXTRAS):
                extras[part.title] = tuple(text for _, _, text in part.lines)
            elif part.like is None:
                graphs[part.title] = _GraphReader(part).graph()
            elif part.like in graphs:
                graphs[part.title] = graphs[part.like]
            else:
                raise _Wrong(part.number, f"there is no section [{part.like}] before this one")
        sections = tuple(Section(title, graph) for title, graph in graphs.items())
        held = Snapshot(self.name, sections, self.holds, self.steps, ranks=self.ranks)
        return replace(held, **extras, **self.how)

    def _parts(self) -> list[_Part]:
        parts: list[_Part] = []
        heading = ""
        for number, line in enumerate(self.lines[1:], 2):
            title = _TITLE.fullmatch(line)
            if title:
                parts.append(_Part(title[1], number, title[2]))
                heading = ""
            elif not line.strip():
                continue
            elif not parts:
                self._head(number, line)
            elif line.startswith("  "):
                parts[-1].lines.append((number, heading, line[2:]))
            elif re.fullmatch(r"order [0-9]{1,18}|results|passes", line):
                heading = line
            else:
                raise _Wrong(number, f"{line[:60]!r} is no line of a snapshot")
        return parts

    def _head(self, number: int, line: str) -> None:
        key, _, rest = line.partition(" ")
        if key == "holds":
            self.holds = () if rest == "structure" else tuple(rest.split(", "))
            unknown = [part for part in self.holds if part not in HOLDS]
            if unknown:
                raise _Wrong(number, f"it holds {unknown[0]!r}, which is none of {', '.join(HOLDS)}")
        elif key == "steps" and re.fullmatch(r"[0-9]{1,18}", rest):
            self.steps = int(rest)
        elif key == "ranks" and re.fullmatch(r"[0-9]{1,9}", rest):
            self.ranks = int(rest)
        elif key in _HOW and re.fullmatch(r"[\w.:,-]+", rest):
            self.how[key] = rest
        else:
            raise _Wrong(number, f"{line[:60]!r} is no line of a snapshot's head")


class _Cursor:
    """Reads one line from left to right."""

    def __init__(self, text: str, number: int) -> None:
        self.text, self.number, self.at = text, number, 0

    def take(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _Wrong(self.number, f"{what} is missing at {self.text[self.at : self.at + 40]!r}")
        self.at = found.end()
        return found

    def has(self, literal: str) -> bool:
        if not self.text.startswith(literal, self.at):
            return False
        self.at += len(literal)
        return True

    def need(self, literal: str) -> None:
        if not self.has(literal):
            raise _Wrong(self.number, f"{literal.strip()!r} is missing at {self.text[self.at : self.at + 40]!r}")

    @property
    def done(self) -> bool:
        return self.at == len(self.text)

    def refs(self) -> list[str | None]:
        """Return what stands in parentheses: labels, and `_` for nothing."""
        self.need("(")
        found: list[str | None] = []
        while not self.has(")"):
            if found:
                self.need(", ")
            label = self.take(_LABEL, "a name")[0]
            found.append(None if label == "_" else label)
        return found


@dataclass(slots=True)
class _Raw:
    """A node with labels instead of edges."""

    number: int
    node: Node
    next: list[str | None] = field(default_factory=list)
    args: list[str | None] = field(default_factory=list)
    parent: str | None = None


_MOST_LINES = 10_000_000


class _GraphReader:
    def __init__(self, part: _Part) -> None:
        self.part = part
        self.positions: dict[str, Edge] = {}
        self.raw: list[_Raw] = []
        self.turn = 0
        self.own: frozenset[str] = frozenset()

    def graph(self) -> Graph:
        rows = iter(self._unfolded())
        for number, heading, text in rows:
            if heading.startswith("order "):
                self.raw.append(self._node(number, text, int(heading[6:])))
            elif heading not in ("results", "passes"):
                raise _Wrong(number, "there is no heading above this line")
        passes = [self._pass(position, number, text) for position, (number, text) in enumerate(self._under("passes"))]
        makers: dict[int, list[int]] = {}
        for entry in passes:
            makers.setdefault(entry.order, []).append(entry.id)
        graph = Graph(
            tuple(self._linked(raw, makers) for raw in self.raw),
            tuple(self._root(number, text) for number, text in self._under("results")),
            tuple(passes),
        )
        verify(graph)
        return graph

    def _unfolded(self) -> Iterator[tuple[int, str, str]]:
        """The lines; those that come again and again one turn after another, which `turn` and `own` tell of."""
        lines, at = self.part.lines, 0
        while at < len(lines):
            number, heading, text = lines[at]
            times = _TIMES.fullmatch(text) if heading.startswith("order ") else None
            at += 1
            if times is None:
                self.turn, self.own = 0, frozenset()
                yield number, heading, text
                continue
            block = []
            while at < len(lines) and lines[at][2].startswith("  "):
                block.append((lines[at][0], heading, lines[at][2][2:]))
                at += 1
            if int(times[1]) * len(block) > _MOST_LINES:
                raise _Wrong(number, f"{times[1]} times {len(block)} lines are more than {_MOST_LINES:,}")
            self.own = frozenset([label for row in block for label in self._given(row[0], row[2])])
            for self.turn in range(int(times[1])):
                yield from block
            self.turn, self.own = 0, frozenset()

    def _given(self, number: int, text: str) -> Iterator[str]:
        """The labels that a line gives to outputs."""
        cursor = _Cursor(text.removeprefix("leaf ").removeprefix("input "), number)
        while True:
            yield cursor.take(_LABEL, "a name")[0]
            if cursor.has(": "):
                cursor.take(_TYPE, "a type")
            if not cursor.has(", "):
                return

    def _label(self, label: str | None) -> str | None:
        """Return the label that stands in this turn for one of the first turn."""
        return None if label is None else resolved(label, self.turn, self.own)

    def _under(self, heading: str) -> Iterator[tuple[int, str]]:
        return ((number, text) for number, above, text in self.part.lines if above == heading)

    def _edge(self, label: str | None, number: int) -> Edge | None:
        if label is None:
            return None
        if label not in self.positions:
            raise _Wrong(number, f"there is no {label} in [{self.part.title}]")
        return self.positions[label]

    def _edges(self, labels: list[str | None], number: int) -> list[Edge]:
        return [edge for label in labels if (edge := self._edge(label, number)) is not None]

    def _root(self, number: int, text: str) -> Root:
        edge = self._edge(text, number)
        assert edge is not None
        return Root(_name(text) or text, edge.node, edge.nr)

    def _pass(self, position: int, number: int, text: str) -> Pass:
        cursor = _Cursor(text, number)
        if int(cursor.take(_PASS, "the number")[1]) != position:
            raise _Wrong(number, f"the backward calls are not numbered in order: {position} is missing")
        call = cursor.take(_WORD, "the call")[0]
        roots = self._edges(cursor.refs(), number)
        tail = cursor.take(_TAIL, "the order")
        leaves = [node.node.id for node in self.raw if node.node.kind == "leaf"]
        if tail[3]:
            leaves = []
        elif tail[4] != "all leaves":
            labels = _Cursor(f"({tail[4]})", number).refs()
            leaves = [edge.node for edge in self._edges(labels, number)]
        return Pass(position, call, int(tail[1]), bool(tail[2]), tuple(roots), ran=tuple(leaves))

    def _linked(self, raw: _Raw, makers: dict[int, list[int]]) -> Node:
        node = raw.node
        made_by = node.pass_id
        if made_by is None and node.order:
            known = makers.get(node.order, [])
            if len(known) != 1:
                raise _Wrong(raw.number, f"it does not say which of {len(known)} backward calls made this")
            made_by = known[0]
        parent = self._edge(raw.parent, raw.number)
        return replace(
            node,
            next=tuple(self._edge(label, raw.number) for label in raw.next),
            args=tuple(self._edges(raw.args, raw.number)),
            parent=None if parent is None else parent.node,
            pass_id=made_by,
        )

    def _node(self, number: int, text: str, order: int) -> _Raw:
        cursor = _Cursor(text, number)
        kind: Kind = "leaf" if cursor.has("leaf ") else "input" if cursor.has("input ") else "operation"
        outputs = list(self._outputs(cursor))
        raw = _Raw(number, Node(len(self.raw), kind, "Input", "", tuple(outputs), order=order))
        name = {"leaf": "AccumulateGrad", "input": "Input"}.get(kind, "")
        op = ""
        if kind == "operation":
            cursor.need(" = ")
            op = cursor.take(_WORD, "the operation")[0]
            raw.args = list(map(self._label, cursor.refs())) if cursor.text.startswith("(", cursor.at) else []
            if cursor.has("  grad_fn "):
                name = cursor.take(_WORD, "the grad_fn")[0]
                listed = cursor.text.startswith("(", cursor.at)
                raw.next = list(map(self._label, cursor.refs())) if listed else list(raw.args)
            elif cursor.has("  untracked"):
                kind = "untracked"
        name = name or ("" if kind == "untracked" else op)
        raw.node = self._details(cursor, replace(raw.node, kind=kind, name=name, op=op), raw)
        if not cursor.done:
            raise _Wrong(number, f"{cursor.text[cursor.at :].strip()[:40]!r} does not belong here")
        return raw

    def _outputs(self, cursor: _Cursor) -> Iterator[Output]:
        """`y: float32[3]`, one or several with commas; their labels are noted."""
        nr = 0
        while nr == 0 or cursor.has(", "):
            label = resolved(cursor.take(_LABEL, "a name")[0], self.turn, self.own)
            if label in self.positions:
                raise _Wrong(cursor.number, f"there is a second {label}")
            self.positions[label] = Edge(len(self.raw), nr)
            found = cursor.take(_TYPE, "a type") if cursor.has(": ") else None
            dtype, shape, device = found.groups() if found else (None, None, None)
            kind = TensorType(dtype or "", tuple(map(int, shape.split(", "))) if shape else (), device or "cpu")
            name = _name(label)
            yield Output(kind, (name,) if name else ())
            nr += 1

    def _details(self, cursor: _Cursor, node: Node, raw: _Raw) -> Node:
        word: Callable[[], str] = lambda: cursor.take(re.compile(r"\S+"), "a word")[0]  # noqa: E731
        if cursor.has("  of "):
            label = cursor.take(_LABEL, "a name")[0]
            raw.parent = None if label == "_" else self._label(label)
        if cursor.has("  pass "):
            node = replace(node, pass_id=int(cursor.take(re.compile(r"[0-9]{1,18}"), "a number")[0]))
        if cursor.has("  in "):
            node = replace(node, module=word())
        if cursor.has("  at "):
            file, _, line = cursor.take(re.compile(r".+?:[0-9]{1,18}(?=  |$)"), "a line")[0].rpartition(":")
            node = replace(node, source=Source(file, int(line)))
        if cursor.has("  with "):
            text = cursor.take(re.compile(r".*"), "constants")[0]
            node = replace(node, saved=tuple(_constant(part) for part in _split(text)))
        return node


def _name(label: str) -> str:
    """The variable of a label: none for `%mul`, `x` for `x~2`."""
    if label.startswith("%"):
        return ""
    label = re.sub(r"(~\d+)?(#\d+)?$", "", label)
    return str(ast.literal_eval(label)) if label[0] in "'\"" else label


def _split(text: str) -> list[str]:
    """Constants apart: at the commas that stand before `name=`, outside of brackets and quotes."""
    return re.split(r", (?=[A-Za-z_][\w.\[\]]*=)", text)


def _constant(text: str) -> Saved:
    name, _, value = text.partition("=")
    return Saved(name, value=value)
