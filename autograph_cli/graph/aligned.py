"""Two graphs with the nodes that they have in common, and how far the numbers of these are apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from autograph_cli.graph.compared import constants, labelled
from autograph_cli.graph.matching import match
from autograph_cli.graph.numbers import SAME, Apart, apart, elementwise, epsilon, largest, numbers
from autograph_cli.graph.records import Edge, Exact, Flow, Graph, Node

Level = Literal["same", "rounding", "parted", "unknown"]
SHARP, USUAL, LOOSE, OTHER = 8, 64, 100, 1_000
"""The units of the dtype by which two results may differ: of the same kernel on the same numbers, of two kernels, of
two ways to compute the same, and of these on two engines."""
AMPLIFIED = 100
"""The factor by which an operation may enlarge the relative difference of its arguments."""

COARSE, AMPLIFIED_COARSE = 1e-3, 20
"""Kernels add up numbers of 16 bits in more: they round once, and 100 times what that is would be any number."""
BLURRED = 0.01
"""The part of a number above which a difference may be more than rounding."""


class Compared(Struct, frozen=True):
    """The difference of two tensors, and how to judge it."""

    level: Level
    apart: Apart = SAME
    eps: float = 0.0

    @property
    def relative(self) -> float:
        """Return the difference beside the scale."""
        return self.apart.relative


UNKNOWN = Compared("unknown")


class Aligned:
    """The graphs of one step in two runs, by the nodes that both have."""

    def __init__(
        self, old: Graph, new: Graph, *, same_engine: bool, rtol: float = 0.0, same_words: bool = True
    ) -> None:
        """Match the graphs; `same_words` where both engines tell plain arguments alike."""
        self.old, self.new = old, new
        self.same_engine, self.rtol = same_engine, rtol
        self.loose = LOOSE if same_engine else OTHER
        plain = {id(node): labelled(graph, node) for graph in (old, new) for node in graph} if same_words else {}
        self.pairs = match(old, new, lambda node: (_types(node), plain.get(id(node))))
        self.likes = {other: one for one, other in self.pairs.items()}
        self.results: dict[tuple[int, int], Compared] = {}
        """The comparison of each output of the nodes of `old` that have a like."""
        self.strayed: set[int] = set()
        """The nodes of `old` to which a backward call gave other gradients than to their likes."""
        self.levels: Counter[Level] = Counter()
        self.blurred = 0
        """The tensors that differ, by no more than rounding may have grown to."""
        self.coarsest = _coarsest(old), _coarsest(new)
        """The precision of the coarsest numbers that each node hangs on."""
        self.largest = 0.0
        """The largest relative difference that is rounding."""
        self.carried: dict[str, float] | None = {}
        """The difference of each leaf's gradient in the step before, by name; None if it is not known."""
        self.noisy: Mapping[str, Any] = {}
        """By name, the elements of leaves whose gradients were nothing but rounding in a step before: optimizers that
        divide by the size of a gradient make a whole step of it."""

    @property
    def sides(self) -> tuple[tuple[Graph, dict[int, int]], tuple[Graph, dict[int, int]]]:
        """Return each graph with the likes of its nodes."""
        return (self.old, self.pairs), (self.new, self.likes)

    def note(self, compared: Compared) -> Compared:
        """Count a tensor that was compared."""
        self.levels[compared.level] += 1
        if compared.level == "rounding" and compared.relative <= max(BLURRED, SHARP * compared.eps):
            self.largest = max(self.largest, compared.relative)  # else it is nothing but rounding
        self.blurred += compared.level == "unknown" and compared.relative > 0
        return compared

    def loosely(self, old: Exact | None, new: Exact | None, one: Edge, other: Edge) -> Compared:
        """Compare the numbers of two outputs loosely, as results of two ways to compute the same."""
        eps = max(self.eps(one, other), self.coarsest[0][one.node], self.coarsest[1][other.node])
        return self.judged(old, new, eps, self.loose)

    def judged(
        self, old: Exact | None, new: Exact | None, eps: float, units: float, given: float = 0.0, noise: float = 0.0
    ) -> Compared:
        """Compare two tensors whose numbers may differ by so many `units`, by the effect of the relative difference of
        their arguments (`given`), by `noise`, the rounding of sums that come to nothing, and by `rtol`."""
        if old is None or new is None:
            return UNKNOWN
        found = apart(old, new)
        if found is None:
            return Compared("parted", Apart(False, math.inf), eps)
        if found.same:
            return Compared("same", found, eps)
        factor = AMPLIFIED
        if eps > COARSE:
            units, factor = min(units, SHARP), AMPLIFIED_COARSE
        allowed = (units * eps + factor * given) * found.scale + noise
        if not eps and given > 0:  # an index or a mask flips, where what it is made of is about the same
            return Compared("rounding", found, eps)
        if not (math.isfinite(found.difference) and found.difference <= max(allowed, self.rtol * found.scale)):
            return Compared("parted", found, eps)
        plain = found.difference <= SHARP * eps * found.scale + noise
        return Compared("rounding" if plain or allowed - noise <= BLURRED * found.scale else "unknown", found, eps)

    def steadied(self, name: str, old: Exact | None, new: Exact | None, found: Compared) -> Compared:
        """The comparison of a leaf of this name, not judged where it parts at elements that are `noisy` alone."""
        at = self.noisy.get(name)
        if found.level != "parted" or at is None or old is None or new is None or not (old.data and new.data):
            return found
        left = [np.where(at, 0.0, numbers(each)) if each.count == at.size else None for each in (old, new)]
        if left[0] is None or left[1] is None:
            return found
        rest = elementwise(*left)
        is_rest = rest.difference <= self.loose * found.eps * found.apart.scale
        return Compared("unknown", found.apart, found.eps) if is_rest else found

    def recomputed(self, one: Node, other: Node, which: int, found: Compared) -> Compared:
        """The comparison of results (`which` is 0), or of gradients sent on (1), in the light of float64 where both
        operations were recomputed, each on its own inputs: one that is off is no rounding, however far that has grown,
        and where both are right it is nothing else."""
        off = [_deviation(node, which) for node in (one, other)]
        alike = one.op == other.op and (one.constants, constants(one)) == (other.constants, constants(other))
        if found.level not in ("rounding", "unknown") or not 0 < found.eps <= COARSE or not alike:
            return found
        known = [each for each in off if each is not None]
        right = [each <= USUAL * found.eps for each in known]
        if len(known) < 2 or not any(right):
            return found
        if all(right):
            return Compared("rounding", found.apart, found.eps)
        return Compared("parted", found.apart, found.eps) if max(known) > OTHER * found.eps else found

    def like(self, one: Edge, other: Edge) -> bool:
        """Return whether two outputs are the same one in both graphs."""
        return self.pairs.get(one.node) == other.node and one.nr == other.nr

    def compare(self, one: Edge, other: Edge) -> Compared:
        """Compare two outputs: as was found if they are the same one, else as two ways to compute the same."""
        known = self.results.get((one.node, one.nr)) if self.like(one, other) else None
        if known is not None:
            return known
        return self.loosely(self.number(self.old, one), self.number(self.new, other), one, other)

    def number(self, graph: Graph, edge: Edge) -> Exact | None:
        """The numbers of an output, if they were recorded."""
        measured = graph[edge.node].measured
        found = () if measured is None else measured.exact
        return found[edge.nr] if edge.nr < len(found) else None

    def eps(self, one: Edge, other: Edge) -> float:
        """The precision of two outputs."""
        return epsilon(_dtype(self.old, one), _dtype(self.new, other))

    def equal(self, one: int, other: int) -> bool:
        """Return whether two nodes have a like in each other, with the same results but for rounding."""
        outputs = range(min(len(self.old[one].outputs), len(self.new[other].outputs)))
        levels = [self.compare(Edge(one, nr), Edge(other, nr)).level for nr in outputs]
        return self.pairs.get(one) == other and "parted" not in levels


