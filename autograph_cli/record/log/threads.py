"""The things that live, and the step that goes on in each thread."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

from autograph_cli.record.log.events import StepLog
from autograph_cli.record.names.modules import CallEvent

_Thing = TypeVar("_Thing")


class Living(Generic[_Thing]):
    """The things of a kind that live.

    A `WeakSet` would run Python code as one goes, and swallow what a signal's handler raises there.
    """

    def __init__(self) -> None:
        self._refs: list[weakref.ref[_Thing]] = []

    def add(self, thing: _Thing) -> None:
        self._refs = [ref for ref in self._refs if ref() is not None] + [weakref.ref(thing)]

    def __iter__(self) -> Iterator[_Thing]:
        return iter([thing for ref in self._refs if (thing := ref()) is not None])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Thread(threading.local):
    """The step that is going on in this thread, and the calls of modules, from the outermost on, as far as they are
    known."""

    def __init__(self, steps: Living[StepLog]) -> None:
        self._steps = steps
        self.calls: list[CallEvent] = []
        self.updates = False
        """True while an optimizer takes a step, whose operations are on no way to a loss."""
        self.begin()

    def begin(self) -> None:
        """A new step."""
        self.step = StepLog()
        self._steps.add(self.step)
