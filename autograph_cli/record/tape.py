"""The engine's events as rows of plain data: what was made, from what, where, and during which backward call."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any, NamedTuple

from autograph_cli.record.modules import CallRow, Modules, was_given
from autograph_cli.record.sites import PASS, RUNNER, USER, Site, kind_of, kinds
from autograph_cli.torch._core.dispatch import is_wrapped_number
from autograph_cli.torch._core.node import LEAF, AccumulateGrad, Node, View, like_of
from autograph_cli.torch._core.state import BackwardCall, L
from autograph_cli.torch._core.tensor import Tensor
from autograph_cli.torch._core.views import CopySlices

Output = int | tuple[int, int]
"""An output of a row: the row's key where it is number 0, else (key, number)."""
Kept = tuple[str, Any, Any, int, int, int]
"""Something that a node keeps: a name, dtype, shape, storage, bytes and version; or a name, None and the value."""
LIMIT = 10_000
"""So many rows may gather before those of dead nodes are swept away."""
BATCH = 500
"""So many rows gather before dead ones of finished steps are dropped."""
CALLS = 1_000
"""So many backward calls may gather in one step before those that made nothing are forgotten, the newest apart."""


def key_of(output: Output) -> int:
    """The key of the row that an output is of."""
    return output if output.__class__ is int else output[0]  # type: ignore[index]


def number_of(output: Output) -> int:
    """Which output of its row it is."""
    return 0 if output.__class__ is int else output[1]  # type: ignore[index]


class PassRow:
    """One backward call."""

    __slots__ = (
        "call",
        "create_graph",
        "error",
        "failed",
        "last_key",
        "number",
        "order",
        "outside",
        "ran",
        "roots",
        "site",
    )

    def __init__(self, number: int, call: str, create_graph: bool, last_key: int) -> None:
        self.number = number
        self.call = call
        self.create_graph = create_graph
        self.last_key = last_key
        """The newest node when the call began."""
        self.outside = len(L.calls)
        """How many calls of modules were going on when it began."""
        self.error = 0
        """The id of the exception that was being handled when the call began."""
        self.failed = False
        self.site: Site | None = None
        self.roots: tuple[Output, ...] = ()
        self.ran: list[int] = []
        self.order = 1


class Row(NamedTuple):
    """A node, a leaf (however often its AccumulateGrad is made anew) or an input without gradient."""

    number: int
    """Its place in the order in which things were met."""
    ref: weakref.ref[Any]
    """The node; of leaves and inputs, the tensor."""
    cls: type[Node] | None
    """None for an input."""
    like: Any
    next: tuple[Output | None, ...] = ()
    args: tuple[Output, ...] = ()
    parent: int | None = None
    made_by: PassRow | None = None
    code: CodeType | None = None
    offset: int = 0
    op: str = ""
    """The operation's name where the class does not tell it: of changes in place."""
    module: CallRow | None = None
    """The call of a module that it ran in, or in which an input was made."""
    owner: str = ""
    """The path of the module that a leaf or an input belongs to."""

    @property
    def is_operation(self) -> bool:
        return self.cls is not None and self.cls is not AccumulateGrad

    @property
    def order(self) -> int:
        return 0 if self.made_by is None else self.made_by.order


_row = tuple.__new__


class Stack(threading.local):
    """The backward calls that are running in this thread, the innermost last."""

    def __init__(self) -> None:
        self.passes: list[PassRow] = []


