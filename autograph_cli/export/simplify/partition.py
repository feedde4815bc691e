"""Operations in one box for each line of the script, and where that is not small enough, for lines in a row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec.structs import replace

from autograph_cli.export.ranks import in_turn
from autograph_cli.export.scene.labels import LONGEST_LABEL, LONGEST_SUBTITLE, abridged, clipped, short
from autograph_cli.export.scene.modules import LONGEST_TITLE, shown_by
from autograph_cli.export.scene.parameters import chips_of
from autograph_cli.export.scene.records import Arrow, Box, Scene, merged, standing_for, together
from autograph_cli.export.simplify.closing import closed
from autograph_cli.export.simplify.rolling import turns_of
from autograph_cli.export.style import OPERATIONS, RESULTS
from autograph_cli.graph import Graph
from autograph_cli.graph.source import Source

PARTS = 40
"""Boxes that all operations are put into, if the limit allows for so many."""
NEAR = 3
"""A part takes no further call of a function, or turn of a loop, from this fraction of its size on."""
GROWS = 1.25
"""The growth in size with which parts are tried, until they are few enough."""
KEPT = 0.25
"""The part of the limit that results, and then leaves and inputs, may take to stay boxes of their own."""
NAMED = 3
"""Operations that a piece names, the most frequent ones, and lines that it shows."""
TENSORS = "× k at an arrow: k tensors"
_CALL = re.compile(r" \(call \d+\)$")
_CLASS = re.compile(r": [\w.]+")
"""The class of a module in its title, which is left out where several share one."""
_COMMENT = re.compile(r"\s+#[^'\"]*$")
_WORD = re.compile(r"return |yield |(?:(?:el)?if|while) (?=.*:$)|\w+ = lambda\b[^:]*: ")
"""The words before what a line computes."""
Run = list[Box]


def by_statement(scene: Scene, graph: Graph, lowest: int = 0) -> Scene:
    """The scene with all that a line of the script computed in one box, in bands from the `lowest` on; what ran in
    other modules stays apart."""
    told, bands = _Told(scene, graph), {frame.id: frame.band for frame in scene.frames}
    scene = closed(scene, graph, [frame for frame in _of_one_line(scene, told) if bands[frame] >= lowest])
    runs = [run for run in _runs(scene, told.box_line) if len(run) > 1 and run[0].band >= lowest]
    if not runs:
        return scene
    part = {box.id: run[0].id for run in runs for box in run}
    pieces = {run[0].id: told.statement(run) for run in runs}
    part |= _given_again(scene, graph, part)
    into = {box.id: part[box.id] for box in scene.boxes if part.get(box.id, box.id) != box.id}
    boxes = together(scene, into, pieces)
    many = sum(box.many for box in pieces.values())
    note = f"folded: {many:,} operations in {len(runs):,} line{'s' * (len(runs) > 1)} of the script"
    arrows = _joined(scene, part)
    return replace(scene, boxes=boxes, arrows=arrows, notes=_noted(scene, note, arrows))


def _of_one_line(scene: Scene, told: _Told) -> Iterator[str]:
    """Yield the frames that hold operations of a single line only, which is the one that called the module."""
    inside: dict[str, Run] = {}
    for box in scene.boxes:
        if box.style == "module" or box.style in OPERATIONS:
            inside.setdefault(box.frame, []).append(box)
    around = {frame.parent for frame in scene.frames}
    for frame in scene.frames:
        its = inside.get(frame.id, [])
        plain = frame.id not in around and not frame.bare and all(box.style != "module" for box in its)
        if plain and len(its) > 1 and len({line and (line.file, line.line) for line in map(told.box_line, its)}) == 1:
            yield frame.id


def cut_across(scene: Scene, graph: Graph, limit: int) -> Scene:
    """The scene with the lines of the script that ran one after the other in one box, if it has more than `limit`
    boxes; a note tells what was folded."""
    if len(scene.boxes) <= limit:
        return scene
    told, alone = _Told(scene, graph), _kept(scene, limit)
    part: dict[str, str] = {}
    members: dict[str, Run] = {}
    for run in _parts(scene, told, alone, max(1, min(PARTS, limit - len(alone)))):
        members[run[0].id] = run
        part |= {box.id: run[0].id for box in run}
    boxes = [box for box in scene.boxes if box.id in alone]
    boxes += [told.piece(run) for run in members.values()]
    many = sum(_operations(its) for its in members.values())
    note = f"folded: {many:,} operations in {len(members):,} boxes, by the lines that ran one after the other"
    arrows = _joined(scene, part)
    apart = tuple(replace(box, frame="") for box in boxes)
    styles = {box.style for box in boxes}
    legend = tuple([entry for entry in scene.legend if entry[0] in styles])
    return replace(scene, boxes=apart, arrows=arrows, frames=(), legend=legend, notes=_noted(scene, note, arrows))


def _noted(scene: Scene, note: str, arrows: Sequence[Arrow]) -> tuple[str, ...]:
    tensors = any(arrow.label.startswith("× ") or " × " in arrow.label for arrow in arrows)
    return tuple(dict.fromkeys((*scene.notes, note, *([TENSORS] if tensors else []))))


def _kept(scene: Scene, limit: int) -> set[str]:
    """Boxes that stay, as far as they are few: what was differentiated, of many the last, other results, leaves and
    inputs."""
    alone: set[str] = set()
    for styles in (("root",), RESULTS, ("leaf", "input")):
        ids = [box.id for box in scene.boxes if box.style in styles and not box.small]
        if len(alone.union(ids)) <= KEPT * limit:
            alone.update(ids)
        elif styles == ("root",):
            alone.update(ids[-1:])
    return alone


def _in_turn(scene: Scene) -> list[Box]:
    """The boxes of each band in the order in which they ran: what is between two of them is on no way round them."""
    place = {box.id: number for number, box in enumerate(scene.boxes)}
    edges = [(place[first], place[then]) for first, then in _uses(scene)]
    made = {then for _, then in edges}
    rank = [(box.band, number in made, number) for number, box in enumerate(scene.boxes)]
    return [scene.boxes[number] for number in in_turn(len(rank), edges, rank.__getitem__)]


def _uses(scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield what was made and what used it for each arrow but those into the next turn of a loop; what a result is used
    for comes from its maker."""
    maker = _makers(scene)
    for arrow in scene.arrows:
        if not arrow.back:
            ends = maker.get(arrow.tail, arrow.tail), arrow.head
            yield ends if scene.data else ends[::-1]


