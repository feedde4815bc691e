"""What is seen of parameters while the script runs: those that nothing uses, and gradients that nobody zeroes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autograph_cli.engines.protocol import Engine
from autograph_cli.graph import Notice, Source
from autograph_cli.record.event_log import EventLog
from autograph_cli.record.names import parameters_in

FEW = 16
"""So many steps are watched for stale gradients: who forgets to zero them does so from the second step on."""


class Noticed:
    """Watches the parameters of one run."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._unused: list[tuple[str, weakref.ref[Any]]] = []
        self._unreached: list[tuple[str, weakref.ref[Any]]] = []
        self._first: dict[int, tuple[weakref.ref[Any], int]] = {}
        """Of each parameter without a gradient, by id: its version when it was seen first."""
        self._versions: dict[int, int] = {}
        """Of each leaf, by key: its version when the last backward pass was over."""
        self._often: dict[int, int] = {}
        """Of each leaf, by key: how often in turn its gradient was older than its last change."""
        self._stale: dict[int, Notice] = {}
        self._adds_to: dict[int, int] = {}
        """The same of the leaves that the pass which is going on may add to."""
        self._notice = Notice("stale", "")

    def look_at(self, optimizers: Iterable[weakref.ref[Any]], spaces: Sequence[Mapping[str, Any]]) -> None:
        """Note which parameters of the optimizers no operation has taken so far, and which ones no gradient reached."""
        optimizers = list(optimizers)
        bare = {id(x): x for x in _parameters(optimizers) if x.requires_grad and x.grad is None}
        for key, x in bare.items():
            if key not in self._first or self._first[key][0]() is not x:
                self._first[key] = weakref.ref(x), x._version
        moved = {id(x) for ref in optimizers if (each := ref()) is not None for x in each.state}
        names = _names(spaces, self._log.engine.tensor) if bare else {}
        named = [(names[key], weakref.ref(x), self._met(x)) for key, x in bare.items() if key in names]
        self._unused = [(name, ref) for name, ref, met in named if not met]
        self._unreached = [
            (name, ref)
            for name, ref, met in named
            if met and id(x := ref()) not in moved and x is not None and x._version == self._first[id(x)][1]
        ]

    def begins(self, leaves: Mapping[int, weakref.ref[Any]], line: Callable[[], Source | None], step: int) -> None:
        """A backward pass that may reach these leaves is about to run."""
        self._adds_to.clear()
        for key, x in _living(leaves):
            before = self._versions.get(key)
            often = self._often.get(key, 0)
            changed = before is not None and x._version != before
            if key not in self._stale and (often or changed):
                self._adds_to[key] = often + changed if _is_set(self._log.engine, x) else 0
        if any(count == 2 for count in self._adds_to.values()):
            self._notice = Notice("stale", "", line(), step)

    def ends(self, leaves: Mapping[int, weakref.ref[Any]], ran: Container[int]) -> None:
        """The pass is over, and ran these nodes."""
        for key, count in self._adds_to.items():
            # Once may be in passing, on the way to another network: such a gradient is zeroed before the next change.
            if key in ran:
                self._often[key] = count
                if count == 2:
                    self._stale[key] = self._notice
        self._versions |= {key: x._version for key, x in _living(leaves)}

    def notices(self) -> tuple[Notice, ...]:
        """What was noted, with the names of the parameters that are known by now."""
        log = self._log
        found = [Notice("unused", name) for name, ref in self._unused if (x := ref()) is None or not self._met(x)]
        found += [Notice("unreached", name) for name, _ in self._unreached]
        for key in sorted(self._stale.keys() & log.known.keys(), key=lambda key: log.known[key].number):
            notice = self._stale[key]
            named = log.names_of(key) or log.names_of(key, borrowed=True)
            found += [Notice(notice.kind, name, notice.source, notice.step) for name in named[:1]]
        return tuple(found)

    def _met(self, x: Any) -> bool:
        held = self._log.tensors.get(id(x))
        return held is not None and held[0]() is x and held[1] >= 0


def _living(leaves: Mapping[int, weakref.ref[Any]]) -> Iterator[tuple[int, Any]]:
    for key, ref in leaves.items():
        x = ref()
        if x is not None:
            yield key, x


def _is_set(engine: Engine, x: Any) -> bool:
    """Whether a parameter has a gradient that is not zero."""
    return x.grad is not None and bool(np.any(np.asarray(engine.array(x.grad)) != 0))


def _parameters(optimizers: Iterable[weakref.ref[Any]]) -> Iterator[Any]:
    for ref in optimizers:
        optimizer = ref()
        for group in () if optimizer is None else optimizer.param_groups:
            yield from group["params"]


def _names(spaces: Sequence[Mapping[str, Any]], tensor: type) -> dict[int, str]:
    """The variables by which parameters are reached, by id: themselves, and those of modules."""
    found: dict[int, str] = {}
    for space in spaces:
        for name, value in list(space.items()):
            if issubclass(type(value), tensor):
                found.setdefault(id(value), name)
            for inner, parameter in parameters_in(value):
                found.setdefault(id(parameter), f"{name}.{inner}")
    return found
