"""The event log: what ran, as small tuples of plain data, for as long as a step that is kept may hang on it.

Each thread appends to the log of its own running step. Nothing is worked out while the script runs that can be worked
out from these tuples later: they become records of a graph only when a step is kept (`build.py`).
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from autograph_cli.engines.held import ById, Drawn, Held
from autograph_cli.engines.protocol import BackwardCall, CollectiveCall, Engine, Listener, ModuleCall, Output
from autograph_cli.graph import Saved
from autograph_cli.record.log import changes, forgetting, gradients
from autograph_cli.record.log.changes import Alias, free_base, output_of
from autograph_cli.record.log.data import Data, Facts
from autograph_cli.record.log.events import (
    INPUT,
    LEAF,
    OPERATION,
    UNTRACKED,
    BackwardEvent,
    Earlier,
    Event,
    Look,
    StepLog,
    Storages,
)
from autograph_cli.record.log.origins import followed, origin_of
from autograph_cli.record.log.threads import Living, Thread
from autograph_cli.record.names.modules import CallEvent, Modules, was_given
from autograph_cli.record.names.output_names import OutputNames
from autograph_cli.record.names.source_locations import Site, add_engine, callers_of, script_frames, shown_of, site_of
from autograph_cli.record.names.variables import is_hidden, variables_of, with_items

_getframe = sys._getframe


_logs: Living[EventLog] = Living()


def _unlock() -> None:
    """In a child process no other thread lives that could let go of a lock."""
    for log in _logs:
        log.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


class EventLog:
    """Events by key, in order. It holds no tensor and no node."""

    data: Data | None = None
    """The facts on the data of leaves and inputs, if they are asked for."""

    def __init__(self, engine: Callable[[Listener], Engine], failed: Callable[[Exception], None]) -> None:
        self.lock = threading.RLock()
        _logs.add(self)
        self.known: dict[int, Event] = {}
        self.failed = failed
        self.engine = engine(self)
        add_engine(self.engine.folders)
        self._connect = engine
        self.count = self.calls = 0
        self.tensors: ById[Held] = ById()
        """Leaves and inputs, by id."""
        self.leaves: dict[int, int] = {}
        """The number of each leaf that was met as an input, before a node was made for it, by the input's number."""
        self.shared: ById[Alias] = ById()
        """Tensors over the memory of another one, by id, with what their changes are told of."""
        self.aliases: ById[Alias] = ById()
        """The same of tensors over the memory of one with a gradient that is in this step."""
        self.drawn: ById[Drawn] = ById()
        self.gradients: ById[gradients.Given] = ById()
        """The results of `grad` calls without a graph, by id."""
        self.names, self.borrowed = OutputNames(), OutputNames()
        """The variables of each output; and those of a leaf when it was first used, which count if it has none."""
        self.saved: dict[int, tuple[tuple[Saved, ...], Any, Storages]] = {}
        """The tensors that nodes keep for backward, by the event's key; the object, where it is no engine's operation;
        and the memory of the step that noted them."""
        self.over: list[StepLog] = []
        """The last steps that are wanted no more, and on which others may hang."""
        self.spent, self.unseen = dict[int, int](), set[int]()
        """The nodes that were freed, as far as it was noted, and the number of the backward call that did; and those
        that were left out of their step before what they keep was noted."""
        self.looks: list[list[Look]] = []
        """The tensors kept by nodes in steps before those, as far as they may still be asked for."""
        self.living = False
        """True if nodes of earlier times are known as they are, as nothing runs until their graph is made."""
        self.changed = False
        """True if a step that is going on has changed a tensor with a gradient outside of autograd."""
        self.freed: deque[list[int]] = deque(maxlen=2)
        """The nodes that the passes ran which ended the last steps."""
        self.new_leaves = False
        """True if leaves were met since their names were last looked for."""
        self.newest_key = 0
        """The highest sequence number that was met."""
        self.derivatives = False
        """True if a backward call has made nodes."""
        self.measures: Any = None
        """The `Measures` that follow the engine beside the log, if any."""
        self.arrays: dict[int, Any] | None = None
        """The numbers of leaves and inputs as they were met, by the event's number, if they are asked for."""
        self.steps = Living[StepLog]()
        """The steps that are going on, in all threads, and those that are still wanted."""
        self.thread = Thread(self.steps)
        self.modules = Modules(self.engine.tensor)
        self.limits = forgetting.Limits()

    @property
    def step(self) -> StepLog:
        """The step that is going on in this thread."""
        return self.thread.step

    def here(self) -> tuple[StepLog, list[CallEvent]]:
        return self.thread.step, self.thread.calls

    def join(self, notes: tuple[StepLog, list[CallEvent]]) -> None:
        self.thread.step, self.thread.calls = notes

    def copy(self) -> EventLog:
        """A log that goes on from here by itself, in this thread."""
        other = EventLog(self._connect, _raise)
        other.known.update(self.known)
        other.leaves.update(self.leaves)
        other.tensors, other.names = ById(self.tensors), self.names.copied()
        other.borrowed, other.saved = self.borrowed.copied(), dict(self.saved)
        other.spent = dict(self.spent)
        other.count, other.calls, other.newest_key = self.count, self.calls, self.newest_key
        other.limits.events, other.modules = sys.maxsize, self.modules
        step = other.step
        step.events, step.passes = list(self.step.events), list(self.step.passes)
        step.looked, step.changed = list(self.step.looked), dict(self.step.changed)
        other.looks = [list(looks) for looks in (*self.looks, *[over.looked for over in self.over])]
        return other

    def clear(self) -> None:
        """Let go of all that was noted: the engine that tells of it, and is told of it, would keep it."""
        for noted in (self.known, self.tensors, self.leaves, self.names, self.borrowed, self.saved, self.looks):
            noted.clear()
        self.thread.begin()

    # -- what the engine tells

    def operation(
        self,
        number: int,
        ref: Callable[[], Any],
        cls: type,
        like: Any,
        next: tuple[Output | None, ...],
        args: tuple[Output, ...],
        op: str,
        calls: Sequence[ModuleCall],
        constants: Any,
        plain: Sequence[Any] | None,
    ) -> None:
        """An operation ran."""
        thread = self.thread
        step = thread.step
        made_by = parent = call = within = None
        again = False
        if step.running:
            within = step.running[-1]
            calls = calls if len(calls) > within.outside else ()
            again = self.engine.recomputing()
            if not again:
                made_by, parent, self.derivatives = within, self.engine.parent(), True
        if calls:
            known = thread.calls
            same = len(known) == len(calls) and known[-1].serial == calls[-1].number
            call = known[-1] if same else self.modules.enter(known, calls)
        if self.changed:
            args = tuple([changes.last(self, output) for output in args])
        site = site_of(_getframe(1), None if within is None else within.site)
        self.count = count = self.count + 1
        self.newest_key = number
        event = (Earlier if again else Event)(
            count, number, OPERATION, ref, cls, like, next, args, parent=parent, made_by=made_by, site=site, op=op,
            call=call, constants=constants, plain=plain,
        )  # fmt: skip
        self.known[number] = event
        step.events.append(event)
        if len(self.known) > self.limits.events:
            forgetting.sweep(self)

    def earlier(
        self,
        number: int,
        ref: Callable[[], Any],
        cls: type,
        like: Any,
        next: tuple[Output | None, ...],
        args: tuple[Output, ...],
    ) -> None:
        """Note a node that was made before the engine was listened to."""
        self.count = count = self.count + 1
        event = self.known[number] = Earlier(count, number, OPERATION, ref, cls, like, next, args)
        self.thread.step.events.append(event)

    def leaf(self, number: int, variable: Any, cls: type, like: Any) -> int:
        """A leaf goes by the number of the first node that added up its gradient."""
        held = self.tensors.of(variable)
        if held is not None and held.number >= 0:
            known = self.known.get(held.number)
            if known is not None and known.kind == LEAF:
                return held.number
        self.count += 1
        self.new_leaves = True
        running = self.step.running
        new = running and number > running[-1].newest_key and not self.engine.recomputing()
        parent = self.engine.parent() if new else None
        made_by = None if parent is None else running[-1]
        ref = weakref.ref(variable)
        call, owner = self._belongs(variable)
        drawn = self._origin(variable)
        at = () if drawn is None else drawn.sites
        event = Event(
            self.count, number, LEAF, ref, cls, like, parent=parent, made_by=made_by, made_at=at, call=call, owner=owner
        )
        self.add(event, drawn)
        self.newest_key = max(number, self.newest_key)
        if held is not None and held.number < 0:
            self.leaves[held.number] = number
            if held.number in self.step.changed:
                self.step.changed[number] = self.step.changed.pop(held.number)
        self.tensors[id(variable)] = Held(ref, number)
        if owner:
            self.borrowed.add(number, self.modules.name(variable))  # for when no variable leads to its module any more
        else:
            self._note_where_met(variable, number)
        return number

    def _note_where_met(self, leaf: Any, key: int) -> None:
        """The variables that hold a leaf now, of the innermost function that has any: they may be bound again."""
        for frame in script_frames(3):
            for name, value in list(variables_of(frame).items()):
                if self.engine.inner(value) is leaf and not is_hidden(name):
                    self.borrowed.add(key, name)
            if key in self.borrowed:
                break

    def _note_as_given(self, tensor: Any, key: int) -> None:
        """The variables, and lists in them, that held an input as the step began, from the outermost function on."""
        step = self.step
        if step.called is None:
            kind, spaces = self.engine.tensor, map(variables_of, reversed(script_frames(3)))
            named = [each for space in spaces for each in with_items(space)]
            step.called = [(name, weakref.ref(value)) for name, value in named if issubclass(type(value), kind)]
        for name, ref in step.called:
            if ref() is tensor:
                self.borrowed.add(key, name)

    def input(self, tensor: Any) -> int:
        """A tensor that no gradient goes to, as far as is known, gets a number of its own."""
        engine = self.engine
        found = gradients.used(self, tensor) if self.gradients else None
        if found is not None:
            return found
        base = free_base(self, tensor)
        output = None if base is None else engine.output(base)
        if base is not None and output is None:
            output = self.input(base)  # so that its variables are noted
        self.count += 1
        key, ref, kind = -self.count, weakref.ref(tensor), LEAF if engine.is_leaf(tensor) else INPUT
        call, owner = self._belongs(tensor)
        drawn = self.drawn.of(tensor)
        if kind == INPUT:  # a parameter is met once more, where a gradient goes to it
            self.drawn.pop(id(tensor), None)
        op, at = ("", ()) if drawn is None else (drawn.op, drawn.sites)
        like = engine.like(tensor)
        event = Event(self.count, key, kind, ref, None, like, op=op, made_at=at, call=call, owner=owner, base=output)
        self.add(event, drawn)
        self.tensors[id(tensor)] = Held(ref, key)
        if owner:
            self.borrowed.add(key, self.modules.name(tensor))
        elif drawn is None:
            self._note_as_given(tensor, key)
        return key

    def drew(self, tensor: Any, op: str, by: Facts | None = None, before: tuple[Site, ...] = ()) -> None:
        """A tensor was made from nothing; it is an input if something uses it."""
        self.drawn[id(tensor)] = Drawn(weakref.ref(tensor), op, (*before, site_of(_getframe(2))), by)

    @property
    def noting(self) -> bool:
        return self.data is not None and self.data.on

    @property
    def updates(self) -> bool:
        return self.thread.updates

    def owner(self, tensor: Any) -> Any:
        """Return the parameter whose memory this is, as after `weight.data`; else the tensor."""
        if self.data is None or not self.data.on or tensor.requires_grad or not self.data.parameters:
            return tensor
        memory = self.engine.storages([tensor])
        ref = self.data.parameters.get(memory[0]) if memory else None
        found = None if ref is None else ref()
        return found if found is not None and self.engine.storages([found]) == memory else tensor

    def filled(
        self, tensor: Any, name: str, given: Sequence[tuple[str, str]], *, part: Any, random: bool, source: Any = None
    ) -> None:
        """A parameter, or a `part` of it, was changed before anything was computed with it: random numbers were drawn
        into it, it became a copy of a `source`, or what it was drawn by was changed by what came then."""
        drawn, whole = self.drawn.of(tensor), self.engine.like(part) == self.engine.like(tensor)
        by = None if drawn is None else drawn.by
        if source is not None and whole:
            self.becomes(tensor, source)
        elif drawn is not None and by is not None and not (random and whole):
            self.drew(tensor, drawn.op, followed(by, name, given), drawn.sites)
        elif random:
            self.drew(tensor, name, tuple(given), drawn.sites if drawn is not None and not whole else ())
        elif drawn is not None:
            self.drawn[id(tensor)] = replace(drawn, sites=(*drawn.sites, site_of(_getframe(2))))

    def becomes(self, made: Any, tensor: Any) -> None:
        """A parameter, or the data of one, was made of a tensor, with its numbers."""
        if self.data is None or not self.data.on or self.owner(tensor) is made:
            return
        origin = self._origin(tensor)
        self.drawn.pop(id(made), None)
        if origin is not None:
            sites = (*origin.sites, site_of(_getframe(2)))
            self.drawn[id(made)] = replace(origin, ref=weakref.ref(made), sites=sites)
        if made.requires_grad and (memory := self.engine.storages([made])):
            self.data.parameters[memory[0]] = weakref.ref(made)

    def _origin(self, tensor: Any) -> Drawn | None:
        """Return the origin of a tensor's numbers, if they were drawn, or computed in this step from such numbers."""
        drawn = self.drawn.of(tensor)
        held = self.tensors.of(tensor)
        if drawn is not None or held is None or not self.noting:
            return drawn
        return origin_of(self, held.number, weakref.ref(tensor))

    def untracked(
        self,
        name: str,
        op: Any,
        outputs: Sequence[Any],
        args: tuple[Output, ...],
        plain: Sequence[Any] | None,
        cut: Collection[Output],
    ) -> None:
        """An operation ran that left no node; its outputs are known by a number until the step is over.

        What older steps computed is left out: else this step would hang on all before it.
        """
        engine, thread = self.engine, self.thread
        step = thread.step
        if self.shared:
            outputs = [output if (whole := changes.whole_of(self, output)) is None else whole for output in outputs]
        given, args = args, gradients.of_this_step(self, args)
        first = outputs[0]
        base = given[0] if given and not args and free_base(self, first) is not None else None
        calls = engine.calls()
        call = self.modules.enter(thread.calls, calls) if calls else None
        site = site_of(_getframe(2))
        self.count = count = self.count + 1
        like = [engine.like(output) for output in outputs]
        event = Event(
            count, -count, UNTRACKED, weakref.ref(first), op, like, args=args, site=site, op=name, call=call,
            plain=plain, base=base, cut=cut,
        )  # fmt: skip
        self.known[-count] = event
        step.events.append(event)
        if self.measures is not None:
            self.measures.untracked(event, op, outputs)
        whole = engine.base(first)
        if whole is not None and engine.is_tracked(whole):
            step.reads_nothing(event)
        in_place = name.endswith("_")
        for nr, output in enumerate(outputs):
            if in_place and engine.is_tracked(output):
                changes.mark_changed(self, output, output_of(-count, nr))
            else:
                self._hold(step, output, -count, nr)
                if in_place:
                    changes.changed_through(self, output, output_of(-count, nr))
        if len(self.known) > self.limits.events:
            forgetting.sweep(self)

    def _hold(self, step: StepLog, tensor: Any, key: int, nr: int) -> None:
        """Know a tensor by an output of this key, until the step is over."""
        before = self.tensors.of(tensor)
        if before is not None:  # it was changed in place
            step.changed[output_of(before.number, before.nr)] = output_of(key, nr)
        self.tensors[id(tensor)] = Held(weakref.ref(tensor), key, nr)
        step.untracked.append((id(tensor), key))

    def also(self, tensor: Any, number: int, nr: int) -> None:
        """A tensor that no gradient goes to is an output of an operation that has others: indices, a mask."""
        self.tensors[id(tensor)] = Held(weakref.ref(tensor), number, nr)
        self.step.untracked.append((id(tensor), number))
        self.step.bare.add(output_of(number, nr))

    def withdrawn(self, number: int) -> tuple[Any, tuple[Output, ...]]:
        """An operation is part of the one that is told next; the answer is what was told of its arguments."""
        event = self.known.pop(number, None)
        events = self.step.events
        position = next((position for position in range(len(events) - 1, -1, -1) if events[position] is event), None)
        if position is not None:
            del events[position]
        return (None, ()) if event is None else (event.plain, event.args)

    def absorbed(self, outputs: Iterable[Output]) -> None:
        """Forget changes of these outside of autograd: the operation that is told next includes them."""
        for output in outputs:
            self.step.changed.pop(output, None)

    def made(self, number: int, node: Any, outputs: Iterable[Any], newest: int) -> None:
        """All of an operation was told."""
        self.measures.created(self, self.known[number], node, outputs, newest)

    def begins(self, call: BackwardCall) -> None:
        """A backward call is about to run."""
        step, engine = self.step, self.engine
        self.thread.updates = False  # of a closure, or after a step that raised
        entry = BackwardEvent(self.calls, call.kind, call.create_graph)
        self.calls += 1
        entry.outside = len(engine.calls())
        entry.site = shown_of(callers_of(_getframe(2)))
        entry.newest, entry.newest_key = self.count, self.newest_key
        entry.roots = tuple([output for output in map(engine.root, call.roots) if output is not None])
        entry.error = id(sys.exc_info()[1])
        if len(step.passes) >= self.limits.calls:
            forgetting.forget_calls(self)
        step.running.append(entry)
        step.passes.append(entry)

    def was_freed(self, number: int) -> bool:
        """Return whether the pass that ended one of the last steps ran this node."""
        return any(number in ran for ran in self.freed)

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
            gradients.note(self, call, entry)
        error = sys.exc_info()[1]
        entry.failed = error is not None and id(error) != entry.error

    def collective(self, call: CollectiveCall) -> Callable[[], None] | None:
        """The ranks of a group are about to exchange tensors; what this returns is called once the result is there."""
        return None

    def passed(self, kept: bool) -> None:
        """A backward pass has ended of which nothing was told."""

    def add(self, event: Event, drawn: Drawn | None = None) -> None:
        self.known[event.key] = event
        self.step.events.append(event)
        if self.data is not None and event.kind in (LEAF, INPUT):
            self.data.note(event, drawn, self.engine.array, computed=bool(self.step.running))
        if self.arrays is not None and event.kind in (LEAF, INPUT):
            self.arrays[event.number] = self.engine.array(event.ref()).copy()

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

    def held(self, tensor: Any) -> Output | None:
        """Return what a leaf or a tensor that no gradient goes to is known as now, if it was told of."""
        found = self.tensors.of(tensor)
        return None if found is None else self.known_as(tensor, found)

    def known_as(self, tensor: Any, found: Held) -> Output:
        """Return what a tensor is known as now that was told of as `found`."""
        output = output_of(found.number, found.nr)
        return output if found.number >= 0 or not self.thread.step.changed else changes.latest(self, tensor, output)

    def minds(self, tensor: Any) -> bool:
        """Return whether a change of a tensor with a gradient, outside of autograd, is told: not of a leaf that the
        step has not used yet, for which it is where it starts from."""
        if not self.engine.is_leaf(tensor):
            return True
        held = self.held(tensor)
        return held is not None and self.step.uses(held)

    now, shares = changes.current, changes.shares

    # -- names

    def note(self, tensor: Any, path: str) -> Output | None:
        """Note a name for the output that a tensor is; returns the output."""
        output = self.engine.output(tensor)
        if output is not None:
            self.names.add(output, path)
        return output

    def is_named_leaf(self, tensor: Any, path: str) -> bool:
        """Return whether a tensor is a leaf of which this name was noted."""
        held = self.tensors.of(tensor)
        event = None if held is None or held.number in self.thread.step.changed else self.known.get(held.number)
        known = event is not None and event.kind is LEAF and path in self.names.of(event.key)
        return known and self.engine.is_leaf(tensor)

    def names_of(self, output: Output, borrowed: bool = False) -> list[str]:
        """The variables that an output has, or those that count where it has none."""
        return (self.borrowed if borrowed else self.names).of(output)

    # -- what there is

    def since(self, number: int) -> Iterator[Event]:
        """The events after this number, the newest first."""
        for key in reversed(self.known):
            event = self.known[key]
            if event.number <= number:
                return
            yield event

    def adopt(self) -> None:
        """This thread takes over the step that has come furthest, of whichever thread it is."""
        self.thread.step = max((step for step in self.steps if not step.finished), key=lambda step: len(step.events))

    def finish(self) -> StepLog:
        """The step of this thread is over; another one begins."""
        step = self.step
        step.finished = True
        self.changed = False
        self.aliases.clear()
        self.freed += [entry.ran for entry in step.passes[-1:]]
        for name, key in step.untracked:  # in the next step they are inputs: what made them is of this one
            held = self.tensors.get(name)
            if held is not None and held.number == key:
                del self.tensors[name]
        self.thread.begin()
        if len(self.known) > self.limits.between:
            forgetting.sweep(self, between=True)
        return step


def _raise(error: Exception) -> None:
    raise error
