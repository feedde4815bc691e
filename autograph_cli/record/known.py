"""What is known of the steps of a run: a tree of events, in which steps that begin alike share their beginning.

An event keeps what the rows of a new step would say, with addresses in place of keys; it holds no tensor and no node.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from autograph_cli.graph import Memory
from autograph_cli.record.modules import About
from autograph_cli.record.sites import Site
from autograph_cli.record.tape import Kept, Row
from autograph_cli.torch._core.node import Node
from autograph_cli.torch._core.state import BackwardCall
from autograph_cli.torch._core.tensor import Tensor

SLOT, OLD = -1, -2
Address = tuple[int, int, int]
"""Of an output: how many steps back it was made and by which node of that step, or `SLOT` and the number of a tensor that
the step was given, or `OLD` and the key of what has been there before; then the output's number."""
Created = Callable[[Node, tuple[Any, ...], tuple[Tensor, ...]], None]


class Template(NamedTuple):
    """A row of a node, or of a tensor that was given: an input, or a leaf that was new."""

    row: Row
    next: tuple[Address | None, ...] = ()
    args: tuple[Address, ...] = ()
    parent: Address | None = None
    made_by: int = -1
    """The backward call, by its number in the step."""
    module: int = -1
    """The call of a module, by its number in the step."""


class Collected(NamedTuple):
    """What was noted of the nodes before a backward pass freed them."""

    saved: list[tuple[Address, tuple[Kept, ...]]]
    custom: list[tuple[Address, Any]]
    lies: list[tuple[Address, int]]
    parameters: list[Address]


class Event:
    """Something that happened in a step; `then` is what came after it, in one step or another."""

    def __init__(self, before: Event | None, unexpected: Created) -> None:
        self.before = before
        self.then: list[Event] = []
        self.next = unexpected
        """What is to be done with the next node that is made."""
        self.given: list[Template | None] = []
        """The rows of tensors that the step was first given here; None for one that had a row."""
        self.called: list[tuple[About, int]] = []
        """The modules that were first needed here, each with the number of the call around it."""
        self.slots: int = 0 if before is None else before.slots
        self.calls: int = 0 if before is None else before.calls
        """How many tensors were given and modules called, up to this event."""

    def count(self) -> None:
        """Count what was first met here."""
        self.slots += len(self.given)
        self.calls += len(self.called)


class Made(Event):
    """A node was made."""

    template: Template
    created: Created
    """Sees whether a node is this one."""


class Begun(Event):
    """A backward call began."""

    kind: str
    keeps_graph: bool
    create_graph: bool
    has_inputs: bool
    roots: tuple[Address, ...]
    site: Site | None
    outside: int
    """How many calls of modules were going on."""
    order: int
    last: Address | None
    """The newest node at that time."""
    outermost: bool
    names: list[tuple[Address, list[str]]]
    borrowed: list[tuple[Address, list[str]]]
    """The names, after the script's variables were looked through."""
    unsure: list[tuple[Address, str, weakref.ref[Tensor] | None]]
    """Those names among them that tell a place in a list, which may be another in the next step, and those of what inputs are
    views of, which may be views of something else then."""
    begins: Callable[[BackwardCall], bool]
    """Sees whether a call is this one, and if so, goes on from here."""
    variables: list[tuple[str, Address]]
    """The variables that were made in this step."""
    derived: str | None
    collected: Collected | None


class Ended(Event):
    """A backward call ended."""

    number: int
    """Which one of the step."""
    ran: tuple[Address, ...]
    sure: bool
    """Whether so many nodes cannot be others: no code of the script's decides what runs."""
    leaves: list[weakref.ref[Tensor] | None]
    """Those among what ran that had been there before."""
    step: Step | None = None
    """The step, if it ended with this."""


class Step:
    """A finished step."""

    def __init__(self, last: Event, roots: list[tuple[str, Address]], memory: Memory | None) -> None:
        self.events = path_to(last)
        self.roots, self.memory = roots, memory
        self.new = [(slot, template) for slot, template in enumerate(given_in(self.events)) if template is not None]
        made = [event.template for event in self.events if isinstance(event, Made)]
        self.rows = len(made) + len(self.new)
        self.reach = max([where for event in self.events for where, _, _ in addresses(event)], default=0)
        """How many steps back its nodes hang on."""
        self.last_begun = next(event for event in reversed(self.events) if isinstance(event, Begun) and event.outermost)
        self.after: Event | None = None
        """How the step began that came after it the last time."""
        self.times = 0
        """How often it was met again."""

    @property
    def derived(self) -> str | None:
        """Why there is no derivative graph, where that is known."""
        return self.last_begun.derived


def path_to(last: Event) -> list[Event]:
    """The events of a step up to this one."""
    path: list[Event] = []
    event = last
    while event.before is not None:
        path.append(event)
        event = event.before
    return path[::-1]


def given_in(events: list[Event]) -> Iterator[Template | None]:
    """The rows of all that a step was given."""
    for event in events:
        yield from event.given


def addresses(event: Event) -> Iterator[Address]:
    """The addresses that are found to be right when an event is seen."""
    if isinstance(event, Made):
        template = event.template
        yield from (address for address in (*template.next, *template.args, template.parent) if address is not None)
    elif isinstance(event, Begun):
        yield from event.roots
    elif isinstance(event, Ended):
        yield from event.ran
