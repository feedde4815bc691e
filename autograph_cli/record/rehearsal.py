"""Follows steps that go as earlier ones did, without writing them down a second time.

The steps of a training loop are alike: the same operations, from the same lines, on tensors of the same types, hung together in the
same way. While each event is found to be one that is known to follow here, nothing is recorded. At the first that is not, rows are
made up for what was seen (`rewriting.py`), and recording goes on as if it had never paused.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, Protocol

from autograph_cli.record import names
from autograph_cli.record.known import OLD, SLOT, Address, Begun, Created, Ended, Event, Made, Step, Template
from autograph_cli.record.sites import script_frames
from autograph_cli.record.tape import Tape
from autograph_cli.torch._core.dispatch import is_wrapped_number
from autograph_cli.torch._core.node import AccumulateGrad, Node, View, like_of
from autograph_cli.torch._core.state import BackwardCall
from autograph_cli.torch._core.tensor import Tensor

RECENT = 3
"""So many finished steps are remembered, whatever has become of their nodes."""
OFTEN = 16
"""After so many steps it is seen whether there are still too many others."""
LINGERING = 32
"""So many others may have nodes that live on."""
MOST_EVENTS = 50_000
"""So many events are known before all are forgotten."""
MANY = 4_096
"""So many tensors that steps were given are remembered before dead ones are forgotten."""


class Observer(Protocol):
    """Whose slot for new nodes is always that of the event which is expected."""

    created: Created

    def surprised(self, node: Node, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> None:
        """A node was made that was not expected."""

    def begins_unknown(self, call: BackwardCall) -> None:
        """A backward call began that was not expected."""

    def ends_unknown(self, call: BackwardCall) -> None:
        """A backward call ended in another way than expected."""

    def repeated(self, step: Step) -> None:
        """A step went as a known one to its end, and it was to be told."""


class Given:
    """A tensor that a step was given: an input, or a leaf that was new."""

    __slots__ = ("base", "key", "ref", "run", "slot", "template", "written")

    def __init__(self, ref: weakref.ref[Tensor], key: int, template: Template | None = None) -> None:
        self.ref, self.key, self.template = ref, key, template
        self.base: weakref.ref[Tensor] | None = None
        """What it is a view of."""
        self.written = template is None
        """Whether it has a row."""
        self.run: Run | None = None
        self.slot = 0
        """The step in which it was new, and its number there."""


class Run:
    """What was seen of a step."""

    __slots__ = ("before", "calls", "finished", "numbers", "seen", "slots")

    def __init__(
        self,
        finished: Step | None,
        numbers: list[int],
        seen: list[weakref.ref[Node]],
        slots: list[Given],
        calls: list[int],
        before: list[list[int]],
    ) -> None:
        self.finished, self.numbers, self.seen, self.slots, self.calls, self.before = (
            finished,
            numbers,
            seen,
            slots,
            calls,
            before,
        )

    @property
    def step(self) -> Step:
        """What is known of it, once it is finished."""
        assert self.finished is not None
        return self.finished

    def lives(self) -> bool:
        """Whether any of its nodes does."""
        return any(ref() is not None for ref in self.seen)


class Rehearsal:
    """The known steps of a run, and what was seen of the one that is going on."""

    def __init__(self, tape: Tape, observer: Observer) -> None:
        self.tape, self.observer, self.running = tape, observer, tape.running
        self.root = Event(None, observer.surprised)
        self.at: Event = self.root
        self.events = 0
        self.numbers: list[int] = []
        """The sequence numbers of the nodes that were seen."""
        self.seen: list[weakref.ref[Node]] = []
        self.slots: list[Given] = []
        """What it was given."""
        self.calls: list[int] = []
        """The numbers of the calls of modules in which nodes were made."""
        self.before: list[list[int]] = [[], []]
        """The sequence numbers of the nodes of the step before, and of the one before that."""
        self.runs: list[Run] = []
        """The last finished steps that have no rows."""
        self.lingering: list[Run] = []
        """Those before them of which nodes live on."""
        self.depth = 0
        """How many steps must be known for the sake of the last one."""
        self.last: Step | None = None
        """The last step that went as a known one."""
        self.reach = 0
        """How many steps back any step hangs on."""
        self.total, self.stop = 0, 0
        """The steps of the recording until now, and the number at which to tell of it."""
        self.met: dict[int, Given] = {}
        """By id, what steps were given since rows were last made."""
        self.limit = MANY

    # -- nodes; what `expecting` writes calls these

    def other(self, event: Made, node: Node, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> None:
        """A node was not that of this event: perhaps it is that of another which is known to follow."""
        at = self.at
        del self.slots[at.slots :], self.calls[at.calls :]
        others = iter(at.then)
        for known in others:
            if known is event:
                break
        for known in others:
            if isinstance(known, Made):
                return known.created(node, inputs, outputs)
        return self.observer.surprised(node, inputs, outputs)

    def is_new(self, x: Any, template: Template, is_view: bool) -> bool:
        """Whether this is a tensor without gradient that was never met."""
        if (
            (x._base is not None) is not is_view
            or not _is_free(x)
            or like_of(x._raw) != template.row.like
            or self._known(x) is not None
        ):
            return False
        if self._was_given(x):
            return False
        given = Given(weakref.ref(x), 0, template)
        self.slots.append(given)
        if is_view:
            given.base = weakref.ref(x._base)
        return True

    def is_known(self, x: Any, like: Any, last: list[Any]) -> bool:
        """Whether this is a tensor without gradient that was met in an earlier step, and not yet in this one.

        `last` is what was found in the step before: most often it is the same again.
        """
        held = self.tape.held.get(id(x))
        if held is not None and last and held is last[0] and held[0]() is x and x._edge is None:
            known = last[1]
        else:
            known = self._known(x) if _is_free(x) else None
        if known is None or like_of(x._raw) != like:
            return False
        for given in self.slots:
            if given.ref() is x:
                return False
        last[:] = held, known
        self.slots.append(known)
        return True

    def is_new_leaf(self, node: Any, template: Template) -> bool:
        """Whether this belongs to a leaf that was never met."""
        if node.__class__ is not AccumulateGrad or node._like != template.row.like:
            return False
        x = node.variable
        if self._known(x) is not None or self._was_given(x):
            return False
        self.slots.append(Given(weakref.ref(x), node._seq, template))
        return True

    def _was_given(self, tensor: Tensor) -> bool:
        return any(given.ref() is tensor for given in self.slots)

    def _known(self, tensor: Tensor) -> Given | None:
        given = self.met.get(id(tensor))
        if given is not None and given.ref() is tensor:
            return given
        held = self.tape.held.get(id(tensor))
        return Given(held[0], held[1]) if held is not None and held[0]() is tensor else None

    def is_at(self, code: Any, offset: int) -> bool:
        """Whether this is the user's line that is running, by looking at each frame."""
        found = self.tape.site(self.running.passes)
        return found[0] is code and found[1] == offset

    # -- other events

    def begins(self, call: BackwardCall) -> None:
        """A backward call begins: if it is one that is known to begin here, it runs within the rehearsal."""
        for event in self.at.then:
            if event.__class__ is Begun and event.begins(call):
                return
        self.observer.begins_unknown(call)

    def has_names(self, event: Begun) -> bool:
        """Whether names that may change are those of this event."""
        unsure = [known for known in event.unsure if not self._has_same_base(*known)]
        if not unsure:
            return True
        known = names.named({name for _, name, _ in unsure}, map(names.variables_of, reversed(script_frames())))
        return all(any(self._is(x, address) for x in known.get(name, ())) for address, name, _ in unsure)

    def _has_same_base(self, address: Address, name: str, base: weakref.ref[Tensor] | None) -> bool:
        """Whether this is a view of the same tensor as before."""
        given = self.slots[address[1]].ref() if base is not None else None
        return given is not None and base is not None and given._base is not None and given._base is base()

    def _is(self, tensor: Tensor, address: Address) -> bool:
        """Whether this is the tensor at an address, or what that is a view of."""
        where, place, number = address
        if where == SLOT:
            given = self.slots[place].ref()
            return given is not None and (tensor is given or tensor is given._base)
        edge: Any = tensor._edge
        edge = edge.edge if edge.__class__ is View else edge
        return edge.__class__ is tuple and edge[1] == number and edge[0]._seq == self._number(address)

    def _number(self, address: Address) -> int | None:
        where, place, _ = address
        if where == OLD:
            return place
        known = self.slots[place].key if where == SLOT else None
        numbers = self.numbers if where == 0 else self.before[where - 1] if where > 0 else []
        return known if where == SLOT else numbers[place] if place < len(numbers) else None

    def ends(self, call: BackwardCall) -> None:
        """A backward call ends: if it ran what is known, the rehearsal goes on, perhaps with the next step."""
        for event in self.at.then:
            if (
                event.__class__ is Ended
                and len(call.ran) == len(event.ran)
                and sys.exc_info()[1] is None
                and (event.sure or self._ran(event, call))
            ):
                self.running.passes.pop()
                if event.step is not None:
                    return self._finished(event.step)
                self.at = event
                self.observer.created = event.next
                return None
        return self.observer.ends_unknown(call)

    def _ran(self, event: Ended, call: BackwardCall) -> bool:
        """Whether these are the nodes that are known."""
        numbers, slots = self.numbers, self.slots
        for node, (where, place, _), leaf in zip(call.ran, event.ran, event.leaves, strict=True):
            if where >= 0:
                if node._seq != (self.before[where - 1] if where else numbers)[place]:
                    return False
            elif (
                not isinstance(node, AccumulateGrad)
                or node.variable is not (slots[place].ref if leaf is None else leaf)()
            ):
                return False
        return True

    # -- steps

    def learn(self, events: list[Event]) -> None:
        """Know a step that was watched: its last events, which followed on what was known."""
        for event in events:
            before = event.before
            assert before is not None
            before.then.append(event)
            first = next((each for each in before.then if isinstance(each, Made)), None)
            if first is not None:
                before.next = first.created
        self.events += len(events)
        last = events[-1]
        if isinstance(last, Ended) and last.step is not None:
            self.reach = max(self.reach, last.step.reach)

    def partial(self) -> Run:
        """What was seen of the step that is going on."""
        return Run(None, self.numbers, self.seen, self.slots, self.calls, self.before)

    def begin(self, total: int) -> None:
        """A step begins, after so many."""
        self.total = total
        self.stop = total + 1
        self.at = self.root
        self.observer.created = self.root.next

    def _finished(self, step: Step) -> None:
        """A step went as a known one to its end."""
        run = Run(
            step,
            self.numbers[:],
            self.seen[:],
            self.slots[:],
            self.calls[:],
            self._seen_before(step.reach) if step.reach else [],
        )
        runs = self.runs
        runs.append(run)
        if len(runs) > RECENT:
            old = runs.pop(0)
            for ref in old.seen:
                if ref() is not None:
                    self.lingering.append(old)
                    break
        step.times += 1
        self.depth = self.depth + step.reach if step.reach else 0
        if step.new:
            self._meet(run)
        if self.reach:
            self._remember(self.numbers)
        self._clear()
        if len(self.root.then) > 1:
            self._foresee(step)
        self.total += 1
        self.at = root = self.root
        self.observer.created = root.next
        if self.total >= self.stop or step.times & (step.times - 1) == 0 or self.depth >= RECENT:
            self.observer.repeated(step)

    def _foresee(self, step: Step) -> None:
        """Expect the step that came after this one the last time."""
        root, first = self.root, step.events[0]
        if self.last is not None:
            self.last.after = first
        self.last = step
        if step.after is not None and step.after is not root.then[0] and isinstance(step.after, Made):
            root.then.remove(step.after)
            root.then.insert(0, step.after)
            root.next = step.after.created

    def _meet(self, run: Run) -> None:
        for slot, _ in run.step.new:
            given = run.slots[slot]
            given.run, given.slot = run, slot
            self.met[id(given.ref())] = given

    def _seen_before(self, reach: int) -> list[list[int]]:
        return [numbers[:] for numbers in self.before[:reach]]

    def parameters(self) -> list[weakref.ref[Tensor]]:
        """The leaves that nodes of the last finished step lead to."""
        run = self.runs[-1]
        collected = run.step.last_begun.collected
        if collected is None:
            return []
        rows = self.tape.rows
        return [run.slots[place].ref if where == SLOT else rows[place].ref for where, place, _ in collected.parameters]

    def _remember(self, numbers: list[int]) -> None:
        """Keep the numbers of a step that is over for those after it."""
        older, old = self.before
        old[:] = older
        older[:] = numbers

    def _clear(self) -> None:
        self.numbers.clear()
        self.seen.clear()
        self.slots.clear()
        self.calls.clear()

    def tidy(self) -> bool:
        """Forget finished steps of which nothing is left, but the last ones; whether there is room for more."""
        self.lingering = [run for run in self.lingering if run.lives()]
        if len(self.met) > self.limit:
            self.met = {key: given for key, given in self.met.items() if given.ref() is not None}
            self.limit = max(MANY, 2 * len(self.met))
        return len(self.lingering) <= LINGERING and self.depth < RECENT

    def written(self) -> None:
        """All that was seen has rows now."""
        if not self.reach:
            for run in self.runs[-2:]:
                self._remember(run.numbers)
        self.runs, self.lingering, self.met, self.depth = [], [], {}, 0

    def passed(self, numbers: list[int]) -> None:
        """A step that was written down is over; these are its nodes, if they are known."""
        self._remember(numbers)
        self._clear()
        if self.events > MOST_EVENTS:
            self.events, self.reach, self.last, self.root = 0, 0, None, Event(None, self.observer.surprised)


def _is_free(x: Any) -> bool:
    """Whether this is a tensor without a gradient, of the script's own."""
    edge = x._edge
    return (edge is None or (edge.__class__ is View and edge.edge is None)) and not is_wrapped_number(x)
