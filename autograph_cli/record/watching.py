"""Watches a step while it is recorded, and makes of it what is known of steps like it."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterable
from types import FrameType
from typing import Any

from autograph_cli.graph import Memory
from autograph_cli.record import names
from autograph_cli.record.expecting import Place, Seen, call_check, node_check, tensor_places
from autograph_cli.record.known import (
    OLD,
    SLOT,
    Address,
    Begun,
    Collected,
    Ended,
    Event,
    Made,
    Step,
    Template,
    addresses,
    path_to,
)
from autograph_cli.record.modules import CallRow
from autograph_cli.record.rehearsal import Rehearsal
from autograph_cli.record.saved import is_plain
from autograph_cli.record.sites import PASS, RUNNER, USER, kind_of
from autograph_cli.record.tape import Output, PassRow, Row, key_of, number_of
from autograph_cli.torch._core.dispatch import is_wrapped_number
from autograph_cli.torch._core.node import AccumulateGrad, Node
from autograph_cli.torch._core.state import BackwardCall
from autograph_cli.torch._core.tensor import Tensor
from autograph_cli.torch._core.views import CopySlices

_OURS = (os.path.join(os.path.dirname(__file__), ""), "<autograph rehearsal>")


class _NotPlain(Exception):
    """The step has something that a rehearsal could not follow."""


class Watch:
    """Follows the rest of a step, which went as known ones until now."""

    def __init__(self, rehearsal: Rehearsal, calls: list[CallRow], passes: list[PassRow]) -> None:
        self.rehearsal, self.tape = rehearsal, rehearsal.tape
        self.at = rehearsal.at
        self.fine = True
        """Whether the step is of the kind that can be rehearsed."""
        self.events: list[Event] = []
        self.places = {key: place for place, key in enumerate(rehearsal.numbers)}
        self.slots = {given.key: slot for slot, given in enumerate(rehearsal.slots)}
        self.calls: dict[CallRow, int] = {}
        self.calls.update((row, number) for number, row in enumerate(calls))
        self.passes = list(passes)
        self.begun = [event for event in path_to(self.at) if isinstance(event, Begun)]

    # -- events, after the tape has noted them

    def created(self, node: Node, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> None:
        """A node was made."""
        tape = self.tape
        if not self.fine:
            return tape.created(node, inputs, outputs)
        count = tape.count
        passes = len(tape.running.passes)
        seen = Seen(node, inputs, outputs, self._place(passes), passes)
        tape.created(node, inputs, outputs)
        self._note(lambda: self._made(seen, list(tape.since(count))[::-1]))
        return None

    def begins(self, call: BackwardCall, variables: Iterable[tuple[str, Output]], derived: str | None) -> None:
        """A backward call began."""
        if self.fine:
            place = self._place(0)
            place.depth += 1  # one call more lies between
            self._note(lambda: self._begun(call, place, variables, derived))

    def ends(self, entry: PassRow) -> None:
        """A backward call ended."""
        self._note(lambda: self._ended(entry))

    def finished(self, roots: Iterable[tuple[str, Output]], memory: Memory | None) -> None:
        """The step is over: from now on it is known."""
        self._note(lambda: self._known(roots, memory))

    def keys(self) -> list[int]:
        """The nodes of the step, in order."""
        return list(self.places) if self.fine else []

    def _note(self, event: Any) -> None:
        if self.fine:
            try:
                event()
            except _NotPlain:
                self.fine = False

    def _add(self, event: Event) -> None:
        event.count()
        self.events.append(event)
        self.at = event

    # -- nodes

    def _place(self, passes: int) -> Place:
        """What frame of the engine's the line in question called."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith(_OURS):
            frame = frame.f_back
        depth, below = 0, sys._getframe().f_code
        while frame is not None:
            kind = kind_of(frame.f_code.co_filename)
            if kind in (USER, RUNNER):
                return Place(depth, below, frame.f_code) if kind == USER else Place(0, below, None)
            depth, below = depth + 1, frame.f_code
            if kind == PASS and passes:
                return Place(depth, below, None)
            frame = frame.f_back
        return Place(0, below, None)

    def _made(self, seen: Seen, rows: list[tuple[int, Row]]) -> None:
        node = seen.node
        if not rows or rows[-1][0] != node._seq or isinstance(node, CopySlices) or not _keeps_plain_values(node):
            raise _NotPlain
        event = Made(self.at, self.rehearsal.observer.surprised)
        for key, row in rows[:-1]:
            if row.cls is not None:
                self._give(event, key, self._given(event, row))
        news = {key: row for key, row in rows[:-1] if row.cls is None}
        self._inputs(event, seen, news)
        if any(key not in self.slots for key, _ in rows[:-1]):
            raise _NotPlain
        row = rows[-1][1]
        following = tuple([None if output is None else self._address(output) for output in row.next])
        args = tuple([self._address(output) for output in row.args])
        if any(address not in following and address[0] != SLOT for address in args):
            raise _NotPlain
        parent = None if row.parent is None else self._address(row.parent)
        event.template = Template(_bare(row), following, args, parent, self._pass(row), self._call(event, row))
        self.places[node._seq] = len(self.places)
        self._add(event)
        event.created = node_check(self.rehearsal, event, seen)

    def _inputs(self, event: Event, seen: Seen, news: dict[int, Row]) -> None:
        """Find which of the inputs have no gradient, and what they are to the step."""
        for place in tensor_places(seen.node, seen.inputs):
            x: Any = seen.inputs
            for number in place:
                x = x[number]
            if not isinstance(x, Tensor):
                continue
            output = self.tape.output(x)
            if output is None and is_wrapped_number(x):
                seen.wrapped.append(place)
            elif output is None:
                raise _NotPlain
            elif key_of(output) < 0:
                key = key_of(output)
                if key not in self.slots:
                    row = news.get(key)
                    self._give(event, key, None if row is None else self._given(event, row))
                seen.free[place] = self.slots[key]

    def _give(self, event: Event, key: int, template: Template | None) -> None:
        self.slots[key] = len(self.slots)
        event.given.append(template)

    def _given(self, event: Event, row: Row) -> Template:
        if row.made_by is not None or row.next:
            raise _NotPlain
        return Template(_bare(row), module=self._call(event, row))

    def _call(self, event: Event, row: Row) -> int:
        """The number of the call of a module that a row belongs to."""
        new, call = [], row.module
        while call is not None and call not in self.calls:
            new.append(call)
            call = call.parent
        for each in reversed(new):
            event.called.append((each.about, -1 if each.parent is None else self.calls[each.parent]))
            self.calls[each] = len(self.calls)
        return -1 if row.module is None else self.calls[row.module]

    def _pass(self, row: Row) -> int:
        return -1 if row.made_by is None else self.passes.index(row.made_by)

    def _address(self, output: Output) -> Address:
        key, number = key_of(output), number_of(output)
        if key in self.places:
            return 0, self.places[key], number
        if key in self.slots:
            return SLOT, self.slots[key], number
        for back, numbers in enumerate(self.rehearsal.before, 1):
            if key in numbers:
                return back, numbers.index(key), number
        if key < 0 or key not in self.tape.rows:
            raise _NotPlain
        return OLD, key, number

    # -- backward calls

    def _begun(
        self, call: BackwardCall, place: Place, variables: Iterable[tuple[str, Output]], derived: str | None
    ) -> None:
        entry = self.tape.running.passes[-1]
        if len(entry.roots) != len(call.roots):
            raise _NotPlain
        event = Begun(self.at, self.rehearsal.observer.surprised)
        event.kind, event.keeps_graph, event.create_graph = call.kind, call.keeps_graph, call.create_graph
        event.roots = tuple([self._address(output) for output in entry.roots])
        if any(address[0] in (SLOT, OLD) for address in event.roots):
            raise _NotPlain
        event.site, event.order, event.derived, event.outside = entry.site, 1, derived, entry.outside
        event.has_inputs = call.inputs is not None
        event.last = self._address(entry.last_key) if entry.last_key in self.tape.rows else None
        if event.last is not None and event.last[0] != 0 and self.tape.rows[entry.last_key].is_operation:
            raise _NotPlain
        event.outermost = len(self.tape.running.passes) == 1
        event.variables = [(name, self._address(output)) for name, output in variables if key_of(output) in self.places]
        event.names, event.borrowed = self._names(self.tape.names), self._names(self.tape.borrowed)
        event.unsure = [
            (address, name, None) for address, known in event.names for name in known if names.is_counted(name)
        ]
        event.unsure += [(address, name, self._base(address)) for address, known in event.borrowed for name in known]
        event.collected = self._collected() if event.outermost and not call.keeps_graph else None
        self.passes.append(entry)
        self.begun.append(event)
        self._add(event)
        event.begins = call_check(self.rehearsal, event, call, place)

    def _keys(self) -> Iterable[tuple[int, Address]]:
        """The keys and addresses of what was made in this step or is led to of those before it, and of what this step was given anew."""
        yield from ((key, (0, place, 0)) for key, place in self.places.items())
        new = [template is not None for event in path_to(self.at) for template in event.given]
        yield from ((key, (SLOT, slot, 0)) for key, slot in self.slots.items() if slot < len(new) and new[slot])
        before = self.rehearsal.before
        older = {address[:2] for event in path_to(self.at) for address in addresses(event) if address[0] > 0}
        yield from ((before[where - 1][place], (where, place, 0)) for where, place in sorted(older))

    def _names(self, known: dict[tuple[int, int], list[str]]) -> list[tuple[Address, list[str]]]:
        found = []
        for key, (where, place, _) in self._keys():
            row = self.tape.rows.get(key)
            for number in range(
                0 if row is None else len(row.like) if row.cls is not None and row.cls._multiple else 1
            ):
                assert row is not None
                if (row.number, number) in known:
                    found.append(((where, place, number), list(known[row.number, number])))
        return found

    def _base(self, address: Address) -> weakref.ref[Tensor] | None:
        """What an input is a view of."""
        key = next(key for key, slot in self.slots.items() if slot == address[1])
        tensor = self.tape.rows[key].ref()
        return None if tensor is None or tensor._base is None else weakref.ref(tensor._base)

    def _collected(self) -> Collected:
        tape, rows = self.tape, self.tape.rows
        numbers = {rows[key].number: address for key, address in self._keys() if key in rows and address[0] <= 0}
        wanted = {*tape.lies, *tape.parameters}.difference(numbers)
        numbers.update({row.number: self._address(key) for key, row in rows.items() if row.number in wanted})
        if not numbers.keys() >= wanted:
            raise _NotPlain
        return Collected(
            [(numbers[number], kept) for number, kept in tape.saved.items() if number in numbers],
            [(numbers[number], places) for number, places in tape.custom.items() if number in numbers],
            [(numbers[number], storage) for number, storage in tape.lies.items()],
            [numbers[number] for number in tape.parameters],
        )

    def _ended(self, entry: PassRow) -> None:
        if entry.failed:
            raise _NotPlain
        event = Ended(self.at, self.rehearsal.observer.surprised)
        event.number = self.passes.index(entry)
        event.ran = tuple([self._address(key) for key in entry.ran])
        made = [each.template.row.cls for each in path_to(self.at) if isinstance(each, Made)]
        event.sure = not self.begun[event.number].has_inputs and all(
            cls is not None and cls._operation is not None for cls in made
        )
        event.leaves = [None if where != OLD else self._leaf(key) for where, key, _ in event.ran]
        self._add(event)

    def _leaf(self, key: int) -> Any:
        row = self.tape.rows[key]
        if row.cls is not AccumulateGrad:
            raise _NotPlain
        return row.ref

    # -- the step

    def _known(self, roots: Iterable[tuple[str, Output]], memory: Memory | None) -> None:
        if not self.events or not isinstance(self.at, Ended):
            raise _NotPlain
        for event, entry in zip(self.begun, self.passes, strict=True):
            event.order = entry.order
        self.at.step = Step(self.at, [(name, self._address(output)) for name, output in roots], memory)
        self.rehearsal.learn(self.events)


def _bare(row: Row) -> Row:
    """A row without what is told by addresses."""
    return row._replace(next=(), args=(), parent=None, made_by=None, module=None)


def _keeps_plain_values(node: Node) -> bool:
    operation = node._operation
    if operation is None:
        return True
    items = zip(node._item_names, node._saved, strict=True)
    return all(is_plain(value) for name, value in items if not operation.is_tensor(name))
