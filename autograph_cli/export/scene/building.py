"""A scene made from a view of a graph: a box for each node, an arrow for each edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from autograph_cli.export.ranks import heights, rows_of
from autograph_cli.export.scene.labels import SUM, Labels, short
from autograph_cli.export.scene.records import DETACH, LEGEND, NUMBER, Arrow, Band, Box, Scene, edges_of, order_of
from autograph_cli.export.style import Style
from autograph_cli.graph import Edge, Graph, Node, Root
from autograph_cli.graph.derivatives import derivatives_text, gradient_sums
from autograph_cli.graph.facts import USUAL
from autograph_cli.graph.names import shown_name, visible
from autograph_cli.graph.nesting import Nesting
from autograph_cli.graph.records import UNGRADED
from autograph_cli.graph.saved_memory import kept_tensors, kept_words

LONGEST_MARK = 60
"""Characters of a mark."""
Use = tuple[int, int, int]
"""A node, one that it has an edge to, and the output of that."""
End = tuple[str, str, str]
"""The box of an output, and the label and the tooltip of an arrow that stands for it."""
NUMBERS = frozenset(("values", "gradients"))
"""The facts that may stand at arrows."""
FAR = 6
"""Ranks that the edges of one leaf may be longer than needed, taken together, before it is drawn at each use."""


def build(
    graph: Graph,
    title: str,
    *,
    data: bool,
    shown: Collection[str] = USUAL,
    tags: bool = True,
    marks: Collection[tuple[int, str]] = (),
    brief: bool = False,
    flows: bool = True,
    differentiated: Collection[str] | None = None,
    sums: Mapping[int, str] | None = None,
    written: Collection[int] | None = None,
    apart: bool = False,
) -> Scene:
    """Say what the picture of a view shows, with arrows along `args` (`data`) or along `next`.

    `shown` are the facts that stand on its boxes (`graph.facts.WORDS`); with `tags` a leaf or an input whose users are
    far from each other is drawn small at each of them, else it is one box with all its arrows. `marks` say what is
    wrong at a node; `brief` tooltips say which node a box shows, and no more. If numbers are shown, they stand at the
    arrows that they go along, unless `flows` is false. Roots that were `differentiated` have a look of their own:
    unless told otherwise those at which passes of this graph began; likewise `sums` are the derivatives that add up
    gradients, and of which tensor. With `written`, the nodes that stand for several operations, steps are told as a
    script writes them; `apart` draws what belongs to modules at each use.
    """
    if differentiated is None:
        differentiated = differentiated_in(graph)
    sums = gradient_sums(graph) if sums is None else sums
    return _Builder(graph, data, shown, tags, marks, brief, flows, differentiated, sums, written, apart).scene(title)


def differentiated_in(graph: Graph) -> set[str]:
    """The names of the roots at which backward passes began."""
    began = {(edge.node, edge.nr) for entry in graph.passes for edge in entry.roots}
    return {root.name for root in graph.roots if (root.node, root.nr) in began}


def _is_grad_fn(root: Root, node: Node) -> bool:
    """Return whether a root is called by its grad_fn, which the data do not have: by that of the last operation of what
    the script wrote, too."""
    name = root.name.partition("~")[0]
    return name == node.name or (not node.outputs[root.nr].names and name.rstrip("0123456789").endswith("Backward"))


class _Builder:
    def __init__(
        self,
        graph: Graph,
        data: bool,
        shown: Collection[str],
        tags: bool,
        marks: Collection[tuple[int, str]],
        brief: bool,
        flows: bool,
        differentiated: Collection[str],
        sums: Mapping[int, str],
        written: Collection[int] | None,
        apart: bool,
    ) -> None:
        self.graph, self.data, self.marks = graph, data, marks
        self.rooted: dict[tuple[int, int], list[str]] = {}
        for root in graph.roots:
            node = graph.nodes[root.node]
            if node.computes:
                name = "result" if data and _is_grad_fn(root, node) else shown_name(root.name)
                self.rooted.setdefault((root.node, root.nr), []).append(name)
        self.differentiated = {(root.node, root.nr) for root in graph.roots if root.name in differentiated}
        self.pills = {position: f"r{number}" for number, position in enumerate(self.rooted)}
        self.detached = self._detached() if data else {}
        """The arguments of unnamed `detach` operations, which are drawn as arrows."""
        several, users = self._users()
        flows = flows and not NUMBERS.isdisjoint(shown)
        arrows = Counter([(used, nr) for _, used, nr in self._uses()] if flows else ())
        arrows.update(self.rooted.keys() if flows else ())
        self.labels = Labels(
            graph, data, several.difference(written or ()), shown, brief, arrows, sums, written is not None
        )
        self.keys = [f"n{number}" for number in range(len(graph))]
        """The box of each node."""
        self.band = self._bands()
        marked = {self._source(Edge(node)).node for node, _ in marks}
        self.repeated = self._repeated(users) - marked if tags else set()
        self.untold: set[int] = set()
        """The parameters and buffers that are drawn at each use, as long as none of their facts stand anywhere."""
        if apart:
            self.untold = {used for used, its in users.items() if len(its) > 1 and graph[used].module} - marked
            self.repeated |= self.untold
        self.kept = kept_tensors(graph) if "saved" in shown else []
        self.ends: list[End] = []
        """The end for the first output of each node."""
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []

    def scene(self, title: str) -> Scene:
        rooted = {number for number, _ in self.rooted}
        gone = self.repeated.union(self.detached)
        labels, ends, boxes = self.labels, self.ends, self.boxes
        for number, (node, key, band) in enumerate(zip(self.graph.nodes, self.keys, self.band, strict=True)):
            told, label = labels.told(node, 0) if node.outputs else ("", "")
            if self.data:
                ends.append(self._end(number, 0, label, told))
            else:
                ends.append((key, label, f"gradient of {told}"))
            if number not in gone:
                style, name, subtitle, lines, tooltip = labels.of(node, self.rooted, told)
                boxes.append(Box(key, style, name, subtitle, lines, tooltip, band))
            for nr in range(len(node.outputs)) if number in rooted else ():
                if (number, nr) in self.rooted:
                    self._pill(node, nr)
        tags = {number: self._tag(self.graph.nodes[number]) for number in self.repeated}
        self._edges(tags)
        if "saved" in self.labels.shown:
            self._kept()
        self._marked()
        bands = sorted({box.band for box in self.boxes})
        styles = {box.style for box in self.boxes}
        words = LEGEND | ({} if self.data else {"operation": "grad_fn"})
        return Scene(
            title,
            tuple(self.boxes),
            tuple(self.arrows),
            tuple(Band(number, band_title(number, self.graph)) for number in bands) if len(bands) > 1 else (),
            tuple((style, words[style]) for style in LEGEND if style in styles),
            self._notes(),
            self._links(),
            self.data,
        )

    def _notes(self) -> tuple[str, ...]:
        if not self.arrows:
            return ()
        dtype, device = self.labels.common
        where = "" if device == "cpu" else f" on {visible(device)}"
        ways = {arrow.label for arrow in self.arrows if not arrow.keeps} if "shapes" in self.labels.shown else set()
        notes = [f"[shape], {visible(dtype)}{where}" if any(ways) else ""]
        notes.append(NUMBER if "" in ways else "")
        dashed = [arrow.label.startswith(DETACH) for arrow in self.arrows if arrow.dashed]
        notes.append("" if all(dashed) else "dashed: into another order")
        notes.append(f"dashed, {DETACH}: no gradient goes back" if any(dashed) else "")
        derived = any("∂ " in words for words in {box.subtitle for box in self.boxes})
        notes.append("∂ f: from the backward of f" if derived else "")
        notes.append(f"{SUM}x: the sum of what several send to x" if self.labels.sums else "")
        notes.append("fine dashes: kept for backward" if self.kept else "")
        notes.append("thin: a derivative and what it differentiates" if self._links() else "")
        notes.append(kept_words(self.kept, self.graph) if "saved" in self.labels.shown else "")
        return tuple(note for note in notes if note)

    def _links(self) -> tuple[tuple[str, str], ...]:
        if "links" not in self.labels.shown:
            return ()
        return tuple((f"n{node.id}", f"n{node.parent}") for node in self.graph if node.parent is not None)

    def _uses(self) -> Iterator[Use]:
        """Every edge that is drawn."""
        for node in self.graph.nodes:
            if node.id not in self.detached:
                for given in edges_of(self.graph, node, self.data):
                    if given is not None:
                        edge = self._source(given)
                        yield node.id, edge.node, edge.nr

    def _users(self) -> tuple[set[int], dict[int, list[int]]]:
        """The nodes of which more is used than the first output; and those that use each leaf and input."""
        nodes, detached, data = self.graph.nodes, self.detached, self.data
        several = {number for number, nr in self.rooted if nr}
        users: dict[int, list[int]] = {}
        for node in nodes:
            if node.id in detached:
                continue
            for given in edges_of(self.graph, node, data):
                if given is None:
                    continue
                edge = self._source(given) if detached else given
                if edge.nr:
                    several.add(edge.node)
                used = nodes[edge.node]
                if used.kind != "operation" and not used.computes:
                    users.setdefault(used.id, []).append(node.id)
        return several, users

    def _detached(self) -> dict[int, Edge]:
        named = {root.node for root in self.graph.roots}
        detached = {
            node.id: node.args[0]
            for node in self.graph
            if node.kind == "untracked" and node.op == DETACH and node.args and not node.outputs[0].names
            if node.id not in named
        }
        # A mark on what leaves a module stays outside of it; the other turns of a loop are drawn as that one.
        boxes = {self.graph[node].source for node, _ in self.marks if node in detached and not self._is_near(node)}
        return {node: edge for node, edge in detached.items() if self.graph[node].source not in boxes}

    def _is_near(self, detached: int) -> bool:
        """Return whether a mark on a detached tensor can stand at its source: in the same module, or at a result."""
        node, edge = self.graph[detached], self.graph[detached].args[0]
        return self.graph[edge.node].call == node.call or (edge.node, edge.nr) in self.pills

    def _source(self, edge: Edge) -> Edge:
        """Follow an edge through what was detached."""
        while edge.node in self.detached:
            edge = self.detached[edge.node]
        return edge

    def _bands(self) -> list[int]:
        """The band of each node: twice its order, one more for an order-0 node that was made from derivatives."""
        if not any(node.order for node in self.graph):
            return [0] * len(self.graph)
        edges = [(user, used) for user, used, _ in self._uses()]
        bands = [2 * node.order for node in self.graph]
        height = heights(len(bands), edges)
        for user, used in sorted(edges, key=lambda edge: height[edge[0]]):
            if self.graph.nodes[user].order == 0 and bands[used]:
                bands[user] = max(bands[user], bands[used] | 1)
        lowest: dict[int, int] = {}
        for user, used in sorted(edges, key=lambda edge: -height[edge[0]]):
            if _follows(self.graph.nodes[user]):
                bands[user] = max(bands[user], lowest.get(user, 0))
            lowest[used] = min(lowest.get(used, bands[user]), bands[user])
        for node in self.graph:
            if _follows(node):
                bands[node.id] = max(bands[node.id], lowest.get(node.id, 0))
        return bands

    def _repeated(self, users: Mapping[int, list[int]]) -> set[int]:
        """Leaves and inputs whose edges would be long if they were drawn once: over many ranks, or into other bands."""
        repeated = Nesting(self.graph).scattered((user, used) for used, its in users.items() for user in its)
        several = {used: its for used, its in users.items() if len(its) > 1}
        if not several:
            return repeated
        edges = [(used, user) if self.data else (user, used) for user, used, _ in self._uses()]
        row = rows_of(len(self.graph), edges, self.band, root_below=self.data)
        for used, its in several.items():
            rows = [row[user] for user in its]
            length = sum(rows) - min(rows) * len(rows) if self.data else max(rows) * len(rows) - sum(rows)
            length += 2 * sum(self.band[user] != self.band[used] for user in its)
            if length > FAR:
                repeated.add(used)
        return repeated

    def _pill(self, node: Node, nr: int) -> None:
        key = self.pills[node.id, nr]
        names = ", ".join(self.rooted[node.id, nr])
        tooltip = f"{visible(names)}: {node.outputs[nr].type}"
        style: Style = "root" if (node.id, nr) in self.differentiated else "result"
        self.boxes.append(Box(key, style, short(names), "", (), tooltip, self.band[node.id]))
        tail, head = (f"n{node.id}", key) if self.data else (key, f"n{node.id}")
        self.arrows.append(self._arrow(tail, head, (node.id, nr), self.labels.told(node, nr)[1], False, tooltip))

    def _kept(self) -> None:
        """A box for each storage and version, however many nodes keep it."""
        for number, kept in enumerate(self.kept):
            band = min(self.band[saver] for saver, _ in kept.savers)
            self.boxes.append(Box(f"s{number}", *self.labels.kept(kept), band))
            for saver, name in kept.savers:
                words = f"{self.graph.nodes[saver].name} keeps it as {name}"
                self.arrows.append(Arrow(f"n{saver}", f"s{number}", short(name), tooltip=visible(words), keeps=True))

    def _marked(self) -> None:
        for number, (marked, words) in enumerate(self.marks):
            edge = self._source(Edge(marked))
            band = self.band[edge.node]
            pill = self.pills.get((edge.node, edge.nr)) if edge.node != marked else None
            tail = pill or f"n{edge.node}"
            self.boxes.append(Box(f"w{number}", "mark", short(words, LONGEST_MARK), band=band, small=True))
            self.arrows.append(Arrow(tail, f"w{number}", tooltip=visible(words), keeps=True, wrong=True))

    def _edges(self, tags: dict[int, tuple[Style, str, str]]) -> None:
        """The arrows between each node and what it has edges to."""
        data, flows, detached, bands, ends = self.data, self.labels.flows, self.detached, self.band, self.ends
        for number, node in enumerate(self.graph):
            if number in detached:
                continue
            here, band = self.keys[number], bands[number]
            for position, given in enumerate(edges_of(self.graph, node, data)):
                if given is None:
                    continue
                edge = self._source(given) if detached else given
                used, nr = edge.node, edge.nr
                far, label, tooltip = self._further(used, nr) if nr else ends[used]
                dashed = bands[used] != band and order_of(bands[used]) != order_of(band)
                if used in tags:
                    far = f"t{number}_{position}"
                    kind, title, tip = tags[used]
                    lines = self.labels.lines(self.graph.nodes[used]) if used in self.untold else ()
                    self.untold.discard(used)
                    self.boxes.append(Box(far, kind, title, "", lines, tip, band, True))
                    dashed = False
                if edge is not given:
                    label, dashed = f"{DETACH} {label}".rstrip(), True
                tail, head = (far, here) if data else (here, far)
                if flows:
                    self.arrows.append(self._arrow(tail, head, (used, nr), label, dashed, tooltip))
                else:
                    self.arrows.append(Arrow(tail, head, label, dashed, tooltip, tensors=((used, nr),)))

    def _arrow(self, tail: str, head: str, used: tuple[int, int], label: str, dashed: bool, tooltip: str) -> Arrow:
        """An arrow that stands for this output."""
        if not self.labels.flows:
            return Arrow(tail, head, label, dashed, tooltip, tensors=(used,))
        numbered = label, self.labels.numbers(*used, label)
        return Arrow(tail, head, label, dashed, tooltip, numbered=numbered, tensors=(used,))

    def _tag(self, node: Node) -> tuple[Style, str, str]:
        """Style, title and tooltip of a leaf or an input that is drawn at each use."""
        names = node.outputs[0].names or ((node.op,) if node.op else self.labels.names[node.id])
        return node.kind, short(shown_name(names[0])), self.labels.tooltip(node, self.labels.told(node, 0)[0])

    def _further(self, used: int, nr: int) -> End:
        """The end of an arrow that stands for another output of a node than the first."""
        told, label = self.labels.told(self.graph.nodes[used], nr)
        return self._end(used, nr, label, told)

    def _end(self, used: int, nr: int, label: str, told: str) -> End:
        """The end of an arrow with this label, for an output of which this is told."""
        if self.data:
            return self.pills.get((used, nr)) or self.keys[used], label, told
        return self.keys[used], label, f"gradient of {told}"


def _follows(node: Node) -> bool:
    """Return whether a node stands in the band where it is used: it has no order, or is left out of a higher one."""
    return node.kind in UNGRADED or (node.order > 0 and node.pass_id is None)


def band_title(number: int, graph: Graph | None = None) -> str:
    """The name of a band, and the derivatives of a graph that are in it."""
    if number % 2:
        return "order 0 · made from gradients"
    words = {0: "forward", 1: "backward", 2: "double backward", 3: "triple backward"}
    order = number // 2
    derivatives = derivatives_text(graph, order) if graph is not None and order else ""
    return " · ".join(filter(None, (f"order {order}", words.get(order), derivatives)))