def noise_of(eps: float, given: Sequence[Exact | None], made: Exact | None, factor: float = 1.0) -> float:
    """Return what the rounding of a sum of such numbers may come to, however small the sum is."""
    known = [each for each in given if each is not None and each.count]
    if not known or made is None or not made.count:
        return 0.0
    terms = max(1.0, max(each.count for each in known) / made.count)
    return 4 * eps * math.sqrt(terms) * max(map(largest, known)) * factor


def handed(given: Compared, taken: Exact | None, made: Exact | None) -> float:
    """Return how far apart numbers may be that were made of these, for how far apart these are: where terms cancel, as
    in a mean, what is left of them is as far apart as they are themselves."""
    size = largest(made) if made is not None else 0.0
    if made is None or taken is None or not size or not math.isfinite(given.relative):
        return given.relative
    gathered = 1.0 if taken.data else math.sqrt(min(taken.count, made.count))  # of a digest, all may be in one place
    return max(given.relative, given.relative * largest(taken) * gathered / size / AMPLIFIED)


def handed_on(given: float, taken: Sequence[Exact | None], made: Exact | None, factor: float) -> float:
    """Return how far apart a sum of such numbers may be for how far apart these are, if it comes to next to nothing."""
    size = largest(made) if made is not None else 0.0
    return noise_of(given, taken, made, factor) / size / AMPLIFIED if size and math.isfinite(given) else 0.0


def _deviation(node: Node, which: int) -> float | None:
    """Return by how much a node is off from float64 on its own inputs, if it was recomputed."""
    found = () if node.measured is None else node.measured.deviation
    return found[which] if which < len(found) else None


def flow_in(node: Node, number: int) -> Flow | None:
    """Return what a backward call gave a node and this one sent on."""
    flows = () if node.measured is None else node.measured.flows
    return next((flow for flow in flows if flow.pass_id == number), None)


def at(items: Sequence[Exact | None], position: int) -> Exact | None:
    """Return the one in this position, if there is one."""
    return items[position] if position < len(items) else None


def _dtype(graph: Graph, edge: Edge) -> str:
    outputs = graph[edge.node].outputs
    return outputs[edge.nr].type.dtype if edge.nr < len(outputs) else ""


def _coarsest(graph: Graph) -> list[float]:
    found: list[float] = []
    for node in graph:
        given = [found[edge.node] for edge in node.args if edge.node < len(found)]
        found.append(max([epsilon(*(output.type.dtype for output in node.outputs)), *given]))
    return found


def _types(node: Node) -> tuple[str, ...]:
    return tuple(str(output.type) for output in node.outputs)
