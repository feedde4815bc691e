"""Makes the rows of steps that were rehearsed: those that recording would have made."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, cast

from autograph_cli.record.build import Span
from autograph_cli.record.known import OLD, SLOT, Address, Begun, Ended, Event, Made, Step, Template
from autograph_cli.record.modules import CallRow
from autograph_cli.record.rehearsal import Given, Rehearsal, Run
from autograph_cli.record.tape import Output, PassRow, Row, Tape
from autograph_cli.torch._core.tensor import Tensor


def write_finished(rehearsal: Rehearsal) -> tuple[Step, Span] | None:
    """Make rows for the finished steps of which anything is left; the last one, and where its rows are."""
    tape, needed = rehearsal.tape, _needed([*rehearsal.lingering, *rehearsal.runs])
    for given in _earlier(rehearsal.met.values(), needed):
        _write_earlier(tape, given)
    span = None
    for run in needed:
        writer = Writer(tape, run)
        writer.write(run.step.events)
        roots = [(name, writer.find(address)) for name, address in run.step.roots]
        span = run.step, Span(writer.first, tape.count, writer.passes, roots)
    return span


def _needed(runs: list[Run]) -> list[Run]:
    """The last run, those whose nodes live on, and those on which such a one hangs."""
    needed: list[Run] = []
    wanted = len(runs) - 1
    for place in range(len(runs) - 1, -1, -1):
        run = runs[place]
        if place >= wanted or run.lives():
            needed.append(run)
            wanted = min(wanted, place - run.step.reach)
    return needed[::-1]


def _earlier(met: Iterable[Given], runs: list[Run]) -> list[Given]:
    """What was given to steps that get no rows, and is still there or wanted."""
    own = {id(given) for run in runs for given in (run.slots[slot] for slot, _ in run.step.new)}
    used = {id(given) for run in runs for given in run.slots}
    every = {id(given): given for given in (*met, *(given for run in runs for given in run.slots))}
    return [
        given
        for name, given in every.items()
        if not given.written and name not in own and (name in used or given.ref() is not None)
    ]


def _write_earlier(tape: Tape, given: Given) -> None:
    """A row for what was new in a step that gets none."""
    assert given.run is not None
    events = given.run.step.events
    _write_given(tape, given, _calls(events, given.run.calls))
    for store, names in _names_of(events):
        for address, known in names:
            if address == (SLOT, given.slot, 0):
                store(tape)[tape.count, 0] = list(known)


def _calls(events: list[Event], numbers: list[int]) -> list[CallRow]:
    """The rows of the calls of modules that were needed in these events."""
    rows: list[CallRow] = []
    for event in events:
        for about, parent in event.called:
            rows.append(CallRow(about, rows[parent] if parent >= 0 else None, numbers[len(rows)]))
    return rows


def _write_given(tape: Tape, given: Given, calls: list[CallRow]) -> None:
    template = given.template
    assert template is not None
    tape.count += 1
    if template.row.cls is None:
        given.key = -tape.count
    else:
        tape.new_leaves = True
    module = calls[template.module] if template.module >= 0 else None
    tape.rows[given.key] = template.row._replace(number=tape.count, ref=given.ref, module=module)
    given.written = True
    tensor = given.ref()
    if tensor is not None:
        tape.held[id(tensor)] = given.ref, given.key


def _names_of(events: list[Event]) -> list[tuple[Any, list[tuple[Address, list[str]]]]]:
    """The names of outputs, and of what inputs are views of, as they were when variables were last looked through."""
    last = next((event for event in reversed(events) if isinstance(event, Begun) and event.outermost), None)
    return [] if last is None else [(lambda tape: tape.names, last.names), (lambda tape: tape.borrowed, last.borrowed)]


class Writer:
    """Makes the rows of one step, finished or not."""

    def __init__(self, tape: Tape, run: Run) -> None:
        self.tape, self.run = tape, run
        self.first = tape.count
        self.place, self.slot = 0, 0
        self.passes: list[PassRow] = []
        self.calls: list[CallRow] = []
        self.variables: list[tuple[str, Output]] = []
        """The variables that were found when they were last looked through, and what was said of a derivative graph."""
        self.derived: str | None = ""

    def find(self, address: Address) -> Output:
        """The output at an address."""
        where, place, number = address
        if where == OLD:
            key = place
        elif where == SLOT:
            key = self.run.slots[place].key
        else:
            key = (self.run.before[where - 1] if where else self.run.numbers)[place]
        return (key, number) if number else key

    def key(self, address: Address) -> int:
        """The key at an address."""
        return self.find((*address[:2], 0))  # type: ignore[return-value]

    def write(self, events: list[Event]) -> None:
        """Make the rows of these events, and note what was noted then."""
        self.calls = _calls(events, self.run.calls)
        views: list[tuple[int, weakref.ref[Tensor] | None]] = []
        for event in events:
            for template in event.given:
                if template is not None:
                    _write_given(self.tape, self.run.slots[self.slot], self.calls)
                    views.append((self.tape.count, self.run.slots[self.slot].base))
                self.slot += 1
            if isinstance(event, Begun) and event.outermost:
                views = []
            if isinstance(event, Made):
                self._made(event.template)
            elif isinstance(event, Begun):
                self._begun(event)
            elif isinstance(event, Ended):
                self.passes[event.number].ran = [self.key(address) for address in event.ran]
        for number, ref in views:
            base = None if ref is None else ref()
            if base is not None and base._edge is None:
                self.tape.views(base, number)
        self._order(events)
        for store, names in _names_of(events):
            for address, known in names:
                row = self.tape.rows.get(self.key(address))
                if row is not None:
                    store(self.tape)[row.number, address[2]] = list(known)

    def _made(self, template: Template) -> None:
        tape = self.tape
        tape.count += 1
        made_by = self.passes[template.made_by] if template.made_by >= 0 else None
        tape.derivatives = tape.derivatives or made_by is not None
        tape.rows[self.run.numbers[self.place]] = template.row._replace(
            number=tape.count,
            ref=self.run.seen[self.place],
            made_by=made_by,
            next=tuple([None if address is None else self.find(address) for address in template.next]),
            args=tuple([self.find(address) for address in template.args]),
            parent=None if template.parent is None else self.key(template.parent),
            module=self.calls[template.module] if template.module >= 0 else None,
        )
        self.place += 1

    def _begun(self, event: Begun) -> None:
        tape, running = self.tape, cast("list[Any]", self.tape.running.passes)
        entry = PassRow(0, event.kind, event.create_graph, 0)
        entry.site, entry.outside, entry.error = event.site, event.outside, id(None)
        if self.run.finished is None:  # until now, the event stood for it
            running[:] = [entry if each is event else each for each in running]
        entry.number = tape.calls
        tape.calls += 1
        entry.last_key = 0 if event.last is None else self.key(event.last)
        entry.roots = tuple([self.find(address) for address in event.roots])
        self.passes.append(entry)
        if event.outermost:
            self.variables = [(name, self.find(address)) for name, address in event.variables]
            self.derived = event.derived
        if event.collected is None:
            return
        saved, custom, lies, parameters = event.collected
        tape.saved.update({self._number(address): kept for address, kept in saved})
        tape.custom.update({self._number(address): places for address, places in custom})
        tape.lies = {self._number(address): storage for address, storage in lies}
        tape.parameters = {self._number(address): self._row(address).ref for address in parameters}

    def _order(self, events: list[Event]) -> None:
        """The orders of the calls that are over."""
        begun = [event for event in events if isinstance(event, Begun)]
        for event in events:
            if isinstance(event, Ended):
                self.passes[event.number].order = begun[event.number].order

    def _row(self, address: Address) -> Row:
        return self.tape.rows[self.key(address)]

    def _number(self, address: Address) -> int:
        return self._row(address).number