class Tape:
    """Rows by key (a node's sequence number; inputs have negative keys), in order. It holds no tensor and no node."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self.count = 0
        self.calls = 0
        self.held: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        """Of tensors that are leaves or inputs, by id: the tensor and its key."""
        self.windows: dict[int, tuple[weakref.ref[Tensor], list[int]]] = {}
        """Of tensors without gradient, by id: the tensor and the numbers of the inputs that are views of it."""
        self.names: dict[tuple[int, int], list[str]] = {}
        """The variables of each output, by its row's number and its own, the first one first."""
        self.borrowed: dict[tuple[int, int], list[str]] = {}
        """The variables of what an input is a view of, likewise."""
        self.custom: dict[int, tuple[tuple[int | None, ...], tuple[int | None, ...]]] = {}
        """Of custom Functions, by the row's number: for each thing kept, the edge of the input or the output that it is."""
        self.parameters: dict[int, weakref.ref[Tensor]] = {}
        """The leaves that nodes of this step lead to, by their rows' numbers."""
        self.lies: dict[int, int] = {}
        """The storage, among those that nodes of this step keep, in which a leaf or an input lies, by its row's number."""
        self.saved: dict[int, tuple[Kept, ...]] = {}
        """What nodes keep for backward, by the row's number."""
        self.new_leaves = False
        """Whether leaves were met since somebody looked for their names."""
        self.derivatives = False
        """Whether a backward call has made nodes."""
        self.passes: list[PassRow] = []
        """The backward calls of the step that is going on."""
        self.running = Stack()
        self.modules = Modules()
        self.limit, self.most_calls = LIMIT, CALLS
        self.settled = 0
        """Rows up to this number are left to `sweep`."""
        self.pinned: tuple[int, int] = (0, 0)
        """The rows of a finished step that are wanted still: after this number, up to that one."""

    def copy(self) -> Tape:
        """A tape that goes on from here by itself, in this thread."""
        other = Tape()
        other.rows, other.held, other.names = dict(self.rows), dict(self.held), dict(self.names)
        other.windows = {name: (ref, list(views)) for name, (ref, views) in self.windows.items()}
        other.borrowed = dict(self.borrowed)
        other.lies, other.custom = dict(self.lies), dict(self.custom)
        other.saved, other.count, other.limit = dict(self.saved), self.count, sys.maxsize
        other.modules = self.modules
        return other

    # -- events

    def begins(self, call: BackwardCall) -> None:
        """A backward call is about to run."""
        entry = PassRow(self.calls, call.kind, call.create_graph, self.newest_key())
        self.calls += 1
        code, offset = self.site([])
        entry.site = None if code is None else (code, offset)
        entry.roots = tuple([output for output in map(self.root, call.roots) if output is not None])
        entry.error = id(sys.exc_info()[1])
        if len(self.passes) >= self.most_calls:
            self.forget_calls()
        self.running.passes.append(entry)
        self.passes.append(entry)

    def root(self, root: Any) -> Output | None:
        """The output that a root of a backward call is."""
        if isinstance(root, Tensor):
            return self.output(root)
        key = self.key(root.node)
        return (key, root.output_nr) if root.output_nr else key

    def ends(self, call: BackwardCall) -> None:
        """The innermost call is over."""
        entry = self.running.passes.pop()
        rows = self.rows
        entry.ran = [self.key(node) for node in call.ran]
        if self.derivatives:
            # Calls from within this one may have run what it made, and are above it.
            nested = self.passes[self.passes.index(entry) :] if self.passes[-1] is not entry else [entry]
            for later in nested:
                made_by = {row.made_by for row in (rows.get(key) for key in later.ran) if row is not None}
                later.order = 1 + max((0 if maker is None else maker.order for maker in made_by), default=0)
        error = sys.exc_info()[1]
        entry.failed = error is not None and id(error) != entry.error

    def created(self, node: Node, inputs: Iterable[Any], outputs: tuple[Tensor, ...]) -> None:
        """A node was made: the observer's most frequent event."""
        rows, call = self.rows, self.module_call()
        following: list[Output | None] = []
        for edge in node._edges:
            if edge is None:
                following.append(None)
                continue
            node_there = edge[0]
            key = node_there._seq
            if key not in rows:
                key = self.key(node_there)
            following.append((key, edge[1]) if edge[1] else key)
        args: list[Output] = []
        op = ""
        for x in inputs:
            if isinstance(x, Tensor):
                edge = x._edge
                if edge.__class__ is tuple and edge[0]._seq in rows:  # what `take` would find, sooner
                    args.append((edge[0]._seq, edge[1]) if edge[1] else edge[0]._seq)
                else:
                    self.take(x, args)
                if outputs and x is outputs[0]:
                    op = self.in_place(node)
            elif x.__class__ is tuple or x.__class__ is list:
                for item in x:
                    if isinstance(item, Tensor):
                        self.take(item, args)
        if not op and outputs:
            edge = outputs[0]._edge
            if (edge.__class__ is tuple and edge[0] is not node) or (edge is None and 0 in node._differentiable):
                op = self.in_place(node)
                args = [output for output in following if output is not None]
        elif op and node._seq in map(key_of, args):  # the tensor has its new history already
            args = [output for output in following if output is not None]
        passes = self.running.passes
        current = None
        if passes:
            current = L.current
            self.derivatives = True
        code, offset = self.site(passes)
        self.count = number = self.count + 1
        rows[node._seq] = _row(
            Row,
            (
                number,
                weakref.ref(node),
                node.__class__,
                node._like,
                tuple(following),
                tuple(args),
                None if current is None else current._seq,
                passes[-1] if passes else None,
                code,
                offset,
                op,
                call,
                "",
            ),
        )
        if len(rows) > self.limit:
            self.sweep()

    def module_call(self) -> CallRow | None:
        """The row of the call of a module that is going on; none within a backward pass that began in it."""
        passes, depth = self.running.passes, len(L.calls)
        return self.modules.row_at(depth) if depth > (passes[-1].outside if passes else 0) else None

    def belongs(self, tensor: Tensor) -> tuple[CallRow | None, str]:
        """The call that a leaf or an input was made in, the innermost that was not given it; or the module that has it."""
        owner = self.modules.owner(tensor)
        if owner:
            return None, owner
        depth = next((depth for depth in range(len(L.calls), 0, -1) if not was_given(L.calls[depth - 1], tensor)), 0)
        return self.modules.row_at(depth) if depth else None, ""

    def in_place(self, node: Node) -> str:
        """What changed a tensor in place; a change of a view is one with the node that it gives to the base."""
        if isinstance(node, CopySlices):
            node = node.function()
            self.rows.pop(node._seq, None)
        return "" if node._operation is None else f"{node._operation.name.rstrip('_')}_"

    def site(self, passes: list[PassRow]) -> tuple[CodeType | None, int]:
        """The user's line that is running; inside a backward pass, where that was called."""
        frame = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            kind = kinds.get(code.co_filename)
            if kind is None:
                kind = kind_of(code.co_filename)
            if kind == USER:
                return code, frame.f_lasti
            if kind == PASS and passes and passes[-1].site is not None:
                return passes[-1].site
            if kind == RUNNER:
                break
            frame = frame.f_back  # type: ignore[assignment]
        return None, 0

    def take(self, tensor: Tensor, args: list[Output]) -> None:
        """Add the output that `tensor` is to `args`; numbers that the engine wrapped are no tensors of the script."""
        output = self.output(tensor)
        if output is None and not is_wrapped_number(tensor):
            output = self.input(tensor)
        if output is not None:
            args.append(output)

    def output(self, tensor: Tensor) -> Output | None:
        """Which output a tensor is, if it is one, or a leaf or an input that was met."""
        edge = tensor._edge
        if edge.__class__ is View:
            fresh = edge.edge is not None and tensor._counter is not None and tensor._counter[0] == edge.version
            edge = edge.edge if fresh else None
        if edge is LEAF:
            meta = tensor._meta
            accumulator = None if meta is None or meta.accumulator is None else meta.accumulator()
            edge = None if accumulator is None else (accumulator, 0)
        if edge is None:
            held = self.held.get(id(tensor))
            return held[1] if held is not None and held[0]() is tensor else None
        key = self.key(edge[0])
        return (key, edge[1]) if edge[1] else key

    def input(self, tensor: Tensor) -> int:
        """A new row for a tensor that needs no gradient."""
        self.count += 1
        key = -self.count
        ref = weakref.ref(tensor)
        made_in, owner = self.belongs(tensor)
        self.rows[key] = Row(self.count, ref, None, like_of(tensor._raw), module=made_in, owner=owner)
        self.held[id(tensor)] = ref, key
        base = tensor._base
        if base is not None and base._edge is None:
            self.views(base, self.count)
        return key

    def views(self, base: Tensor, number: int) -> None:
        """Note that the input with this number is a view of a tensor without gradient."""
        views = self.windows.setdefault(id(base), (weakref.ref(base), []))[1]
        views.append(number)
        del views[:-CALLS]

    def note(self, tensor: Tensor, path: str) -> Output | None:
        """Note a name for the output that a tensor is, and for the inputs that are views of it; returns the output."""
        ref, numbers = self.windows.get(id(tensor), (None, []))
        if numbers and ref is not None and ref() is tensor:
            for number in numbers:
                _add(self.borrowed, (number, 0), path)
            numbers.clear()
        output = self.output(tensor)
        if output is not None:
            _add(self.names, (self.rows[key_of(output)].number, number_of(output)), path)
        return output

    def key(self, node: Node) -> int:
        """The key of a node's row, which is made if no event told of the node."""
        if node.__class__ is AccumulateGrad:
            return self._leaf(node)
        if node._seq not in self.rows:
            self.meet(node)
        return node._seq

    def meet(self, node: Node) -> None:
        """Add rows for a node that was made before the recorder began, and for all behind it."""
        unseen, stack = {node._seq: node}, [node]
        while stack:
            for edge in stack.pop()._edges:
                if edge is not None and edge[0]._seq not in self.rows and edge[0]._seq not in unseen:
                    unseen[edge[0]._seq] = edge[0]
                    stack.append(edge[0])
        for key in sorted(unseen):
            self._import(unseen[key])

    def _import(self, node: Node) -> None:
        if isinstance(node, AccumulateGrad):
            self._leaf(node)
            return
        places = [None if edge is None else (self.key(edge[0]), edge[1]) for edge in node._edges]
        following = tuple([place if place is None or place[1] else place[0] for place in places])
        args = tuple([output for output in following if output is not None])
        self.count += 1
        self.rows[node._seq] = Row(self.count, weakref.ref(node), type(node), node._like, following, args)

    def _leaf(self, node: AccumulateGrad) -> int:
        """The key of a leaf's row: the sequence number of its first AccumulateGrad."""
        variable = node.variable
        held = self.held.get(id(variable))
        if held is not None and held[0]() is variable:
            known = self.rows.get(held[1])
            if known is not None and known.cls is not None:
                return held[1]
        self.count += 1
        self.new_leaves = True
        passes, current = self.running.passes, L.current
        made = bool(passes) and current is not None and node._seq > passes[-1].last_key
        ref = weakref.ref(variable)
        made_in, owner = self.belongs(variable)
        self.rows[node._seq] = Row(
            self.count,
            ref,
            AccumulateGrad,
            node._like,
            parent=current._seq if made and current is not None else None,
            made_by=passes[-1] if made else None,
            module=made_in,
            owner=owner,
        )
        self.held[id(variable)] = ref, node._seq
        return node._seq

    # -- what there is

    def since(self, number: int) -> Iterator[tuple[int, Row]]:
        """The rows that were met after this number, the newest first."""
        for key in reversed(self.rows):
            row = self.rows[key]
            if row.number <= number:
                return
            yield key, row

    def closure(self, keys: Iterable[int]) -> set[int]:
        """These rows and all that they hang on: by gradient, by data, as derivatives."""
        rows = self.rows
        stack = [key for key in keys if key in rows]
        met = set(stack)
        while stack:
            row = rows[stack.pop()]
            for output in (*row.next, *row.args, row.parent):
                if output is None:
                    continue
                key = key_of(output)
                if key not in met and key in rows:
                    met.add(key)
                    stack.append(key)
        return met

    def newest_key(self) -> int:
        """The highest sequence number that was met."""
        return max((key for key, _ in zip(reversed(self.rows), range(8), strict=False)), default=0)

    def forget(self, last: int) -> None:
        """Now and then, drop the dead rows of finished steps, up to number `last`, that no other row hangs on.

        This looks at new rows only; what outlives it waits for a `sweep`.
        """
        if self.count - self.settled < BATCH:
            return
        used: set[Any] = set()
        keep: set[int] = set()
        for key, row in self.since(self.settled):
            number = row[0]
            if number > last or row[1]() is not None or key in used:
                # What a row hangs on is older than itself.
                keep.add(number)
                used.update(row.next, row.args)
                used.add(row.parent)
                used.update([output[0] for output in (*row.next, *row.args) if output.__class__ is tuple])
        self._drop({row[0] for _, row in self.since(self.settled)} - keep)
        self.settled = last
        if len(self.held) > self.limit:
            self.sweep()

    def _drop(self, numbers: set[int]) -> None:
        self.rows = {key: row for key, row in self.rows.items() if row[0] not in numbers}
        self.saved = {number: saved for number, saved in self.saved.items() if number not in numbers}
        self.custom = {number: places for number, places in self.custom.items() if number not in numbers}
        self.names = {place: names for place, names in self.names.items() if place[0] not in numbers}
        self.borrowed = {place: names for place, names in self.borrowed.items() if place[0] not in numbers}
        self.windows = {
            name: (ref, [number for number in views if number not in numbers])
            for name, (ref, views) in self.windows.items()
            if ref() is not None
        }

    def sweep(self) -> None:
        """Drop the rows of dead nodes, apart from those that living ones, or a step that is wanted still, hang on."""
        first, last = self.pinned
        starts = [
            key
            for key, row in self.rows.items()
            if first < row.number <= last or (row.is_operation and row.ref() is not None)
        ]
        self.held = {name: held for name, held in self.held.items() if held[0]() is not None}
        leaves = [key for _, key in self.held.values() if self.rows[key].cls is not None]
        keep = self.closure([*starts, *leaves])
        self._drop({row[0] for key, row in self.rows.items() if key not in keep})
        self.held = {name: held for name, held in self.held.items() if held[1] in keep}
        self.settled = self.count
        self.limit = max(LIMIT, 2 * len(self.rows))
        self.forget_calls()

    def forget_calls(self) -> None:
        """Drop the backward calls of this step that made no node which is still known, the newest ones apart."""
        makers = {id(row.made_by) for row in self.rows.values()}
        older, newer = self.passes[: -CALLS // 10], self.passes[-CALLS // 10 :]
        self.passes = [p for p in older if id(p) in makers or p in self.running.passes] + newer
        self.most_calls = max(CALLS, 2 * len(self.passes))


def _add(names: dict[tuple[int, int], list[str]], place: tuple[int, int], name: str) -> None:
    known = names.setdefault(place, [])
    if name not in known:
        known.append(name)
