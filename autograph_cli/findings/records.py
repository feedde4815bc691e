"""Findings as frozen records, the rules that make them, and what a rule is given to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

from autograph_cli.graph import Edge, Graph, Node, Source, Step, Trace
from autograph_cli.graph.cuts import behind
from autograph_cli.graph.names import output_names
from autograph_cli.record.names.bindings import Script


class Finding(Struct, frozen=True):
    """One thing that is wrong, or probably not meant."""

    code: str
    said: str
    """The fact, with the names that it is about, in one sentence."""
    source: Source | None
    reason: str
    remedy: str
    facts: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    """The nodes that it is about, in the graph of `step`."""
    step: int | None = None


class Found(Struct, frozen=True):
    """The facts that a rule saw; with the rule's own words they become a finding."""

    said: str
    source: Source | None = None
    facts: tuple[str, ...] = ()
    nodes: tuple[int, ...] = ()
    remedy: str = ""
    """The change to make, if it is not the same for all that the rule finds."""
    reason: str = ""
    """The reason, if it is not the same for all that the rule finds."""
    covers: tuple[str, ...] = ()
    """The parameters whose missing gradients it explains: no other finding tells of them."""
    about: tuple[str, ...] = ()
    """The parameters whose missing gradients it tells of, without a reason that the ledger has."""


@dataclass(frozen=True)
class Seen:
    """One step of a trace, the scripts by the names that its lines have, and the steps beside it."""

    trace: Trace
    step: Step
    scripts: Mapping[str, Script] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        return self.step.graph

    @property
    def is_last(self) -> bool:
        """Return whether it is the one by which the whole run is judged."""
        return self.step is (self.trace.main_step() or self.trace.steps[-1])

    @cached_property
    def of_kind(self) -> Sequence[Step]:
        """The kept steps that the same line ended, as those of a discriminator beside its generator's."""
        kind = self.trace.kind_of(self.step)
        return [step for step in self.trace.steps if kind is None or step.kind == self.step.kind]

    @property
    def is_last_of_kind(self) -> bool:
        """Return whether it is the one by which the steps of its kind are judged, where an optimizer follows them."""
        kind = self.trace.kind_of(self.step)
        trains = kind is not None and kind.stepped and kind.count > 1
        return self.is_last or (trains and self.step is self.of_kind[-1])

    @cached_property
    def names(self) -> Sequence[tuple[str, ...]]:
        return output_names(self.graph)

    @cached_property
    def users(self) -> dict[Edge, list[Node]]:
        """The operations that were given each tensor."""
        found: dict[Edge, list[Node]] = {}
        for node in self.graph:
            for edge in dict.fromkeys(node.args):
                found.setdefault(edge, []).append(node)
        return found

    @cached_property
    def reached(self) -> set[int]:
        """The nodes that some backward call ran."""
        return {number for entry in self.graph.passes for number in entry.ran}

    @cached_property
    def differentiated(self) -> set[int]:
        """These, and what some call of `grad` gave the gradient of."""
        return self.reached | {edge.node for entry in self.graph.passes for edge in entry.inputs}

    def name(self, edge: Edge) -> str:
        """A tensor's name."""
        return self.names[edge.node][edge.nr]

    def shown(self, edge: Edge) -> str:
        """A tensor's name and type."""
        return f"{self.name(edge)}: {self.graph[edge.node].outputs[edge.nr].type}"

    def behind(self, edges: Iterable[Edge], *, untracked: bool = False) -> set[int]:
        """Return what these tensors hang on, as `graph.cuts.behind` does."""
        return behind(self.graph, [(edge.node, edge.nr) for edge in edges], untracked=untracked)

    def outcome(self) -> Iterator[Edge]:
        """The tensors that backward calls started from."""
        yield from dict.fromkeys(edge for entry in self.graph.passes for edge in entry.roots)


class Rule(Struct, frozen=True):
    """One kind of finding: its code, its words, and what looks for it in a step."""

    code: str
    title: str
    reason: str
    remedy: str
    find: Callable[[Seen], Iterable[Found]]
    record: tuple[str, ...] = ()
    """The measurements that it needs beside the graph."""
    ledger: bool = False
    """True if it reads the ledger of training, which traces of earlier versions do not have."""
    on_request: bool = False
    """True if it is looked for only when its code is selected: advice on what is right."""
    aside: bool = False
    """True if its findings are printed below the others, unless a code is selected."""


def line_of(source: Source | None) -> str:
    """A source line as findings name it: `train.py:7`."""
    return f"{source.file}:{source.line}" if source else "a line that is not known"
