"""Writes the function that sees whether a node is the one that is expected: straight code, one comparison after the other.

Of every operation's time it takes some, so there is no loop and no call in it that can be spared. Nodes of one kind share their
code; what they are compared with are its constants.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from autograph_cli.record.known import OLD, SLOT, Address, Begun, Created, Event, Made
from autograph_cli.record.tape import Tape
from autograph_cli.torch._core.dispatch import is_wrapped_number
from autograph_cli.torch._core.node import AccumulateGrad, Node, View, like_of
from autograph_cli.torch._core.state import BackwardCall, L
from autograph_cli.torch._core.tensor import Tensor

if TYPE_CHECKING:
    from autograph_cli.record.rehearsal import Rehearsal

Position = tuple[int, ...]
"""Where a tensor stands among the inputs: its number, and that within a list."""
_FIXED = {
    "AccumulateGrad": AccumulateGrad,
    "L": L,
    "Tensor": Tensor,
    "View": View,
    "error": sys.exc_info,
    "frame": sys._getframe,
    "ref": weakref.ref,
    "wrapped": is_wrapped_number,
}
_OF_REHEARSAL = (
    "numbers",
    "seen",
    "slots",
    "calls",
    "running",
    "before",
    "is_new",
    "is_known",
    "is_new_leaf",
    "is_at",
    "has_names",
    "other",
)


class Place:
    """Where in the engine something happened, and which line of the user's had called that."""

    def __init__(self, depth: int, below: CodeType, user: CodeType | None) -> None:
        self.depth, self.below = depth, below
        """How far from here the last frame of the engine's is which the line called, and its code."""
        self.user = user
        """The code of the line; none where it is the backward pass that called."""


class Seen:
    """What was seen of a node beside its row, when it was made."""

    def __init__(
        self, node: Node, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...], place: Place, passes: int
    ) -> None:
        self.node, self.inputs, self.outputs, self.place, self.passes = node, inputs, outputs, place, passes
        self.free: dict[Position, int] = {}
        """The inputs without gradient, by position: which of the tensors that the step was given."""
        self.wrapped: list[Position] = []
        """The numbers that the engine wrapped."""


def node_check(rehearsal: Rehearsal, event: Made, seen: Seen) -> Created:
    """The function that sees whether a node is that of this event."""
    return _compiled(_NodeCode(rehearsal.tape, event, seen), rehearsal, event)  # type: ignore[no-any-return]


def call_check(rehearsal: Rehearsal, event: Begun, call: BackwardCall, place: Place) -> Callable[[BackwardCall], bool]:
    """The function that sees whether a backward call is that of this event."""
    return _compiled(_CallCode(rehearsal.tape, event, call, place), rehearsal, event)  # type: ignore[no-any-return]


def _compiled(code: _Code, rehearsal: Rehearsal, event: Event) -> Any:
    code.write()
    values = [getattr(rehearsal, name) for name in _OF_REHEARSAL]
    make = _factory("\n".join(code.lines()), len(code.constants))
    return make(rehearsal, rehearsal.observer, event, *values, *code.constants)


@functools.lru_cache(1024)
def _factory(source: str, constants: int) -> Callable[..., Any]:
    names = ["of", "observer", "event", *_OF_REHEARSAL, *[f"c{number}" for number in range(constants)]]
    scope: dict[str, Any] = dict(_FIXED)
    exec(compile(f"def make({', '.join(names)}):\n{source}\n    return check", "<autograph rehearsal>", "exec"), scope)
    return scope["make"]  # type: ignore[no-any-return]


def tensor_places(node: Node, inputs: tuple[Any, ...]) -> Iterator[Position]:
    """Where tensors may stand among the inputs of such a node."""
    operation = node._operation
    positions = (
        range(len(inputs))
        if operation is None
        else [position for position, _ in operation.places if position < len(inputs)]
    )
    for position in positions:
        x = inputs[position]
        if x.__class__ is tuple or x.__class__ is list:
            yield from ((position, number) for number in range(len(x)))
        else:
            yield (position,)