def _makers(scene: Scene) -> dict[str, str]:
    results = {box.id for box in scene.boxes if box.style in RESULTS}
    return {arrow.head: arrow.tail for arrow in scene.arrows if arrow.head in results}


def _place(box: Box) -> tuple[int, str, str]:
    return box.band, box.frame, turns_of([box])


def _runs(scene: Scene, line_of: Callable[[Box], Source | None]) -> Iterator[Run]:
    """The operations of one line that ran one after the other in one module and as often, with what they alone made of
    nothing."""
    users: dict[str, set[str]] = {}
    for first, then in _uses(scene):
        users.setdefault(first, set()).add(then)
    made = set[str]().union(*users.values())
    runs: list[Run] = []
    sources: Run = []
    mine: object = None
    for box in _in_turn(scene):
        if box.style == "module":
            mine = None
        elif box.style in OPERATIONS and box.id not in made:
            sources.append(box)
        elif box.style in OPERATIONS:
            line = line_of(box)
            its = None if line is None else (line.file, line.line, line.function, *_place(box))
            if its is None or its != mine:
                runs.append([])
            runs[-1].append(box)
            mine = its
    run_of = {box.id: run for run in runs for box in run}
    place = {box.id: number for number, box in enumerate(scene.boxes)}
    for box in sources:
        its_users = [run_of.get(user) for user in users.get(box.id, ())]
        if its_users and its_users[0] and all(run is its_users[0] for run in its_users):
            near = its_users[0][0]
            if _place(near) == _place(box) and line_of(box) in (None, line_of(near)):
                its_users[0].append(box)
    for run in runs:
        yield sorted(run, key=lambda box: place[box.id])


def _parts(scene: Scene, told: _Told, alone: Collection[str], many: int) -> list[Run]:
    """No more than so many parts of all boxes but those that stay `alone`, each of one band: whole lines, and where
    that is near, whole calls of functions and turns of loops; what was made of nothing goes with its first user."""
    users: dict[str, list[str]] = {}
    for first, then in _uses(scene):
        users.setdefault(first, []).append(then)
    made = set[str]().union(*users.values())
    order = [box for box in _in_turn(scene) if box.id not in alone]
    row, sources = [box for box in order if box.id in made], [box for box in order if box.id not in made]
    size = 1.0
    runs = _cut(row, told, size)
    while len(runs) > many and size < len(row):
        size *= GROWS
        runs = _cut(row, told, size)
    part = {box.id: number for number, run in enumerate(runs) for box in run}
    for box in sources:
        near = [part[user] for user in users.get(box.id, ()) if user in part and runs[part[user]][0].band == box.band]
        if not near:
            part[box.id] = len(runs)
            runs.append([])
        runs[min(near, default=-1)].append(box)
    return runs


