"""Follows a step that goes as the one before it did, without writing it down a second time.

The steps of a training loop are alike: the same operations, from the same lines, on tensors of the same types, hung together in the
same way. While each event is found to be the expected one, nothing is recorded; the rows of the step before stand for the new step,
too. At the first event that differs, rows are made up for what was seen, and recording goes on as if it had never paused.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from autograph_cli.record.modules import CallRow, Running
from autograph_cli.record.saved import is_plain, plain_places
from autograph_cli.record.sites import RUNNER, USER, kind_of
from autograph_cli.record.tape import Output, PassRow, Row, Tape, key_of, number_of
from autograph_cli.torch._core.general import is_wrapped_number
from autograph_cli.torch._core.node import AccumulateGrad, Node, View, like_of
from autograph_cli.torch._core.state import BackwardCall
from autograph_cli.torch._core.tensor import Tensor
from autograph_cli.torch._core.views import CopySlices

Edge = tuple[int | None, Any, int]
"""Where an edge is expected to lead: to the event of this number, or else to this leaf (a weak reference); the output number."""


class _Line:
    """A place in the user's code, and how it is quickly seen that it is running."""

    __slots__ = ("below", "depth", "offset", "user")

    def __init__(self, user: CodeType | None, offset: int) -> None:
        self.user, self.offset = user, offset
        self.depth: int = sys.maxsize
        """How deep the last of the engine's frames is, which the user's line called; not known yet."""
        self.below: CodeType | None = None
        """The code of that frame."""

    def is_here(self) -> bool:
        """Whether this is the user's line that is running."""
        # What the engine does at this depth, called from this line, it did for nobody else: no need to ask each frame.
        try:
            below = _frame(self.depth)
        except (ValueError, OverflowError):
            return self._search()
        if below.f_code is self.below:
            frame = below.f_back
            if frame is not None and frame.f_code is self.user and frame.f_lasti == self.offset:
                return True
        return self._search()

    def _search(self) -> bool:
        frame: FrameType | None = sys._getframe(1)
        depth = 0
        below: CodeType | None = None
        while frame is not None and kind_of(frame.f_code.co_filename) not in (USER, RUNNER):
            below, depth, frame = frame.f_code, depth + 1, frame.f_back
        if frame is None or kind_of(frame.f_code.co_filename) == RUNNER:
            return self.user is None
        if frame.f_code is not self.user or frame.f_lasti != self.offset:
            return False
        self.depth, self.below = depth - 1, below
        return True


class _Expected(NamedTuple):
    """One event of the step before."""

    cls: type[Node] | None
    like: Any
    edges: list[Edge | None]
    values: list[tuple[int, Any]]
    """What the node keeps beside tensors, by its place."""
    inputs: list[int]
    module: CallRow | None
    is_here: Callable[[], bool]
    """Whether the user's line that is running is the one of this event."""


_frame, _ref = sys._getframe, weakref.ref


