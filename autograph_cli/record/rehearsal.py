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
from autograph_cli.record.tape import PassRow, Tape
from autograph_cli.torch._core.general import is_wrapped_number
from autograph_cli.torch._core.node import AccumulateGrad, Node, View, like_of
from autograph_cli.torch._core.state import BackwardCall
from autograph_cli.torch._core.tensor import Tensor

RECENT = 4
"""So many finished steps are remembered, whatever has become of their nodes."""
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


class Given:
    """A tensor that a step was given: an input, or a leaf that was new."""

    __slots__ = ("base", "calls", "key", "ref", "slot", "step", "template", "written")

    def __init__(self, ref: weakref.ref[Tensor], key: int, template: Template | None = None) -> None:
        self.ref, self.key, self.template = ref, key, template
        self.base: weakref.ref[Tensor] | None = None
        """What it is a view of."""
        self.written = template is None
        """Whether it has a row."""
        self.step: Step | None = None
        self.slot = 0
        self.calls: list[int] = []
        """The step in which it was new, its number there, and the calls of modules in that."""


class Run:
    """What was seen of a step."""

    __slots__ = ("before", "calls", "depth", "numbers", "passes", "seen", "slots", "step")

    def __init__(
        self, numbers: list[int], seen: list[weakref.ref[Node]], slots: list[Given], calls: list[int], before: list[list[int]]
    ) -> None:
        self.numbers, self.seen, self.slots, self.calls, self.before = numbers, seen, slots, calls, before
        self.step: Step | None = None
        """What is known of it, if it is finished."""
        self.passes: list[PassRow] = []
        self.depth = 0
        """How many steps before must be known for its sake."""

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
        self.passes: list[PassRow] = []
        self.before: list[list[int]] = [[], []]
        """The sequence numbers of the nodes of the step before, and of the one before that."""
        self.recent: list[Run] = []
        self.lingering: list[Run] = []
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
        if (x._base is not None) is not is_view or not _is_free(x) or like_of(x._raw) != template.row.like or self._known(x) is not None:
            return False
        if self._was_given(x):
            return False
        given = Given(weakref.ref(x), 0, template)
        self.slots.append(given)
        if is_view:
            given.base = weakref.ref(x._base)
        return True

    def is_known(self, x: Any, like: Any) -> bool:
        """Whether this is a tensor without gradient that was met in an earlier step, and not yet in this one."""
        if not _is_free(x) or like_of(x._raw) != like or self._was_given(x):
            return False
        known = self._known(x)
        if known is None:
            return False
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

    def begins(self, call: BackwardCall) -> bool:
        """Whether this is a backward call that is known to begin here; if so, it runs within the rehearsal."""
        for event in self.at.then:
            if isinstance(event, Begun) and self._agrees(event, call):
                entry = PassRow(0, call.kind, call.create_graph, 0)
                entry.site, entry.error = event.site, id(sys.exc_info()[1])
                self.running.passes.append(entry)
                self.passes.append(entry)
                self._go_on(event)
                return True
        return False

    def _agrees(self, event: Begun, call: BackwardCall) -> bool:
        if call.kind != event.kind or call.keeps_graph is not event.keeps_graph or call.create_graph is not event.create_graph:
            return False
        if len(call.roots) != len(event.roots) or bool(self.running.passes) is event.outermost:
            return False
        for root, address in zip(call.roots, event.roots, strict=True):
            edge = root._edge if isinstance(root, Tensor) else (root.node, root.output_nr)
            if edge.__class__ is View:
                edge = edge.edge if root._counter is not None and root._counter[0] == edge.version else None
            if edge.__class__ is not tuple or edge[1] != address[2] or edge[0]._seq != self._number(address):
                return False
        return self.tape.site([]) == (event.site or (None, 0)) and all(self._has_name(*known) for known in event.unsure)

    def _has_name(self, address: Address, name: str, base: weakref.ref[Tensor] | None) -> bool:
        """Whether a name still stands for what it stood for, or for what this is a view of."""
        where, place, number = address
        given = self.slots[place].ref() if where == SLOT else None
        if given is not None and given._base is not None and base is not None and given._base is base():
            return True
        for tensor in names.named(name, [names.variables_of(frame) for frame in reversed(script_frames())]):
            edge = tensor._edge
            if where == SLOT:
                return tensor is given or (given is not None and tensor is given._base)
            return edge.__class__ is tuple and edge[1] == number and edge[0]._seq == self._number(address)
        return False

    def _number(self, address: Address) -> int | None:
        where, place, _ = address
        if where == OLD:
            return place
        known = self.slots[place].key if where == SLOT else None
        numbers = self.numbers if where == 0 else self.before[where - 1] if where > 0 else []
        return known if where == SLOT else numbers[place] if place < len(numbers) else None

    def ends(self, call: BackwardCall) -> bool:
        """Whether the call ran what is known; if so, and it is the last one, so is the step at its end."""
        for event in self.at.then:
            if isinstance(event, Ended) and self._ran(event, call):
                self.running.passes.pop()
                self._go_on(event)
                return True
        return False

    def _ran(self, event: Ended, call: BackwardCall) -> bool:
        if len(call.ran) != len(event.ran) or id(sys.exc_info()[1]) != self.passes[event.number].error:
            return False
        numbers, slots = self.numbers, self.slots
        for node, (where, place, _), leaf in zip(call.ran, event.ran, event.leaves, strict=True):
            if where == 0:
                if node._seq != numbers[place]:
                    return False
            elif where > 0:
                if node._seq != self.before[where - 1][place]:
                    return False
            elif not isinstance(node, AccumulateGrad) or node.variable is not (slots[place].ref if leaf is None else leaf)():
                return False
        return True

    def _go_on(self, event: Event) -> None:
        self.at = event
        self.observer.created = event.next

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

    def partial(self) -> Run:
        """What was seen of the step that is going on."""
        run = Run(self.numbers, self.seen, self.slots, self.calls, self.before)
        run.passes = self.passes
        return run

    def begin(self) -> None:
        """A step begins."""
        self._go_on(self.root)

    def finished(self) -> bool:
        """Note that the step went as a known one to its end; whether there is room for more of the kind."""
        assert isinstance(self.at, Ended) and self.at.step is not None
        step = self.at.step
        run = Run(self.numbers[:], self.seen[:], self.slots[:], self.calls[:], [numbers[:] for numbers in self.before[: step.reach]])
        run.step, step.times = step, step.times + 1
        run.depth = self._depth(step.reach)
        for slot, _ in step.new:
            given = run.slots[slot]
            given.step, given.slot, given.calls = step, slot, run.calls
            self.met[id(given.ref())] = given
        self.recent.append(run)
        self.turn()
        self.begin()
        return run.depth < RECENT and self._room()

    def parameters(self) -> list[weakref.ref[Tensor]]:
        """The leaves that nodes of the last finished step lead to."""
        run = self.recent[-1]
        assert run.step is not None
        collected = run.step.last_begun.collected
        if collected is None:
            return []
        rows = self.tape.rows
        return [run.slots[place].ref if where == SLOT else rows[place].ref for where, place, _ in collected.parameters]

    def turn(self) -> None:
        """Begin to see a new step."""
        self.before[1][:] = self.before[0]
        self.before[0][:] = self.numbers
        for seen in (self.numbers, self.seen, self.slots, self.calls, self.passes):
            seen.clear()

    def _depth(self, reach: int) -> int:
        steps = self.recent[-reach:] if reach else []
        return max([reach + run.depth for run in steps], default=0)

    def _room(self) -> bool:
        if len(self.recent) > RECENT:
            old = self.recent.pop(0)
            if old.lives():
                self.lingering.append(old)
                if len(self.lingering) > LINGERING:
                    self.lingering = [run for run in self.lingering if run.lives()]
        if len(self.met) > self.limit:
            self.met = {key: given for key, given in self.met.items() if given.ref() is not None}
            self.limit = max(MANY, 2 * len(self.met))
        return len(self.lingering) <= LINGERING

    def written(self) -> None:
        """All that was seen has rows now."""
        self.recent, self.lingering, self.met = [], [], {}

    def passed(self, numbers: list[int]) -> None:
        """A step that was written down is over; these are its nodes, if they are known."""
        self.numbers[:] = numbers
        self.turn()
        if self.events > MOST_EVENTS:
            self.events, self.root = 0, Event(None, self.observer.surprised)


def _is_free(x: Any) -> bool:
    """Whether this is a tensor without a gradient, of the script's own."""
    edge = x._edge
    return (edge is None or (edge.__class__ is View and edge.edge is None)) and not is_wrapped_number(x)