def _cut(row: Sequence[Box], told: _Told, size: float) -> list[Run]:
    """A row in parts of about this size; calls of functions and turns of loops stay whole where they are not larger."""
    runs: list[Run] = []
    for call in _calls(row, told):
        near = bool(runs) and runs[-1][-1].band == call[0][0].band and len(runs[-1]) + len(call) <= 2 * size
        if not near or NEAR * len(runs[-1]) >= size:
            runs.append([])
        mine: Source | None = None
        for box, line in call:
            over = len(runs[-1]) >= size and line is not None and line != mine
            if len(call) > 2 * size and runs[-1] and (over or len(runs[-1]) >= 2 * size):
                runs.append([])
            runs[-1].append(box)
            mine = mine if line is None else line
    return runs


def _calls(row: Sequence[Box], told: _Told) -> list[list[tuple[Box, Source | None]]]:
    """The boxes of each call of a function, or turn of a loop, with their lines; a module that is closed goes with the
    line that uses it."""
    own = [told.box_line(box) for box in row]
    lines = [*own]
    for number in range(len(row) - 2, -1, -1):
        if lines[number] is None and row[number].band == row[number + 1].band:
            lines[number] = lines[number + 1]
    calls: list[list[tuple[Box, Source | None]]] = []
    before: Source | None = None
    for box, its, line in zip(row, own, lines, strict=True):
        if not calls or calls[-1][-1][0].band != box.band or _begins(before, line, used=its is None):
            calls.append([])
            before = None
        calls[-1].append((box, line))
        before = its or before
    return calls


def _begins(before: Source | None, line: Source | None, *, used: bool) -> bool:
    """Return whether a line is in another call or turn than the one before it: it stands further up, or is the same
    line, which has `used` a module since."""
    if before is None or line is None:
        return False
    return _function(line) != _function(before) or line.line < before.line or (used and line == before)


def _given_again(scene: Scene, graph: Graph, part: dict[str, str]) -> dict[str, str]:
    """Map each small box of a leaf or an input to the first one of the same tensor at the same line."""
    small = {box.id for box in scene.boxes if box.small and box.style in ("leaf", "input")}
    ends = [(arrow.tail, arrow.head) if arrow.tail in small else (arrow.head, arrow.tail) for arrow in scene.arrows]
    uses = Counter(leaf for leaf, _ in ends)
    first: dict[tuple[str, int], str] = {}
    again = {}
    for leaf, user in ends:
        if leaf in small and uses[leaf] == 1 and user in part:
            shown = shown_by(leaf, graph, scene.data)
            same = first.setdefault((part[user], -1 if shown is None else shown.id), leaf)
            if shown is not None and same != leaf:
                again[leaf] = same
    return again


def _operations(members: Sequence[Box]) -> int:
    return sum(box.many for box in members if box.style == "folded" or box.style in OPERATIONS)


def _function(line: Source) -> str:
    """The function that a line stands in, whether in a comprehension of it or not."""
    return line.function.partition(".<")[0]


def _computed(text: str) -> str:
    """Return the expression that a line computes.

    >>> _computed("return self.head(x)  # logits"), _computed("if (x > 0).any():")
    ('self.head(x)', '(x > 0).any()')
    """
    text = _COMMENT.sub("", text)
    word = _WORD.match(text)
    return text[word.end() :].removesuffix(":") if word else text


