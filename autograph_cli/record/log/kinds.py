"""The kinds of steps: those that a backward call at one line, from one caller, ends are turns of one loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from autograph_cli.engines.protocol import Output
from autograph_cli.graph import Memory, Source, StepKind
from autograph_cli.graph.trace import is_small
from autograph_cli.record.log.events import StepLog
from autograph_cli.record.log.forecast import Left
from autograph_cli.record.names.source_locations import Site, shown_of

ALL_UNTIL, EACH = 16, 64
"""The first steps of a kind that may each be its last, and the distance between such steps after them, where following
costs something and the loops do not tell. Beyond 1,024 steps the distance grows, to at most a sixteenth of them."""
FREE, SHARE = 0.5, 0.05
"""The seconds, and the share of the run's time, that following may have cost for every step to be followed that may be
the last."""
MOST = 8
"""The most kinds that are told apart; the steps that end elsewhere are of one more."""
_OTHER = ()
Sites = tuple[Site, ...]


@dataclass(slots=True, eq=False)
class Finished:
    """A finished step; what is kept only if it turns out to be the last of its kind waits as such."""

    number: int
    step: StepLog
    roots: list[tuple[str, Output]]
    memory: Memory | None
    kind: Kind | None

    def ran(self) -> int:
        """Return how many nodes its passes ran."""
        return sum(len(entry.ran) for entry in self.step.passes)


@dataclass(slots=True, eq=False)
class Kind:
    """The steps of one kind so far."""

    position: int
    sites: Sites
    first: int
    last: int
    count: int = 0
    gap: int = 1
    """The number of steps from the one before the last to the last."""
    widest: int = 1
    """The same of the last two, of which it is the longer."""
    asks: int = ALL_UNTIL // 2
    """The count at which the loops are next asked how many steps are left."""
    left: Left | None = None
    """The answer of the loops."""
    told: int = 0
    """The count at which the loops gave that answer."""
    heard: tuple[int, Left | None] | None = None
    """The count at which the loops first answered, and the answer."""
    awaited: bool = False
    """True if the next one is the last, by that answer."""
    followed: int = 0
    """The position of the last one that was followed."""
    seen: int = 0
    """The number of those that were followed."""
    call: str = ""
    roots: list[str] = field(default_factory=list)
    nodes: int = 0
    """The number of nodes that ran in the last one that was followed."""
    stepped: bool = False
    """True if an optimizer took a step after one."""
    lines: frozenset[tuple[int, int]] = frozenset()
    """The places where the first one computed something: the ids of code and the offsets in it."""
    opening: Finished | None = None
    """The first one that was followed, as long as no second is."""
    newest: Finished | None = None
    """The last one that was followed."""

    def foresee(self, left: Left | None) -> None:
        """Note how many more turns the loops take."""
        if self.heard is None:
            self.heard = self.count, left
        steps = 0
        if left is not None and left.turns:
            paces = [
                (before.turns - left.turns) / (self.count - count)
                for count, before in (self.heard, (self.told, self.left))
                if before is not None and count < self.count
            ]
            steps = max(int(left.turns / max([1.0, *paces])), 1)
        self.left, self.told, self.awaited = left, self.count, steps == 1
        self.asks = self.count + max(steps // 2, 1) if steps else 2 * self.count
        if self.count < ALL_UNTIL:
            self.asks = min(self.asks, ALL_UNTIL - 1)

    def is_due(self) -> bool:
        """Return whether one is to be followed again."""
        if self.awaited:
            return True
        each = max(EACH, 1 << self.count.bit_length() >> 5)
        return self.count < ALL_UNTIL or self.count // each > self.followed // each

    def may_be(self, number: int) -> bool:
        """Return whether the step of this number is expected to be one: not of a loop that seems to be over."""
        passed = number - self.last
        if self.awaited:
            return passed <= 2 * self.widest
        return passed <= 2 * self.gap and passed % self.gap == 0


class Kinds:
    """The kinds of steps of one run."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[int, ...], Kind] = {}
        self._newest: Kind | None = None
        """The kind of the last step."""
        self._due: list[Kind] = []
        """The kinds of which a step is to be followed again."""
        self._waiting: list[Kind] = []
        """The kinds of the backward calls since an optimizer took a step."""
        self.cost, self._began = 0.0, time.perf_counter()
        """The seconds that it has taken to follow, about, and when the run began."""

    def known(self, sites: Sites) -> Kind | None:
        """The kind of a step that is ended here, if there was one before."""
        return self._kinds.get(_key(sites))

    def ended(self, sites: Sites, number: int, call: str = "") -> Kind:
        """A step was ended here, by a call of this kind where it was followed."""
        kind = self._newest
        if kind is None or kind.sites != sites:
            kind = self._newest = self._of(sites, number)
        gap = number - kind.last
        kind.widest, kind.gap, kind.last = max(gap, kind.gap), gap, number
        if call:
            kind.call, kind.followed, kind.seen = call, kind.count, kind.seen + 1
            if kind in self._due:
                self._due.remove(kind)
        kind.count += 1
        if kind not in self._waiting:
            self._waiting.append(kind)
        if (not kind.count % EACH or kind.count < ALL_UNTIL) and kind not in self._due and kind.is_due():
            self._due.append(kind)
        return kind

    def _of(self, sites: Sites, number: int) -> Kind:
        key = _key(sites)
        if key not in self._kinds and len(self._kinds) >= MOST:
            sites, key = (), _OTHER
        return self._kinds.setdefault(key, Kind(len(self._kinds), sites, number, number - 1))

    def stepped(self) -> None:
        """An optimizer takes a step, for which the backward calls were made that were made since it took one before;
        where there were none, it got its gradients from the last call of `grad`."""
        for kind in [kind for kind in self._waiting if kind.call != "grad"] or self._waiting[-1:]:
            kind.stepped = kind.stepped or kind.call != ""
        self._waiting.clear()

    def foresee(self, kind: Kind, left: Left | None) -> None:
        """Note how many more turns the loops around steps of this kind take."""
        kind.foresee(left)
        if kind.awaited != (kind in self._due) and (kind.awaited or not kind.is_due()):
            (self._due.append if kind.awaited else self._due.remove)(kind)

    def may_be_last(self, number: int) -> bool:
        """Return whether this step is followed for the case that it is the last one of its kind."""
        if number < ALL_UNTIL or (self._due and any(kind.may_be(number) for kind in self._due)):
            return True
        newest = self._newest
        if newest is None or ((left := newest.left) is not None and left.sure and left.turns > 0):
            return False
        if left is not None and not left.turns and newest.told == newest.count:
            return True  # its loops are over: what comes is something else
        return self.cost < FREE or self.cost < SHARE * (time.perf_counter() - self._began)

    def awaits(self, number: int) -> bool:
        """Return whether this step is the last one of its kind by what the loops have told."""
        return any(kind.awaited and kind.may_be(number) for kind in self._due)

    def newest(self) -> list[Finished]:
        """The steps that are kept if no other comes: the last of each kind that came again; of the others only the last
        of all, and if that is small beside another, the last that is not."""
        found = [kind.newest for kind in [*self._kinds.values()] if kind.newest is not None]
        found.sort(key=lambda each: each.number)
        most = max((each.ran() for each in found), default=0)
        large = [each for each in found if not is_small(each.ran(), most)]
        again = [each for each in found if each.kind is not None and each.kind.count > 1]
        wanted = [*again, *found[-1:], *large[-1:]]
        return [each for each in found if each in wanted]

    @property
    def most(self) -> int:
        """The nodes that ran in the last step of the largest kind."""
        return max((kind.nodes for kind in [*self._kinds.values()]), default=0)

    def held(self) -> Iterator[Finished]:
        """The steps that wait for what comes."""
        for kind in [*self._kinds.values()]:
            yield from (each for each in (kind.opening, kind.newest) if each is not None)

    def found(
        self, source: Callable[[Site | None], Source | None], going: Kind | None = None, number: int = 0
    ) -> tuple[StepKind, ...]:
        """Return what is known of each kind; the step that is `going` on is of that one, and has this number."""
        return tuple(
            StepKind(
                kind.call,
                source(shown_of(kind.sites)),
                source(kind.sites[1] if len(kind.sites) == 2 else None),
                tuple(kind.roots),
                kind.first,
                number if kind is going else kind.last,
                kind.count + (kind is going),
                kind.nodes,
                kind.stepped,
            )
            for kind in [*self._kinds.values()]
        )


def _key(sites: Sites) -> tuple[int, ...]:
    """By ids: the hash of code is that of all that is in it."""
    return tuple([part for code, offset in sites for part in (id(code), offset)])
