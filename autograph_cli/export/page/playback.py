"""The moments that the slider of a page runs through: which boxes light up, one moment after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from autograph_cli.export.page.timeline import Moment, execution_order, moments
from autograph_cli.export.scene.modules import shown_by
from autograph_cli.export.scene.records import Scene
from autograph_cli.graph import Graph
from autograph_cli.graph.names import visible


class Playback:
    """The moments of the whole graph that can be seen in a view of it."""

    def __init__(
        self,
        scene: Scene,
        graph: Graph,
        view: str,
        whole: Graph,
        numbers: Sequence[int],
        parts: Mapping[int, Sequence[int]],
        folded: Mapping[str, Sequence[int]],
    ) -> None:
        """`folded` has the nodes of the view that are in each closed box, which is played as one."""
        self.scene, self.graph, self.view = scene, graph, view
        self.whole, self.numbers, self.parts = whole, numbers, parts
        self.node_of = {box.id: node.id for box in scene.boxes if (node := shown_by(box.id, graph, scene.data))}
        self.boxes: dict[int, list[str]] = {}
        for box, number in self.node_of.items():
            self.boxes.setdefault(number, []).append(box)
        for arrow in scene.arrows:  # a result comes with what made it
            maker, result = (arrow.tail, arrow.head) if scene.data else (arrow.head, arrow.tail)
            if result.startswith("r") and maker in self.node_of:
                self.node_of[result] = self.node_of[maker]
                self.boxes[self.node_of[maker]].append(result)
        self.inside = {-turn: its for turn, its in enumerate(folded.values(), 1)}
        self.ends = self.node_of | {box: -turn for turn, box in enumerate(folded, 1)}
        self.boxes |= {-turn: [box] for turn, box in enumerate(folded, 1)}

    def told(self) -> dict[str, Any]:
        """`steps`, each a phase, a title, whether a pass runs it, and its boxes; when each box is there; what is still.

        A step is numbered from 1; what is there from the start has 0. Gradients flow on all arrows but the still ones.
        """
        titles = {box.id: box.title for box in self.scene.boxes}
        steps, phases, when = [], [], {}
        for moment in self._moments():
            boxes = self.boxes[moment.node]
            phase = self._phase(moment)
            if phase not in phases:
                phases.append(phase)
            steps.append([phases.index(phase), titles[boxes[0]], int(moment.runs), boxes])
            if not moment.runs:
                when.update(dict.fromkeys(boxes, len(steps)))
        of = [self._of(phase) for phase in phases]
        return {"steps": steps, "phases": phases, "of": of, "when": self._filled(when), "still": list(self._still())}

    def _of(self, phase: str) -> str:
        """The name or operation of the single number whose gradients a phase sends; empty if a pass began elsewhere."""
        ended = [entry for entry in self.whole.passes if self._phase(Moment(0, entry.id, True)) == phase]
        roots = ended[0].roots if ended else ()
        if len(roots) != 1:
            return ""
        node = self.whole.nodes[roots[0].node]
        made = node.outputs[roots[0].nr]
        return "" if made.type.shape else visible(next(iter(made.names), node.op))

    def _moments(self) -> Iterator[Moment]:
        """Yield the moments of drawn nodes, by their numbers in the view; of a chain that no pass ran, as one would
        run it.

        What stands for several nodes is there with the last of them, and runs with the first that a pass runs. A closed
        box is there with the first that is made in it.
        """
        closed = {number: box for box, its in self.inside.items() for number in its}
        drawn = {position: closed.get(position, position) for position in range(len(self.numbers))}
        made = {self.numbers[position]: its for position, its in drawn.items() if its in self.boxes}
        parts = {
            number: drawn[its] for its, numbers in self.parts.items() if drawn[its] in self.boxes for number in numbers
        }
        runs = made | parts
        told = (
            Moment(places[moment.node], moment.pass_id, moment.runs)
            for moment in moments(self.whole)
            if moment.node in (places := runs if moment.runs else made)
        )
        seen = list(dict.fromkeys(told))
        yield from seen
        if self.view == "backward" and not any(moment.runs for moment in seen):
            order = (drawn[number] for number in execution_order(self.graph))
            yield from (Moment(number, None, True) for number in dict.fromkeys(order) if number in self.boxes)

    def _phase(self, moment: Moment) -> str:
        if moment.pass_id is None:
            return "a backward would run" if moment.runs else "forward"
        entry = self.whole.passes[moment.pass_id]
        several = f" {moment.pass_id + 1}" if len(self.whole.passes) > 1 else ""
        return f"{entry.call}{several}" if moment.runs else f"{entry.call}{several} makes"

    def _filled(self, when: dict[str, int]) -> dict[str, int]:
        """Return the moment of every box: a leaf, an input or a kept tensor comes with the first that it belongs to."""
        first = dict(when)
        for arrow in self.scene.arrows:
            for box, other in ((arrow.tail, arrow.head), (arrow.head, arrow.tail)):
                if box not in when and other in when:
                    first[box] = min(first.get(box, when[other]), when[other])
        return {box.id: first.get(box.id, 0) for box in self.scene.boxes}

    def _still(self) -> Iterator[int]:
        """The arrows that no gradient flows along."""
        for number, arrow in enumerate(self.scene.arrows):
            if arrow.keeps or (self.scene.data and not self._flows(arrow.tail, arrow.head)):
                yield number

    def _flows(self, tail: str, head: str) -> bool:
        maker, user = self.ends.get(tail), self.ends.get(head)
        if maker is None or user is None or maker == user:
            return True
        made = set(self._parts(maker))
        edges = (edge for number in self._parts(user) for edge in self.whole.nodes[number].next)
        return any(edge is not None and edge.node in made for edge in edges)

    def _parts(self, node: int) -> Sequence[int]:
        return [
            number for its in self.inside.get(node, (node,)) for number in self.parts.get(its) or (self.numbers[its],)
        ]