class _Told:
    """The words for what is folded."""

    def __init__(self, scene: Scene, graph: Graph) -> None:
        self.data, self.graph = scene.data, graph
        self.lines: dict[str, Source | None] = {}

    def box_line(self, box: Box) -> Source | None:
        """The line of the script that a box is of; of a derivative that of what it differentiates."""
        if box.id not in self.lines:
            node = shown_by(box.id, self.graph, self.data)
            while node is not None and node.order and node.parent is not None:
                node = self.graph[node.parent]
            self.lines[box.id] = None if node is None else node.source
        return self.lines[box.id]

    def _texts(self, members: Run) -> list[str]:
        """Return the text of their lines, each once."""
        told = (self.box_line(box) for box in members)
        lines = dict.fromkeys((its.file, its.line, its.text) for its in told if its and its.text)
        return [_computed(text) for *_, text in lines]

    def statement(self, members: Run) -> Box:
        """One box for what a line computed."""
        first = members[0]
        texts = self._texts(members)
        named = list(dict.fromkeys(box.title for box in members))
        many = _operations(members)
        words = f"{many:,} operations" if self.data and texts else ", ".join(named)
        below = " · ".join(filter(None, (turns_of(members), clipped(words, LONGEST_SUBTITLE))))
        chips = chips_of(members)
        style = Counter(box.style for box in members).most_common(1)[0][0]
        if any(box.style == "operation" for box in members):
            style = "operation"
        amounts = [box.amount for box in members if box.amount is not None]
        return replace(
            first,
            style=style,
            title=abridged(texts[0], LONGEST_TITLE) if texts else clipped(words, LONGEST_TITLE),
            subtitle=f"{below} {chips}".rstrip(),
            lines=(),
            tooltip="\n".join(box.tooltip.partition("\n")[0] for box in members),
            amount=sum(amounts) if amounts else None,
            many=many,
        )

    def piece(self, members: Run) -> Box:
        """One box for lines in a row."""
        first = next((box for box in members if box.style in (*OPERATIONS, "folded", "module")), members[0])
        whole = standing_for(
            replace(members[0], others=members[0].others), [box for box in members if box is not members[0]]
        )
        styles = Counter(box.style for box in members if box.style in (*OPERATIONS, "folded", "module"))
        counts = self._counts(whole, members)
        if not styles:
            return replace(whole, title=" and ".join(counts), subtitle="", lines=(), tooltip="", small=False)
        names = Counter(_CALL.sub("", box.title) for box in members if box.style in styles)
        told = ", ".join(f"{count:,} {name}" for name, count in names.most_common())
        tooltip = "\n".join(filter(None, (f"{counts[0]}: {told}", ", ".join(counts[1:]))))
        style = max(styles, key=lambda style: (style == "module", style != "untracked", styles[style]))
        texts = self._texts(members)
        functions = list(dict.fromkeys(_function(its) for box in members if (its := self.box_line(box)) is not None))
        bare = {name: _CLASS.sub("", name) if len(names) > 1 else name for name in names}
        often = [
            f"{bare[name]} × {count}" if styles["module"] and count > 1 else bare[name]
            for name, count in names.most_common()
        ]
        shown = ", ".join(often[:NAMED]) + ("…" if len(often) > NAMED else "")
        lines: tuple[str, ...] = ()
        if len(texts) == 1 and not styles["module"]:
            shown = texts[0]
        elif texts:
            inside = list(dict.fromkeys(_CALL.sub("", box.title) for box in members if box.style == "module"))
            shown = ", ".join(functions) if all(functions) and len(functions) <= NAMED else shown
            shown = ", ".join(_CLASS.sub("", title) if inside[1:] else title for title in inside) if inside else shown
            more = len(texts) - NAMED if len(texts) > NAMED + 1 else 0  # one more takes no more room than to count it
            lines = tuple([f" {abridged(text, LONGEST_LABEL)}" for text in texts[: -more or None]])
            lines += (f" … {more:,} more lines",) if more else ()
        title = clipped(shown, LONGEST_TITLE)
        words = " and ".join(counts[: len(styles.keys() & {"module"}) + bool(_operations(members))])
        given = list(dict.fromkeys(box.title for box in members if box.style in ("leaf", "input")))
        listed = short(", ".join(given) if len(given) <= NAMED else f"{given[0]} and {len(given) - 1} more")
        words = f"{words} of {listed}" if given else words
        words = " · ".join(filter(None, (turns_of(members), f"{words} {chips_of(members)}".rstrip())))
        return Box(
            members[0].id,
            style,
            title,
            words,
            lines,
            tooltip,
            first.band,
            others=whole.others,
            many=_operations(members),
        )

    def _counts(self, whole: Box, members: Sequence[Box]) -> list[str]:
        """Return how many operations, modules, leaves and inputs, and results a piece has: each tensor counts once."""
        drawn = {box.id: box for box in members if box.style in ("leaf", "input")}
        given = {shown_by(key, self.graph, self.data) for box in drawn.values() for key in (box.id, *box.others)}
        counts = [(_operations(members), "operation"), (sum(box.style == "module" for box in members), "module")]
        counts += [(len(given), "leaves and inputs"), (sum(box.style in RESULTS for box in members), "result")]
        words = [f"{many:,} {word}{'s' * (many > 1 and word[-1] != 's')}" for many, word in counts if many]
        return words or [f"{len(members):,} marks"]


def _joined(scene: Scene, part: dict[str, str]) -> tuple[Arrow, ...]:
    """The arrows between what is left, those between the same boxes as one, with their number."""
    maker = _makers(scene)
    groups: dict[tuple[str, str, bool, bool], list[Arrow]] = {}
    for arrow in scene.arrows:
        # What a result is used for comes from what made it: the piece around would lead to it and back.
        start = maker.get(arrow.tail, arrow.tail)
        tail, head = part.get(start, start), part.get(arrow.head, arrow.head)
        if tail == head:
            continue
        key = tail, head, arrow.back, arrow.keeps
        groups.setdefault(key, []).append(arrow)
    return tuple([merged(tail, head, its) for (tail, head, *_), its in groups.items()])