class _Code:
    """Conditions, and the constants in them."""

    def __init__(self, tape: Tape, place: Place) -> None:
        self.tape, self.place = tape, place
        self.conditions: list[str] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        self.constants.append(value)
        return f"c{len(self.constants) - 1}"

    def write(self) -> None:
        raise NotImplementedError

    def lines(self) -> list[str]:
        raise NotImplementedError

    def function(self, head: str, then: list[str], otherwise: str) -> list[str]:
        """A function that does something where all conditions hold."""
        wanted = "\n            and ".join(self.conditions)
        return [
            f"    def check({head}):",
            "        try:",
            f"            if ({wanted}):",
            *[f"                {line}" for line in then],
            "        except (AttributeError, IndexError, TypeError, ValueError):",
            "            pass  # something of another kind than expected",
            f"        return {otherwise}",
        ]

    def number(self, address: Address) -> str:
        """The sequence number of the node that stands at this address."""
        where, place, _ = address
        return f"{'numbers' if where == 0 else f'before[{where - 1}]'}[{self.constant(place)}]"

    def line(self, code: CodeType | None, offset: int) -> str:
        """Whether the user's line runs; it takes longer where the engine was called in another way than expected."""
        quick = f"(f := frame({self.place.depth})).f_code is {self.constant(self.place.below)}"
        user, at = self.constant(code), self.constant(offset)
        if self.place.user is not None:
            quick = f"{quick} and (g := f.f_back).f_code is {user} and g.f_lasti == {at}"
        return f"({quick} or is_at({user}, {at}))"


class _CallCode(_Code):
    def __init__(self, tape: Tape, event: Begun, call: BackwardCall, place: Place) -> None:
        super().__init__(tape, place)
        self.event, self.call = event, call

    def lines(self) -> list[str]:
        then = ["running.passes.append(event)", "of.at = event", "observer.created = event.next", "return True"]
        return self.function("call", then, "False")

    def write(self) -> None:
        event, passes = self.event, "not running.passes" if self.event.outermost else "running.passes"
        self.conditions += [
            f"call.kind == {event.kind!r}",
            f"call.keeps_graph is {event.keeps_graph}",
            f"call.create_graph is {event.create_graph}",
            f"(call.inputs is not None) is {event.has_inputs}",
            passes,
            f"len(L.calls) == {event.outside}",
            "error()[1] is None",
            f"len(r := call.roots) == {len(event.roots)}",
        ]
        for place, (root, address) in enumerate(zip(self.call.roots, event.roots, strict=True)):
            if not isinstance(root, Tensor):
                self.conditions += [
                    f"r[{place}].output_nr == {address[2]}",
                    f"r[{place}].node._seq == {self.number(address)}",
                ]
                continue
            self.conditions.append(f"(e := r[{place}]._edge).__class__ is {self.constant(root._edge.__class__)}")
            if root._edge.__class__ is View:
                self.conditions.append(f"e.version == r[{place}]._counter[0]")
                self.conditions.append("(e := e.edge).__class__ is tuple")
            self.conditions += [f"e[1] == {address[2]}", f"e[0]._seq == {self.number(address)}"]
        self.conditions.append(self.line(*(event.site or (None, 0))))
        if event.unsure:
            self.conditions.append("has_names(event)")


