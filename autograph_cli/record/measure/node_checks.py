"""The derivative of each node against finite differences, at the inputs that it saw."""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from msgspec import Struct

from autograph_cli.engines.protocol import Measuring
from autograph_cli.graph.records import Exact, Flow, Number
from autograph_cli.record.measure.finite_difference import CannotCheck, Given, check
from autograph_cli.record.measure.recomputed import deviation as recomputed
from autograph_cli.record.names.function_calls import applying, around_calls

SECONDS = 10.0
"""For one node at most."""


class Point(Struct, frozen=True):
    """The function of a node, and the arguments that it was given."""

    function: Callable[..., Any]
    given: Given
    custom: bool
    """True if it is a custom Function, whose second derivative is checked too, and whose matrices may be any."""


class _Here(threading.local):
    last: tuple[Any, tuple[Any, ...], dict[str, Any]] | None = None
    """The operation that was computed last, unless it changed what it was given."""
    changing: tuple[Any, Given] | None = None
    """The operation in place that was computed last, and what it was given."""
    applied: tuple[Any, Given] | None = None
    """The custom Function that is being applied."""
    copying: bool = False


class _Applying(AbstractContextManager[None]):
    """Within the block, this Function is applied; `contextlib.contextmanager` would have PyTorch compile its frames."""

    def __init__(self, here: _Here, applied: tuple[Any, Given] | None) -> None:
        self.here, self.applied = here, applied

    def __enter__(self) -> None:
        self.here.applied, self.applied = self.applied, self.here.applied

    def __exit__(self, *_: object) -> None:
        self.here.applied = self.applied


def _out_of_place(engine: Measuring, operation: Any, changed: Any, *args: Any, **words: Any) -> Any:
    """Return what an operation makes of its first argument, which stays as it is."""
    return engine.call(operation, changed.clone(), *args, **words)


class NodeChecks:
    """Sees the arguments of operations and of custom Functions."""

    def __init__(self, engine: Measuring) -> None:
        self.engine = engine
        self._here = _Here()

    def listening(self) -> AbstractContextManager[None]:
        """Within the block the arguments of custom Functions are seen."""
        return around_calls(self.engine.namespace, self._function)

    def _function(self, cls: Any, args: tuple[Any, ...], words: dict[str, Any]) -> _Applying:
        given = None if self.engine.is_transforming() else self._copied(args, words)
        return _Applying(self._here, None if given is None else (cls, given))

    def changing(self, op: Any, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        """An operation is about to change its first argument."""
        if not (self._here.copying or self.engine.is_transforming()):
            self._here.changing = op, self._copied(args, words, leaves=False)

    def computed(self, op: Any, args: tuple[Any, ...], words: dict[str, Any], outputs: Any) -> None:
        """An operation was computed."""
        changed = any(output is x for output in self.engine.tensors_in((outputs,)) for x in args)
        self._here.last = None if changed else (op, args, words)

    def made(self, node: Any) -> Point | None:
        """A node was made, of the operation that was computed last or of the Function that is being applied."""
        last, self._here.last = self._here.last, None
        changing = self._here.changing
        operation = self.engine.operation_of(node)
        if self.engine.is_transforming():
            return None
        if operation is not None and last is not None and last[0] is operation:
            given = self._copied(last[1], last[2], leaves=False)
            return Point(functools.partial(self.engine.call, operation), given, False)
        if operation is not None and changing is not None and changing[0] is operation:
            self._here.changing = None
            return Point(functools.partial(_out_of_place, self.engine, operation), changing[1], False)
        if self._here.applied is not None and getattr(node, "_forward_cls", None) is self._here.applied[0]:
            cls, given = self._here.applied
            return Point(applying(cls), given, True)
        return None

    @property
    def copying(self) -> bool:
        """Return whether what is computed in this thread is a copy of arguments, and not the script's."""
        return self._here.copying

    def _copied(self, args: tuple[Any, ...], words: dict[str, Any], *, leaves: bool = True) -> Given:
        self._here.copying = True
        try:
            return Given.of(self.engine.namespace, args, words, leaves=leaves)
        finally:
            self._here.copying = False

    def result(self, point: Point) -> tuple[float | None, str]:
        """The worst relative error of a node's derivatives, and what is wrong with them; None where they were not
        compared."""
        orders, until = (2 if point.custom else 1), time.monotonic() + SECONDS
        torch = self.engine.namespace
        try:
            with self.engine.unseen():
                found = check(torch, "", point.function, point.given, orders, until, symmetric=not point.custom)
        except CannotCheck:
            return None, ""
        errors = [one.error for one in found if not one.unchecked]
        wrong = next((f"order {one.order}, {one.worst}" for one in found if not one.good), "")
        return max([error if math.isfinite(error) else 1.0 for error in errors], default=None), wrong

    def deviation(self, point: Point, made: Sequence[Exact | None], flow: Flow | None) -> tuple[Number | None, ...]:
        """Return the error of results against float64, and of the gradients that were sent on; nothing if neither is
        known."""
        found = recomputed(self.engine, point, made, flow)
        return tuple([None if off is None else Number(off) for off in found]) if found != [None, None] else ()
