"""Events for a recorder of calls between ranks: operations that leave no node."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._core.base.schema import parse
from .._core.base.state import process_state, thread_state
from .._core.operations.operation import Operation
from ._groups import Call


@functools.cache
def operation_of(name: str) -> Operation:
    """Return what names the arguments of a call."""
    schema = parse(f"{name}(Tensor[] tensors, str op='', int? peer=None, str group='', int bytes=0, int number=0)")
    return Operation(schema, name, name, (), {})


def told(call: Call, given: Sequence[Any], changed: Sequence[Any]) -> Callable[[], Any] | None:
    """Tell the observer of a call, by which `given` is read and `changed` is written: the operation is named as the
    function, and has the kind of reduction, the peer, the group, the bytes that this rank gives, and the number of the
    call in its group. What this returns tells the observer that the result is there."""
    observer = process_state.observer
    if observer is None or thread_state.unobserved:
        return None
    tensors = tuple(given) or tuple(changed)
    done: Callable[[], Any] | None = observer.collective(call, tensors, changed)
    if not tensors:
        return done
    plain = (call.op, call.peer, call.group.group_name, call.bytes, call.number)
    outputs = tuple(changed) or tuple(given)
    observer.untracked(call.name, operation_of(call.name), (tuple(given), *plain), outputs)
    return done
