"""The collectives that a rank began: where, on which tensors, and how far its backward pass was."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from autograph_cli.engines.protocol import CollectiveCall, Output
from autograph_cli.graph import Collective, Source
from autograph_cli.graph.facts import bytes_of
from autograph_cli.graph.records import Exact
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import LEAF, BackwardEvent
from autograph_cli.record.measure.exact import exact
from autograph_cli.record.names.source_locations import Site, site_of

LAST = 256
"""The most collectives that are known of steps that were not kept."""


@dataclass(slots=True)
class _Begun:
    """One of them, and what tells the names of its tensors."""

    told: Collective
    outputs: list[Output] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    """The leaves whose gradients it was given, by key."""
    entry: BackwardEvent | None = None
    parent: int | None = None
    """The node whose backward was running."""


class Collectives:
    """The collectives of a run. `source` tells the line of a site, `step` the number of the step that is going on.
    With `values` the numbers are kept that go into each and that come out of it."""

    def __init__(
        self,
        log: EventLog,
        source: Callable[[Site | None], Source | None],
        step: Callable[[], int],
        *,
        values: bool = False,
    ) -> None:
        self.log, self._source, self._step, self._values = log, source, step, values
        self.watcher: Callable[[Collective], None] | None = None
        """Told of each before it begins."""
        self._begun: list[_Begun] = []
        self._gradients: dict[int, int] = {}
        """The leaf whose gradient is in some memory."""

    @property
    def any(self) -> bool:
        """Return whether there were any."""
        return bool(self._begun)

    def begins(self, call: CollectiveCall) -> Callable[[], None] | None:
        """One is about to run in this thread; what this returns notes its result."""
        log, running = self.log, self.log.step.running
        entry = running[-1] if running else None
        source = self._source(site_of(sys._getframe(1)) if entry is None else entry.site)
        told = Collective(
            call.op, call.sequence, call.group, tuple(call.ranks), call.bytes, self._step(), source, peer=call.peer
        )
        if entry is None:
            outputs = [found for x in call.tensors if (found := log.engine.output(x)) is not None]
            begun = _Begun(told, outputs, [] if outputs else list(self._given(call.tensors)))
        else:
            begun = _Begun(told, entry=entry, parent=log.engine.parent())
        self._begun.append(begun)
        if self.watcher is not None:
            self.watcher(told)
        if not self._values:
            return None
        begun.told = replace(told, given=self._numbers(call.tensors))

        def done() -> None:
            begun.told = replace(begun.told, made=self._numbers(call.changed))

        return done

    def _numbers(self, tensors: Sequence[Any]) -> tuple[Exact | None, ...]:
        return tuple([exact(self.log.engine.array(x)) for x in tensors])

    def _given(self, tensors: Sequence[Any]) -> Iterator[int]:
        """The leaves whose gradients these are."""
        storages = self.log.engine.storages(tensors)
        if not self._gradients.keys() >= set(storages):
            self._gradients = dict(self._in_memory())
        yield from (self._gradients[storage] for storage in storages if storage in self._gradients)

    def _in_memory(self) -> Iterator[tuple[int, int]]:
        engine = self.log.engine
        for held in [*self.log.tensors.values()]:
            leaf = held.ref()
            grad = leaf.grad if leaf is not None and engine.is_leaf(leaf) else None
            if grad is not None:
                yield engine.storages([grad])[0], held.number

    def ended(self, kept: Collection[int]) -> None:
        """A step has ended; of those that are not kept, the last collectives stay."""
        self._gradients = {}
        if len(self._begun) > 2 * LAST:
            steps, first = {*kept, self._step() - 1, self._step()}, len(self._begun) - LAST
            self._begun = [each for n, each in enumerate(self._begun) if n >= first or each.told.step in steps]

    def found(self) -> tuple[Collective, ...]:
        """Return the collectives of the steps that were kept, and the last ones."""
        entries = {each.entry.number: each.entry for each in self._begun if each.entry is not None}
        for entry in entries.values():
            self._claim(entry, [each for each in self._begun if each.entry is entry])
        return tuple(map(self._record, self._begun))

    def _claim(self, entry: BackwardEvent, those: Sequence[_Begun]) -> None:
        """Note which gradients a pass reduced: buckets hold leaves that it had run by then, each leaf in one."""
        known, sizes = self.log.known, {}
        for key in entry.ran:
            event = known.get(key)
            if event is not None and event.kind == LEAF:
                sizes[key] = bytes_of(self.log.engine.types(event.cls, event.like)[0])
        position = {key: number for number, key in enumerate(entry.ran)}
        for each in those:
            ran = position.get(-1 if each.parent is None else each.parent, -1) + 1 or len(entry.ran)
            while (
                ran < len(entry.ran) and entry.ran[ran] in sizes
            ):  # the hooks of a leaf may run within the node before it
                ran += 1
            waiting = [key for key in sizes if position[key] < ran]
            each.leaves = _adding_up(waiting, sizes, each.told.bytes)
            each.told = replace(each.told, during=max([position[key] + 1 for key in each.leaves], default=ran))
            for key in each.leaves:
                del sizes[key]

    def _record(self, each: _Begun) -> Collective:
        tensors = [name for output in each.outputs for name in self.log.names_of(output)[:1]]
        tensors += [f"{name}.grad" for key in each.leaves for name in self.log.names_of(key)[:1]]
        return replace(each.told, tensors=tuple(tensors))


def _adding_up(keys: Sequence[int], sizes: dict[int, int], size: int) -> list[int]:
    """The keys, next to one another, whose sizes add up to one; none where there are no such."""
    for start in range(len(keys)):
        total = 0
        for end in range(start, len(keys)):
            total += sizes[keys[end]]
            if total == size:
                return list(keys[start : end + 1])
            if total > size:
                break
    return []