class Rehearsal:
    """The rows of one finished step, and what was seen so far of the step that is going on."""

    def __init__(self, tape: Tape, first: int, rows: dict[int, Row], entry: PassRow, call: BackwardCall) -> None:
        self.tape, self.first, self.rows, self.entry = tape, first, rows, entry
        self.keys = [key for key, row in rows.items() if row.is_operation]
        places = {key: place for place, key in enumerate(self.keys)}
        self.events = [self._expected(rows[key], places) for key in self.keys]
        self.roots = [(places[key_of(output)], number_of(output)) for output in entry.roots]
        self.ran = len(entry.ran)
        self.kind = call.kind
        self.line = _Line(*(entry.site or (None, 0)))
        self.call: BackwardCall | None = None
        """The backward call that runs within the rehearsal."""
        self.surprised: Callable[[Node, tuple[Any, ...], tuple[Tensor, ...]], None] = tape.created
        """What is to be done with a node that is not the expected one."""
        self.seen: list[weakref.ref[Node]] = []
        self.numbers: list[int] = []
        """The sequence numbers of the nodes that were seen."""
        self.calls: dict[CallRow | None, Running | None] = {None: None}
        """By the module call of the step before: the one in its place."""
        self.inputs: dict[int, tuple[weakref.ref[Tensor], Any]] = {}
        """By the key of an input of the step before: the tensor in its place, and its type."""
        self.older: Callable[[], Node | None] = _nothing
        """The last node of the step before the one before: a script that holds on to its graphs may use them again."""
        self.finished: tuple[list[weakref.ref[Node]], list[int], dict[int, Any]] | None = None
        """What was seen of the last step that went as expected to its end."""

    @classmethod
    def of(cls, tape: Tape, first: int, entry: PassRow, call: BackwardCall) -> Rehearsal | None:
        """The rehearsal of the step after this one, if this one is of the plain kind that training loops are made of."""
        rows = dict(reversed(list(tape.since(first))))
        plain = (
            len(tape.passes) == 1 and not (call.create_graph or call.inputs is not None or tape.running.passes)
            and all(isinstance(root, Tensor) for root in call.roots)
            and all(_is_plain_row(row, rows, tape) for row in rows.values())
            and all(key_of(output) in rows for output in entry.roots)
        )  # fmt: skip
        return cls(tape, first, rows, entry, call) if plain and rows else None

    def _expected(self, row: Row, places: dict[int, int]) -> _Expected:
        edges: list[Edge | None] = []
        for output in row.next:
            if output is None:
                edges.append(None)
                continue
            key = key_of(output)
            edges.append((places.get(key), None if key in places else self.tape.rows[key].ref, number_of(output)))
        # Of a change in place, the tape keeps no inputs but those with a gradient.
        inputs = [] if row.op else [key_of(output) for output in row.args if key_of(output) < 0]
        values = plain_places(row.cls, self.tape.saved.get(row.number, ()))
        return _Expected(row.cls, row.like, edges, values, inputs, row.module, _Line(row.code, row.offset).is_here)

    # -- while it goes as expected

    def created(self, node: Node, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> None:
        """A node was made: if it is the expected one, that is all. Of every operation's time this takes some: no call too many."""
        numbers = self.numbers
        place = len(numbers)
        if self.call is not None or place == len(self.events):
            return self.surprised(node, inputs, outputs)
        cls, like, wanted, values, wanted_inputs, module, is_here = self.events[place]
        edges = node._edges
        if node.__class__ is not cls or node._like != like or len(edges) != len(wanted):
            return self.surprised(node, inputs, outputs)
        for edge, expected in zip(edges, wanted):  # noqa: B905  a keyword costs time
            if edge is None or expected is None:
                if edge is not expected:  # type: ignore[comparison-overlap]
                    return self.surprised(node, inputs, outputs)
                continue
            before, leaf, number = expected
            target: Any
            target, nr = edge
            if nr != number or not (
                target._seq == numbers[before] if before is not None
                else target.__class__ is AccumulateGrad and target.variable is leaf()
            ):  # fmt: skip
                return self.surprised(node, inputs, outputs)
        for index, value in values:
            if node._saved[index] != value:
                return self.surprised(node, inputs, outputs)
        if wanted_inputs and not self._takes(wanted_inputs, inputs):
            return self.surprised(node, inputs, outputs)
        if not is_here() or not self._runs_in(module):
            return self.surprised(node, inputs, outputs)
        self.seen.append(_ref(node))
        numbers.append(node._seq)
        return None

    def enters(self, module: Any, given: tuple[Any, ...]) -> None:
        """A module is about to run; its row is made only if the rehearsal ends before the step."""
        modules, running = self.tape.modules, self.tape.running
        stack = running.modules
        above = stack[-1] if stack else None
        call = Running(module, above, len(running.passes) + (self.call is not None), given)
        stack.append(call)
        about = modules.known.get((id(module), 0 if above is None else id(above.module)))
        if about is None or about.ref() is not module:
            modules.row_of(call)

    def leaves(self, module: Any) -> None:
        """The module has run."""
        stack = self.tape.running.modules
        if stack:
            call = stack.pop()
            call.given = ()
            if call.row is not None:
                self.tape.modules.leave(call)

    def _runs_in(self, wanted: CallRow | None) -> bool:
        """Whether the module that runs has the place of this one."""
        running, calls = self.tape.running, self.calls
        stack = running.modules
        call = stack[-1] if stack and stack[-1].passes == len(running.passes) else None
        if wanted in calls:
            return calls[wanted] is call
        while wanted not in calls:
            if wanted is None or call is None or wanted.about.ref() is not call.module:
                return False
            calls[wanted] = call
            wanted, call = wanted.parent, call.above
        return calls[wanted] is call

    def _takes(self, wanted: list[int], inputs: Iterable[Any]) -> bool:
        """Whether the tensors without a gradient among `inputs` are those that are wanted."""
        found = 0
        for x in _tensors(inputs):
            edge = x._edge
            if (edge is not None and not (edge.__class__ is View and edge.edge is None)) or is_wrapped_number(x):
                continue
            if found == len(wanted) or not self._is_input(wanted[found], x):
                return False
            found += 1
        return found == len(wanted)

    def _is_input(self, key: int, tensor: Tensor) -> bool:
        known = self.inputs.get(key)
        if known is not None:
            return known[0]() is tensor
        row = self.rows.get(key)
        if row is None:  # met in an earlier step
            return key in self.tape.rows and self.tape.rows[key].ref() is tensor
        like = like_of(tensor._raw)
        if like != row.like:
            return False
        self.inputs[key] = weakref.ref(tensor), like
        return True

    def begins(self, call: BackwardCall) -> bool:
        """Whether this is the backward call that is expected; if so, it runs within the rehearsal."""
        if self.call is not None or len(self.seen) < len(self.events) or call.kind != self.kind:
            return False
        if call.keeps_graph or call.create_graph or call.inputs is not None or len(call.roots) != len(self.roots):
            return False
        for root, (place, number) in zip(call.roots, self.roots, strict=True):
            edge: Any = root._edge if isinstance(root, Tensor) else None
            if edge.__class__ is not tuple or edge[0]._seq != self.numbers[place] or edge[1] != number:
                return False
        if not self.line.is_here():
            return False
        self.call = call
        return True

    def ends(self, call: BackwardCall) -> bool:
        """Whether the call ran what it did in the step before; if so, a new step begins."""
        if len(call.ran) != self.ran or self.older() is not None:
            return False
        self.call = None
        self.older = self.finished[0][-1] if self.finished is not None else _nothing
        self.finished = self.seen, self.numbers, self.inputs
        self.seen, self.numbers, self.inputs, self.calls = [], [], {}, {None: None}
        return True

    # -- when it ends

    def rename(self) -> dict[int, int]:
        """Give the rows to the nodes of the last step that they stand for; returns new keys by old ones."""
        if self.finished is None:
            return {}
        seen, numbers, inputs = self.finished
        keys = dict(zip(self.keys, numbers, strict=True))
        refs: dict[int, weakref.ref[Any]] = {**dict(zip(self.keys, seen, strict=True)), **{k: ref for k, (ref, _) in inputs.items()}}
        tape, rows = self.tape, {}
        for key, row in tape.rows.items():
            if key in self.rows:
                row = row._replace(ref=refs.get(key, row.ref), next=renamed(row.next, keys), args=renamed(row.args, keys))
            rows[keys.get(key, key)] = row
        tape.rows = rows
        for key, (ref, _) in inputs.items():
            self._hold(ref, key)
        self.entry.roots = renamed(self.entry.roots, keys)
        self.entry.ran = [keys.get(key, key) for key in self.entry.ran]
        return keys

    def replay(self) -> None:
        """Make rows for what was seen of the step that is going on."""
        tape = self.tape
        keys: dict[int, int] = {}
        places = {key: place for place, key in enumerate(self.keys)}
        for old, row in self.rows.items():
            if (row.cls is None and old not in self.inputs) or (row.is_operation and places[old] >= len(self.seen)):
                continue
            tape.count += 1
            if row.cls is None:
                ref: weakref.ref[Any] = self.inputs[old][0]
                keys[old] = -tape.count
                self._hold(ref, -tape.count)
            else:
                ref = self.seen[places[old]]
                keys[old] = self.numbers[places[old]]
            for known in (tape.names, tape.borrowed):
                for number in range(len(row.like) if row.cls is not None and row.cls._multiple else 1):
                    if (row.number, number) in known:
                        known[tape.count, number] = list(known[row.number, number])
            tape.rows[keys[old]] = row._replace(
                number=tape.count, ref=ref, next=renamed(row.next, keys), args=renamed(row.args, keys),
                module=None if (call := self.calls.get(row.module)) is None else tape.modules.row_of(call),
            )  # fmt: skip

    def _hold(self, ref: weakref.ref[Tensor], key: int) -> None:
        tensor = ref()
        if tensor is not None:
            self.tape.held[id(tensor)] = ref, key


def _nothing() -> None:
    return None


def _is_plain_row(row: Row, rows: dict[int, Row], tape: Tape) -> bool:
    if row.cls is None:
        return True
    known = [output is None or key_of(output) in rows or _is_leaf(tape, key_of(output)) for output in row.next]
    return (
        row.is_operation and row.made_by is None and row.cls is not CopySlices and all(known)
        and all(key_of(output) in rows or key_of(output) < 0 or _is_leaf(tape, key_of(output)) for output in row.args)
        and all(is_plain(value) for _, dtype, value, *_ in tape.saved.get(row.number, ()) if dtype is None)
    )  # fmt: skip


def _is_leaf(tape: Tape, key: int) -> bool:
    row = tape.rows.get(key)
    return row is not None and row.cls is AccumulateGrad


def _tensors(inputs: Iterable[Any]) -> Iterator[Tensor]:
    for x in inputs:
        if isinstance(x, Tensor):
            yield x
        elif x.__class__ is tuple or x.__class__ is list:
            yield from (item for item in x if isinstance(item, Tensor))


def renamed(outputs: Iterable[Output | None], keys: dict[int, int]) -> Any:
    """Outputs under new keys."""
    found: list[Any] = []
    for output in outputs:
        key: Any = output[0] if isinstance(output, tuple) else output
        key = keys.get(key, key)
        found.append((key, output[1]) if isinstance(output, tuple) else key)
    return tuple(found)
