"""What is seen of parameters while the script runs: those that nothing uses, and gradients that nobody zeroes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograph_cli.engines.protocol import Engine
from autograph_cli.graph import Notice, Source
from autograph_cli.record.event_log import EventLog
from autograph_cli.record.names import parameters_in

FEW = 16
"""So many steps are watched for stale gradients: who forgets to zero them does so from the second step on."""


@dataclass(slots=True)
class _Bare:
    """A parameter of an optimizer that had no gradient when it was seen first."""

    ref: weakref.ref[Any]
    version: int
    """That which it had then."""
    name: str = ""
    met: bool = False
    """Whether an operation has taken it."""
    reached: bool = False
    """Whether it had a gradient since."""
    changed: bool = False
    """Whether its values were changed, for which it may have had one."""


class Noticed:
    """Watches the parameters of one run."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._bare: dict[int, _Bare] = {}
        """By id. What is known of a parameter stays when it is gone, as with the function that it was made in."""
        self._versions: dict[int, int] = {}
        """Of each leaf, by key: its version when the last backward pass was over."""
        self._often: dict[int, int] = {}
        """Of each leaf, by key: how often in turn its gradient was older than its last change."""
        self._stale: dict[int, Notice] = {}
        self._adds_to: dict[int, int] = {}
        """The same of the leaves that the pass which is going on may add to."""
        self._notice = Notice("stale", "")

    def look_at(self, optimizers: Iterable[weakref.ref[Any]], spaces: Sequence[Mapping[str, Any]]) -> None:
        """Note the parameters of the optimizers that have no gradient, with the names that they have here."""
        optimizers = list(optimizers)
        bare = {id(x): x for x in _parameters(optimizers) if x.requires_grad and x.grad is None}
        for key, x in bare.items():
            if key not in self._bare or self._bare[key].ref() is not x:
                self._bare[key] = _Bare(weakref.ref(x), x._version)
        self.look_again()
        moved = {id(x) for ref in optimizers if (each := ref()) is not None for x in each.state}
        names = _names(spaces, self._log.engine.tensor) if bare else {}
        for key in bare:
            known = self._bare[key]
            known.name, known.reached = names.get(key) or known.name, known.reached or key in moved

    def look_again(self) -> None:
        """Note which of those parameters operations have taken by now, and which ones a gradient has reached."""
        for known in self._bare.values():
            x = None if known.reached else known.ref()
            if x is not None:
                known.met = known.met or self._met(x)
                known.reached, known.changed = x.grad is not None, x._version != known.version

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
        self.look_again()
        bare = [known for known in self._bare.values() if known.name and not known.reached]
        found = [Notice("unused", known.name) for known in bare if not known.met]
        found += [Notice("unreached", known.name) for known in bare if known.met and not known.changed]
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
    numbers = None if x.grad is None else engine.array(x.grad)
    return numbers is not None and bool(np.any(np.asarray(numbers) != 0))


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
