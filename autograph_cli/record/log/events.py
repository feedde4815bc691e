"""The parts of the event log: events, backward calls, and the steps that they belong to."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct

from autograph_cli.engines.protocol import Output, key_of
from autograph_cli.graph.walk import reached
from autograph_cli.record.names.modules import CallEvent
from autograph_cli.record.names.source_locations import Site

OPERATION, LEAF, INPUT, UNTRACKED = "operation", "leaf", "input", "untracked"
COMPUTED = (OPERATION, UNTRACKED)


class BackwardEvent:
    """One backward call."""

    __slots__ = (
        "call", "create_graph", "error", "failed", "inputs", "newest", "newest_key", "number", "order", "outside",
        "ran", "results", "roots", "site",
    )  # fmt: skip

    def __init__(self, number: int, call: str, create_graph: bool) -> None:
        self.number = number
        self.call = call
        self.create_graph = create_graph
        self.newest = self.newest_key = 0
        """The newest event when the call began, and the highest sequence number of a node."""
        self.outside = 0
        """The number of module calls that were going on when it began."""
        self.error = 0
        """The id of the exception that was being handled when the call began."""
        self.failed = False
        self.site: Site | None = None
        self.roots: tuple[Output, ...] = ()
        self.ran: list[int] = []
        self.inputs: list[Output | None] = []
        """The tensors that it was asked to differentiate by, if any."""
        self.results: list[Output | None] = []
        """The derivatives by these; none of one that has no graph."""
        self.order = 1


class Event(Struct, frozen=True, eq=False, gc=False):
    """An operation, with a node or without, a leaf (however often its node is made anew), or an input.

    A `Struct`, which is made faster than a tuple of so many fields and read by name faster than one by position. It is
    in no cycle, so the garbage collector need not look through it.
    """

    number: int
    """Its position in the order in which things were met."""
    key: int
    """The node's sequence number; of an input, a negative one."""
    kind: str
    ref: Any
    """Weakly, the node or what the engine noted of it; of leaves and inputs, the tensor."""
    cls: Any
    """The class of the node; of what left none, the operation; None for inputs, and leaves that no gradient goes to."""
    like: Any
    next: tuple[Output | None, ...] = ()
    args: tuple[Output, ...] = ()
    parent: int | None = None
    made_by: BackwardEvent | None = None
    site: Site | None = None
    op: str = ""
    """The operation's name where the class does not tell it: of changes in place."""
    call: CallEvent | None = None
    """The call of a module that it ran in, or in which an input was made."""
    owner: str = ""
    """The path of the module that a leaf or an input belongs to."""
    constants: Any = None
    """The values other than tensors that the node keeps, as the engine's `saved_constants` reads them."""
    plain: Any = None
    """The arguments that are no tensors, as the engine's `arguments` reads them."""
    base: Output | None = None
    """The base that an input, or the outputs of an operation that stands for one, are views of."""
    made_at: tuple[Site, ...] = ()
    """The places where the script made, and changed, the numbers of a leaf or an input, as far as they are known."""
    cut: Collection[Output] = ()
    """The `args` that required a gradient when an operation without a node ran."""

    @property
    def is_operation(self) -> bool:
        return self.kind == OPERATION

    @property
    def followed(self) -> bool:
        """Return whether it is an operation that ran while the recorder followed the engine."""
        return self.kind == OPERATION

    @property
    def order(self) -> int:
        return 0 if self.made_by is None else self.made_by.order


class Earlier(Event, frozen=True, eq=False, gc=False):
    """An operation that only what led to it asks for: it ran before the recorder followed, or in a forward that a
    checkpoint runs once more."""

    @property
    def followed(self) -> bool:
        return False


class Look(Struct, eq=False):
    """The tensors that nodes kept when a backward call began (`saved_tensors.py`)."""

    events: list[Event]
    """Operations."""
    kept: list[Any]
    """The facts that the engine told of each."""
    others: list[Event]
    """The leaves and inputs that they hung on."""
    memory: list[int]
    """The memory of each."""
    freed: Collection[int] = ()
    """The nodes that the backward call ran, which then keep nothing."""
    call: int = 0
    """The number of that call."""


