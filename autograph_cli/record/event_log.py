"""The event log: what ran, as small tuples of plain data, for as long as a step that is kept may hang on it.

Each thread appends to the log of its own running step. Nothing is worked out while the script runs that can be worked
out from these tuples later: they become records of a graph only when a step is kept (`build.py`).
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

from autograph_cli.engines.protocol import BackwardCall, Engine, Listener, ModuleCall, Output, Saved, key_of, number_of
from autograph_cli.record.events import INPUT, LEAF, OPERATION, UNTRACKED, BackwardEvent, Event, Look, StepLog
from autograph_cli.record.modules import CallEvent, Modules, was_given
from autograph_cli.record.names import variables_of
from autograph_cli.record.source_locations import (
    ENGINE,
    RUNNER,
    USER,
    add_engine,
    file_kinds,
    kind_of,
    script_frames,
)

LIMIT = 10_000
"""So many events may gather before those of dead nodes are swept away."""
BATCH = 500
"""So many events gather before dead ones of finished steps are dropped."""
_MOST_OVER = 4
"""So many steps that others may hang on are dropped at once; what is older waits until there are `BATCH` events."""
CALLS = 1_000
"""So many backward calls may gather in one step before those that made nothing are forgotten, the newest apart."""

Names = dict[int, dict[int, list[str]]]
_event = tuple.__new__


class _Thread(threading.local):
    """The step that is going on in this thread, and the calls of modules, from the outermost on, as far as they are
    known."""

    def __init__(self, steps: weakref.WeakSet[StepLog]) -> None:
        self._steps = steps
        self.calls: list[CallEvent] = []
        self.begin()

    def begin(self) -> None:
        """A new step."""
        self.step = StepLog()
        self._steps.add(self.step)


_logs: weakref.WeakSet[EventLog] = weakref.WeakSet()


def _unlock() -> None:
    """In a child process no other thread lives that could let go of a lock."""
    for log in _logs:
        log.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


class EventLog:
    """Events by key, in order. It holds no tensor and no node."""

    def __init__(self, engine: Callable[[Listener], Engine], failed: Callable[[Exception], None]) -> None:
        self.lock = threading.RLock()
        _logs.add(self)
        self.known: dict[int, Event] = {}
        self.failed = failed
        self.engine = engine(self)
        add_engine(self.engine.folders)
        self._connect = engine
        self.count = 0
        self.calls = 0
        self.tensors: dict[int, tuple[weakref.ref[Any], int, int]] = {}
        """Of leaves and inputs, by id: the tensor and its key."""
        self.leaves: dict[int, int] = {}
        """Of inputs that turned out to be leaves, which have no number before a node is made for them: the leaf's."""
        self.drawn: dict[int, tuple[weakref.ref[Any], str]] = {}
        self.windows: dict[int, tuple[weakref.ref[Any], list[int]]] = {}
        """Of tensors without gradient, by id: the tensor and the numbers of the inputs that are views of it."""
        self.names: Names = {}
        """The variables of each output, by its event's number and its own, the first one first."""
        self.borrowed: Names = {}
        """Those that count where there are no others: of what an input is a view of, and of a leaf when it was first
        used."""
        self.saved: dict[int, tuple[tuple[Saved, ...], Any]] = {}
        """What nodes keep for backward, by the event's key; and of what is no operation of the engine's, what that
        is."""
        self.over: list[tuple[list[Event], int, list[Look]]] = []
        """The last steps that are wanted no more, as long as others may hang on them: events, the oldest that they hang
        on, and what was noted of what nodes keep."""
        self.unsettled: list[list[Look]] = []
        """What was noted of that in steps before those."""
        self.new_leaves = False
        """Whether leaves were met since somebody looked for their names."""
        self.newest_key = 0
        """The highest sequence number that was met."""
        self.derivatives = False
        """Whether a backward call has made nodes."""
        self.measures: Any = None
        """What measures beside the log, if anything does."""
        self.steps: weakref.WeakSet[StepLog] = weakref.WeakSet()
        """Those that are going on, in all threads, and those that are wanted still."""
        self.thread = _Thread(self.steps)
        self.modules = Modules(self.engine.tensor)
        self.limit, self.most_calls = LIMIT, CALLS
        self.settled = 0
        """Events up to this number are left to `sweep`."""

    @property
    def step(self) -> StepLog:
        """The step that is going on in this thread."""
        return self.thread.step

    def copy(self) -> EventLog:
        """A log that goes on from here by itself, in this thread."""
        other = EventLog(self._connect, _raise)
        other.known.update(self.known)
        other.tensors, other.names = dict(self.tensors), _copied(self.names)
        other.windows = {name: (ref, list(views)) for name, (ref, views) in self.windows.items()}
        other.borrowed, other.saved = _copied(self.borrowed), dict(self.saved)
        other.count, other.newest_key, other.limit = self.count, self.newest_key, sys.maxsize
        other.modules = self.modules
        step = other.step
        step.events, step.passes = list(self.step.events), list(self.step.passes)
        step.looked = list(self.step.looked)
        other.over, other.unsettled = list(self.over), list(self.unsettled)
        return other

    # -- what the engine tells

    def operation(
        self,
        number: int,
        ref: weakref.ref[Any],
        cls: type,
        like: Any,
        next: tuple[Output | None, ...],
        args: tuple[Output, ...],
        op: str,
        parent: int | None,
        calls: Sequence[ModuleCall],
        constants: Any,
        plain: Sequence[Any] | None,
    ) -> None:
        """An operation ran."""
        thread = self.thread
        step = thread.step
        running = step.running
        made_by, depth = None, len(calls)
        if running:
            made_by, self.derivatives = running[-1], True
            depth = depth if depth > made_by.outside else 0
        else:
            parent = None
        call = None
        if depth:
            known = thread.calls
            same = len(known) == depth and known[-1].serial == calls[-1][0]
            call = known[-1] if same else self.modules.enter(known, calls)
        code, offset = self.site(made_by)
        self.count = count = self.count + 1
        self.newest_key = number
        event = _event(
            Event,
            (
                count,
                number,
                OPERATION,
                ref,
                cls,
                like,
                next,
                args,
                parent,
                made_by,
                code,
                offset,
                op,
                call,
                "",
                constants,
                plain,
            ),
        )
        self.known[number] = event
        step.events.append(event)
        if len(self.known) > self.limit:
            self.sweep()

    def earlier(
        self,
        number: int,
        ref: weakref.ref[Any],
        cls: type,
        like: Any,
        next: tuple[Output | None, ...],
        args: tuple[Output, ...],
    ) -> None:
        """There is a node of which nothing was told when it was made."""
        self.count += 1
        self._add(Event(self.count, number, OPERATION, ref, cls, like, next, args))

    def leaf(self, number: int, variable: Any, cls: type, like: Any, parent: int | None) -> int:
        """A leaf goes by the number of the first node that added up its gradient."""
        held = self.tensors.get(id(variable))
        if held is not None and held[1] >= 0 and held[0]() is variable and held[1] in self.known:
            return held[1]
        self.count += 1
        self.new_leaves = True
        running = self.step.running
        made_by = running[-1] if running and parent is not None and number > running[-1].newest_key else None
        ref = weakref.ref(variable)
        call, owner = self._belongs(variable)
        parent = None if made_by is None else parent
        self._add(
            Event(self.count, number, LEAF, ref, cls, like, parent=parent, made_by=made_by, call=call, owner=owner)
        )
        self.newest_key = max(number, self.newest_key)
        if held is not None and held[1] < 0 and held[0]() is variable:
            self.leaves[held[1]] = number
        self.tensors[id(variable)] = ref, number, 0
        if not owner:
            self._note_where_met(variable)
        return number

    def _note_where_met(self, leaf: Any) -> None:
        """The variables of the running function that hold a leaf now: they may be bound again."""
        for frame in script_frames(3)[:1]:
            for name, value in list(variables_of(frame).items()):
                if value is leaf and name[0] not in "_.@":
                    _add_name(self.borrowed, self.count, 0, name)

    def input(self, tensor: Any) -> int:
        """A tensor without gradient gets a number of its own."""
        self.count += 1
        key, ref = -self.count, weakref.ref(tensor)
        call, owner = self._belongs(tensor)
        made, op = self.drawn.pop(id(tensor), (None, ""))
        op = op if made is not None and made() is tensor else ""
        self._add(Event(self.count, key, INPUT, ref, None, self.engine.like(tensor), op=op, call=call, owner=owner))
        self.tensors[id(tensor)] = ref, key, 0
        base = self.engine.free_base(tensor)
        if base is not None:
            views = self.windows.setdefault(id(base), (weakref.ref(base), []))[1]
            views.append(self.count)
            del views[:-CALLS]
        return key

    def untracked(
        self,
        name: str,
        op: Any,
        outputs: Sequence[Any],
        args: tuple[Output, ...],
        calls: Sequence[ModuleCall],
        plain: Sequence[Any] | None,
    ) -> None:
        """An operation ran that left no node; its outputs are known by a number until the step is over.

        What it was given of older steps is left out: else this step would hang on all before it.
        """
        step = self.step
        first = step.events[0].number if step.events else self.count + 1
        args = tuple([output for output in args if self.known[key_of(output)].number >= first])
        depth = len(calls)
        call = self.modules.enter(self.thread.calls, calls) if depth else None
        code, offset = self.site(None)
        self.count += 1
        key = -self.count
        refs = [weakref.ref(output) for output in outputs]
        like = [self.engine.like(output) for output in outputs]
        event = Event(
            self.count, key, UNTRACKED, refs[0], op, like, args=args, code=code, offset=offset, op=name, call=call,
            plain=plain,
        )  # fmt: skip
        self._add(event)
        for nr, output in enumerate(outputs):
            self.tensors[id(output)] = refs[nr], key, nr
            step.untracked.append((id(output), key))
        if len(self.known) > self.limit:
            self.sweep()

    def withdrawn(self, number: int) -> None:
        """An operation is part of the one that is told next."""
        event = self.known.pop(number, None)
        events = self.step.events
        position = next((position for position in range(len(events) - 1, -1, -1) if events[position] is event), None)
        if position is not None:
            del events[position]

    def made(self, number: int, node: Any, outputs: Iterable[Any], newest: int) -> None:
        """All of an operation was told."""
        self.measures.created(self, self.known[number], node, outputs, newest)

    def begins(self, call: BackwardCall) -> None:
        """A backward call is about to run."""
        step, engine = self.step, self.engine
        entry = BackwardEvent(self.calls, call.kind, call.create_graph)
        self.calls += 1
        entry.outside = len(engine.calls())
        code, offset = self.site(None)
        entry.site = None if code is None else (code, offset)
        entry.newest, entry.newest_key = self.count, self.newest_key
        entry.roots = tuple([output for output in map(engine.root, call.roots) if output is not None])
        entry.error = id(sys.exc_info()[1])
        if len(step.passes) >= self.most_calls:
            self.forget_calls()
        step.running.append(entry)
        step.passes.append(entry)

    def ends(self, call: BackwardCall) -> None:
        """The innermost call is over."""
        step, known = self.step, self.known
        entry = step.running.pop()
        entry.ran = self.engine.numbers(call.ran)
        if self.derivatives:
            # Calls from within this one may have run what it made, and are above it.
            nested = step.passes[step.passes.index(entry) :] if step.passes[-1] is not entry else [entry]
            for later in nested:
                made_by = {event.made_by for event in map(known.get, later.ran) if event is not None}
                later.order = 1 + max((0 if maker is None else maker.order for maker in made_by), default=0)
        if call.inputs is not None:
            entry.inputs = [self.engine.root(x) for x in call.inputs]
            found = call.found or [None] * len(call.inputs)
            entry.results = [None if x is None else self.engine.output(x) for x in found]
        error = sys.exc_info()[1]
        entry.failed = error is not None and id(error) != entry.error

    def passed(self) -> None:
        """A step has ended of which nothing was told."""

    def _add(self, event: Event) -> None:
        self.known[event.key] = event
        self.step.events.append(event)

    def site(self, running: BackwardEvent | None) -> tuple[CodeType | None, int]:
        """The user's line that is running; inside a backward pass, where that was called."""
        frame: FrameType | None = sys._getframe(3)
        kinds = file_kinds
        while frame is not None:
            code = frame.f_code
            try:
                kind = kinds[code.co_filename]
            except KeyError:
                kind = kind_of(code.co_filename)
            if kind != ENGINE:
                if kind == USER:
                    return code, frame.f_lasti
                if kind == RUNNER:
                    break
                if running is not None and running.site is not None:
                    return running.site
            frame = frame.f_back
        return None, 0

    def _belongs(self, tensor: Any) -> tuple[CallEvent | None, str]:
        """The call that a leaf or an input was made in, the innermost that was not given it; or the module that has
        it."""
        calls = self.engine.calls()
        if calls:
            self.modules.enter(self.thread.calls, calls)  # so that parameters of what was entered just now are known
        owner = self.modules.owner(tensor)
        if owner or not calls:
            return None, owner
        base = self.engine.base(tensor)
        depth = next((n for n in range(len(calls), 0, -1) if not was_given(calls[n - 1], tensor, base)), 0)
        return self.thread.calls[depth - 1] if depth else None, ""

    # -- names

    def note(self, tensor: Any, path: str) -> Output | None:
        """Note a name for the output that a tensor is, and for the inputs that are views of it; returns the output."""
        if self.windows:
            ref, numbers = self.windows.get(id(tensor), _NO_VIEWS)
            if numbers and ref is not None and ref() is tensor:
                for number in numbers:
                    _add_name(self.borrowed, number, 0, path)
                numbers.clear()
        output = self.engine.output(tensor)
        if output.__class__ is int:
            number, nr = self.known[output][0], 0
        elif output is not None:
            number, nr = self.position(output)
        else:
            return None
        if number in self.names:
            _add_name(self.names, number, nr, path)
        else:
            self.names[number] = {nr: [path]}
        return output

    def position(self, output: Output) -> tuple[int, int]:
        """The number of the event that an output is of, and its own."""
        return self.known[key_of(output)].number, number_of(output)

    def names_of(self, output: Output) -> list[str]:
        """The variables that an output has."""
        number, nr = self.position(output)
        return self.names.get(number, {}).get(nr, [])

    # -- what there is

    def since(self, number: int) -> Iterator[Event]:
        """The events after this number, the newest first."""
        for key in reversed(self.known):
            event = self.known[key]
            if event.number <= number:
                return
            yield event

    def closure(self, keys: Iterable[int]) -> set[int]:
        """These events and all that they hang on: by gradient, by data, as derivatives."""
        known = self.known
        stack = [key for key in keys if key in known]
        met = set(stack)
        while stack:
            event = known[stack.pop()]
            for output in (*event.next, *event.args, event.parent):
                if output is None:
                    continue
                key = key_of(output)
                key = self.leaves.get(key, key)
                if key not in met and key in known:
                    met.add(key)
                    stack.append(key)
        return met

    def finish(self) -> StepLog:
        """The step of this thread is over; another one begins."""
        step = self.step
        step.finished = True
        for name, key in step.untracked:  # in the next step they are inputs: what made them is of this one
            held = self.tensors.get(name)
            if held is not None and held[1] == key:
                del self.tensors[name]
        self.thread.begin()
        return step

    def drop(self, step: StepLog, newest: StepLog) -> None:
        """Forget a step that is wanted no more, and those before it, of which nothing lives and on which none hangs."""
        known, saved, names, borrowed = self.known, self.saved, self.names, self.borrowed
        self.over.append((step.events, step.oldest, step.looked))
        oldest, kept = newest.oldest, []
        for over in reversed(self.over):
            events = over[0]
            living = any(event[2] is OPERATION and event[3]() is not None for event in events)
            if living or (events and events[-1][0] >= oldest):
                oldest = min(oldest, over[1])
                kept.append(over)
                continue
            for event in events:
                if event[2] is OPERATION or (event[2] is not LEAF and event[3]() is None):
                    known.pop(event[1], None)
                    names.pop(event[0], None)
                    borrowed.pop(event[0], None)
                    saved.pop(event[1], None)
        self.over = kept[::-1]
        if len(kept) > _MOST_OVER:
            self.unsettled.append(self.over.pop(0)[2])

    def forget(self, newest: StepLog) -> None:
        """Now and then, drop the dead events of finished steps, older than this one, that no other event hangs on.

        This looks at new events only; what outlives it waits for a `sweep`.
        """
        if self.count - self.settled < BATCH:
            return
        last = newest.events[0].number - 1 if newest.events else self.count
        wanted = {event.key for event in self._wanted()}
        used: set[Any] = set()
        dead = []
        for event in self.since(self.settled):
            key = event[1]
            if event[0] > last or key in wanted or key in used or event[3]() is not None:
                # What an event hangs on is older than itself.
                used.update(event.next, event.args)
                used.add(event.parent)
                used.update([output[0] for output in (*event.next, *event.args) if output.__class__ is tuple])
            else:
                dead.append(event)
        self._drop(dead)
        self.settled = last
        if len(self.tensors) > self.limit:
            self.sweep()
        if len(self.drawn) > self.limit:
            self.drawn = {name: held for name, held in self.drawn.items() if held[0]() is not None}

    def _wanted(self) -> Iterator[Event]:
        """The events of steps that are going on or wanted still."""
        for step in list(self.steps):
            yield from step.events

    def _drop(self, dead: Sequence[Event]) -> None:
        if not dead:
            return
        numbers = {event.number for event in dead}
        for event in dead:
            del self.known[event.key]
            self.leaves.pop(event.key, None)
            self.saved.pop(event.key, None)
            for noted in (self.names, self.borrowed):
                noted.pop(event.number, None)
        self.unsettled = [
            looks for looks in self.unsettled if any(key in self.known for looked, _ in looks for key, _, _ in looked)
        ]
        self.windows = {
            name: (ref, [number for number in views if number not in numbers])
            for name, (ref, views) in self.windows.items()
            if ref() is not None
        }

    def sweep(self) -> None:
        """Drop the events of dead nodes, apart from those that living ones, or a step that is wanted still, hang on."""
        steps = list(self.steps)
        starts = [event.key for step in steps if step.finished for event in step.events]
        starts += [event.key for event in self.known.values() if event.is_operation and event.ref() is not None]
        self.tensors = {name: held for name, held in self.tensors.items() if held[0]() is not None}
        leaves = [key for _, key, _ in self.tensors.values() if key >= 0]
        keep = self.closure([*starts, *leaves])
        self._drop([event for key, event in self.known.items() if key not in keep])
        for step in steps:
            step.events = [event for event in step.events if event.key in self.known]
        self.tensors = {name: held for name, held in self.tensors.items() if held[1] in keep}
        self.settled = self.count
        self.limit = max(LIMIT, 2 * len(self.known))
        self.forget_calls()

    def forget_calls(self) -> None:
        """Drop the backward calls of this step that made no node which is still known, the newest ones apart."""
        step = self.step
        makers = {id(event.made_by) for event in self.known.values()}
        older, newer = step.passes[: -CALLS // 10], step.passes[-CALLS // 10 :]
        step.passes = [entry for entry in older if id(entry) in makers or entry in step.running] + newer
        self.most_calls = max(CALLS, 2 * len(step.passes))


_NO_VIEWS: tuple[None, list[int]] = None, []


def _raise(error: Exception) -> None:
    raise error


def _add_name(names: Names, number: int, nr: int, name: str) -> None:
    outputs = names.get(number)
    if outputs is None:
        names[number] = {nr: [name]}
    elif name not in (known := outputs.setdefault(nr, [])):
        known.append(name)


def _copied(names: Names) -> Names:
    return {number: {nr: list(known) for nr, known in outputs.items()} for number, outputs in names.items()}