class _NodeCode(_Code):
    """Conditions for a node."""

    def __init__(self, tape: Tape, event: Made, seen: Seen) -> None:
        super().__init__(tape, seen.place)
        self.event, self.seen = event, seen
        self.met = event.slots - len(event.given)
        """How many tensors were given by now."""

    def lines(self) -> list[str]:
        then = [
            "numbers.append(node._seq)",
            "seen.append(ref(node))",
            "of.at = event",
            "observer.created = event.next",
            "return None",
        ]
        return self.function("node, inputs, outputs", then, "other(event, node, inputs, outputs)")

    def write(self) -> None:
        node = self.seen.node
        self.conditions += [
            f"node.__class__ is {self.constant(node.__class__)}",
            f"node._like == {self.constant(_copy(node._like))}",
        ]
        self._edges()
        self._values()
        self._kind_of_result()
        self.conditions.append(self.line(self.event.template.row.code, self.event.template.row.offset))
        self._parent()
        self._inputs()
        self._module()

    def _edges(self) -> None:
        following = self.event.template.next
        self.conditions.append(f"len(e := node._edges) == {len(following)}")
        for number, address in enumerate(following):
            if address is None:
                self.conditions.append(f"e[{number}] is None")
                continue
            self.conditions += [f"(t := e[{number}])[1] == {address[2]}", self._target(address)]

    def _target(self, address: Address) -> str:
        """Whether the edge `t` leads there."""
        where, place, _ = address
        if where == OLD:
            row = self.tape.rows[place]
            ref = self.constant(row.ref)
            return (
                f"t[0].__class__ is AccumulateGrad and t[0].variable is {ref}()"
                if row.cls is AccumulateGrad
                else f"t[0] is {ref}()"
            )
        if where != SLOT:
            return f"t[0]._seq == {self.number(address)}"
        if place < self.met:
            return f"t[0].__class__ is AccumulateGrad and t[0].variable is slots[{self.constant(place)}].ref()"
        self.met += 1
        return f"is_new_leaf(t[0], {self.constant(self._given(place))})"

    def _given(self, slot: int) -> Any:
        """The row of a tensor that the step is given with this event."""
        return self.event.given[slot - self.event.slots + len(self.event.given)]

    def _values(self) -> None:
        """What the node keeps beside tensors."""
        node = self.seen.node
        operation = node._operation
        for place, name in enumerate(node._item_names if operation is not None else ()):
            if operation.is_tensor(name):
                continue
            value = node._saved[place]
            if value is None:
                self.conditions.append(f"node._saved[{place}] is None")
            elif value.__class__ in (int, bool, str) or (value.__class__ is float and value):
                self.conditions.append(
                    f"(v := node._saved[{place}]) == {self.constant(value)} and v.__class__ is {value.__class__.__name__}"
                )
            elif isinstance(value, np.dtype) or (
                value.__class__ is tuple and all(item.__class__ is int for item in value)
            ):
                self.conditions.append(f"node._saved[{place}] == {self.constant(value)}")
            else:
                self.conditions.append(f"repr(node._saved[{place}]) == {self.constant(repr(value))}")

    def _kind_of_result(self) -> None:
        """A change in place has the same node as the operation that makes a new tensor."""
        if not self.seen.outputs:
            self.conditions.append("not outputs")
            return
        edge = self.seen.outputs[0]._edge
        if edge.__class__ is tuple and edge[0] is self.seen.node:
            self.conditions.append("(o := outputs[0]._edge)[0] is node")
        else:
            self.conditions.append(f"(o := outputs[0]._edge).__class__ is {self.constant(edge.__class__)}")
            if edge.__class__ is tuple:
                self.conditions.append("o[0] is not node")
        if self.event.template.row.op or edge.__class__ is not tuple:
            same = self.seen.inputs[0] is self.seen.outputs[0]
            self.conditions.append(f"inputs[0] is {'' if same else 'not '}outputs[0]")

    def _parent(self) -> None:
        parent = self.event.template.parent
        if parent is not None:
            self.conditions.append(f"L.current._seq == {self.number(parent)}")

    def _inputs(self) -> None:
        seen = self.seen
        for place in tensor_places(seen.node, seen.inputs):
            x: Any = functools.reduce(lambda of, number: of[number], place, seen.inputs)
            text = "inputs" + "".join(f"[{number}]" for number in place)
            if place in seen.free:
                self.conditions.append(self._free(text, seen.free[place], x))
            elif place in seen.wrapped:
                self.conditions.append(
                    f"((x := {text}) is {self.constant(weakref.ref(x))}() or (x.__class__ is Tensor and wrapped(x)))"
                )
            elif not isinstance(x, Tensor):
                self.conditions.append(f"{text}.__class__ is {self.constant(x.__class__)}")
        for position, x in enumerate(seen.inputs):
            if (position, 0) in seen.free:
                self.conditions.append(f"len(inputs[{position}]) == {len(x)}")

    def _free(self, text: str, slot: int, x: Tensor) -> str:
        if slot < self.met:
            return f"{text} is slots[{self.constant(slot)}].ref()"
        self.met += 1
        template = self._given(slot)
        if template is None:
            return f"is_known({text}, {self.constant(like_of(x._raw))}, {self.constant([])})"
        return f"is_new({text}, {self.constant(template)}, {x._base is not None})"

    def _module(self) -> None:
        """The call of a module that is going on."""
        event, wanted = self.event, self.event.template.module
        inside = "len(L.calls) > running.passes[-1].outside" if self.seen.passes else "L.calls"
        if wanted < 0:
            self.conditions.append(f"not ({inside})" if self.seen.passes else "not L.calls")
        elif not event.called:
            self.conditions.append(f"L.calls[-1][0] == calls[{self.constant(wanted)}]")
        else:
            self.conditions.append(f"({inside})" if self.seen.passes else "(m := L.calls)")
            self._new_calls()

    def _new_calls(self) -> None:
        """The last call is one of this module, in one of that, and so on, in the one that is known."""
        event = self.event
        if self.seen.passes:
            self.conditions.append("(m := L.calls)")
        count = len(event.called)
        outer = event.called[0][1]
        self.conditions.append(
            f"len(m) == {count}" if outer < 0 else f"m[-{count + 1}][0] == calls[{self.constant(outer)}]"
        )
        if event.calls > count:
            self.conditions.append(f"m[-{count}][0] > calls[-1]")
        for place, (about, _) in enumerate(event.called):
            of = f"m[{place - count}]"
            self.conditions += [f"{of}[1] is {self.constant(about.ref)}()", f"calls.append({of}[0]) is None"]


def _copy(like: Any) -> Any:
    return list(like) if isinstance(like, list) else like