class Storages:
    """The memory that the nodes of one step keep, numbered from 0."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        """The engine's id of each; once that memory is freed, other memory may have it."""
        self.of: dict[int, int] = {}
        """The memory that each leaf and input is in, by the event's number."""


class StepLog:
    """The work of one thread since its last step ended."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.finished = False
        self.untracked: list[tuple[int, int]] = []
        """The tensors that operations without a node made, by id, and the numbers that they are known by."""
        self.called: Sequence[tuple[str, weakref.ref[Any]]] | None = None
        """The tensors that variables held as it first used one that it was given: they may be bound again in it."""
        self.bare: set[Output] = set()
        """Outputs of its operations that no gradient goes to."""
        self.bare_until = 0
        """None of its events up to this number is an operation that was followed."""
        self.changed: dict[Output, Output] = {}
        """The new output of each tensor that was changed in place without a node."""
        self.used: set[Output] = set()
        """The outputs that its first `used_by` events were computed from."""
        self.used_by = 0
        self.sharing: dict[int, Output] = {}
        """The first argument of events that only made tensors over its memory, or changed it, by key."""
        self.passes: list[BackwardEvent] = []
        self.sites: tuple[Site, ...] = ()
        """The place of the last outermost backward call, and the places that its function was called from."""
        self.running: list[BackwardEvent] = []
        """The backward calls that are going on, the innermost last."""
        self.variables: list[tuple[str, Output]] = []
        """The variables that were found at the last backward call."""
        self.derived: tuple[Any, str | None] = None, ""
        """The function that makes its derivative graph, and a note on it, as of the last backward call."""
        self.signature: Any = None
        """Equal of steps that ran the same (`graphs/alike.py`), as of the last backward call."""
        self.looked: list[Look] = []
        self.leaves: dict[int, weakref.ref[Any]] = {}
        """The leaves that its nodes lead to, by key."""
        self.outer: set[int] = set()
        """The nodes that its own depend on, as of its first `seen` events."""
        self.seen = 0
        self.found: Any = None
        """The measurements, if any were asked for."""

    def leave_out(self, before: int, needed: Collection[int]) -> list[Event]:
        """Leave out its first events, as far as they are not needed, and return them."""
        first = self.events[:before]
        kept = [event for event in first if event.key in needed or event.kind == LEAF]
        if len(kept) < before:
            self.events[:before] = kept
            self.used_by = max(self.used_by - before + len(kept), 0)
        return [event for event in first if event.key not in needed and event.kind != LEAF]

    def begins_at(self, newest: int) -> int:
        """Return the number of its first event; `newest` is that of the last event of all, which is before it if it has
        none."""
        return self.events[0].number if self.events else newest + 1

    def reads_nothing(self, event: Event) -> None:
        """Note that the result of an operation lies in the memory of its first argument, which was not read."""
        if event.args:
            self.sharing[event.key] = event.args[0]

    def uses(self, output: Output) -> bool:
        """Return whether something was computed from this output, or from what shares its memory."""
        for event in self.events[self.used_by :]:
            for arg in event.args[1:] if event.key in self.sharing else event.args:
                used: Output | None = arg
                while used is not None and used not in self.used:
                    self.used.add(used)
                    used = self.sharing.get(key_of(used))
        self.used_by = len(self.events)
        return output in self.used

    @property
    def has_operations(self) -> bool:
        for event in reversed(self.events):
            if event.number <= self.bare_until:
                break
            if event.followed:
                return True
        self.bare_until = self.events[-1].number if self.events else 0
        return any(map(attrgetter("ran"), self.passes))


def behind(known: Mapping[int, Event], keys: Iterable[int], *, untracked: bool = False) -> Iterator[int]:
    """Yield the keys of what these hang on by gradient, themselves included; if `untracked`, of all that they were
    computed from."""

    def following(key: int) -> Iterable[int]:
        event = known.get(key)
        outputs = () if event is None else (*event.next, *event.args) if untracked else event.next
        return [key_of(output) for output in outputs if output is not None]

    return reached(keys, following)
