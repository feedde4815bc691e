"""Watches parameters while the script runs: those that nothing uses, and gradients that nobody zeroes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograph_cli.graph import Notice, Source
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import LEAF, BackwardEvent
from autograph_cli.record.names.source_locations import Site
from autograph_cli.record.names.variables import parameters_in

FEW = 16
"""The steps that are watched for stale gradients: who forgets to zero them does so from the second step on."""
CALLS = 64
"""The most backward calls that are watched."""
MANY = 2
"""The calls in a row that must add to older gradients to be told."""


@dataclass(slots=True)
class _Bare:
    """A parameter of an optimizer that had no gradient when it was seen first."""

    ref: weakref.ref[Any]
    version: int
    """The parameter's version then."""
    name: str = ""
    met: bool = False
    """True if an operation has taken it."""
    reached: bool = False
    """True if it had a gradient since."""
    changed: bool = False
    """True if its values were changed, for which it may have had a gradient."""


@dataclass(slots=True)
class _Written:
    """The gradient of a leaf as the last backward call left it that added to it."""

    ref: weakref.ref[Any]
    grad: weakref.ref[Any]
    version: int
    """The leaf's version then."""
    often: int
    """The number of calls in a row that added to an older gradient while the leaf was unchanged."""
    adds_to: int
    """The same with the call that is going on, if that adds to it."""


class Noticed:
    """Watches the parameters of one run."""

    def __init__(self, log: EventLog, is_set: Callable[[Any], bool]) -> None:
        self._log, self._is_set = log, is_set
        self._bare: dict[int, _Bare] = {}
        """By id. What is known of a parameter stays when it is gone, as with the function that it was made in."""
        self._held: set[int] = set()
        """The ids of the parameters of optimizers."""
        self._written: dict[int, _Written] = {}
        """By the key of the leaf."""
        self._stale: dict[int, tuple[Site | None, int]] = {}
        """The place and the step where a backward call added to an older gradient, by the leaf's key."""

    def look_at(self, optimizers: Iterable[weakref.ref[Any]], spaces: Sequence[Mapping[str, Any]]) -> None:
        """Note the parameters of the optimizers that have no gradient, with the names that they have here."""
        optimizers = list(optimizers)
        self._held.update(map(id, _parameters(optimizers)))
        bare = {id(x): x for x in _parameters(optimizers) if x.requires_grad and x.grad is None}
        for key, x in bare.items():
            if key not in self._bare or self._bare[key].ref() is not x:
                self._bare[key] = _Bare(weakref.ref(x), x._version)
        self.look_again()
        moved = {id(x) for ref in optimizers if (each := ref()) is not None for x in each.state}
        waiting = [key for key in bare if not self._bare[key].reached]
        names = _names(spaces, self._log.engine.tensor) if waiting else {}
        for key in waiting:
            known = self._bare[key]
            known.name, known.reached = names.get(key) or known.name, key in moved

    def look_again(self) -> None:
        """Note which of those parameters operations have taken by now, and which ones a gradient has reached."""
        for known in [*self._bare.values()]:
            x = None if known.reached else known.ref()
            if x is not None:
                known.met = known.met or self._met(x)
                known.reached, known.changed = x.grad is not None, x._version != known.version

    def begins(self) -> None:
        """A backward call is about to run: it may add to gradients that were there before their leaf was changed."""
        for each in [*self._written.values()]:
            x = each.ref()
            changed = x is not None and x._version != each.version
            if changed or each.often:
                there = x is not None and x.grad is not None and x.grad is each.grad() and self._is_set(x.grad)
                each.adds_to = each.often + changed if there else 0

    def ends(self, entry: BackwardEvent, step: int) -> None:
        """The call is over, and has added to the gradients of the leaves that it ran."""
        for key in entry.ran:
            event = self._log.known.get(key)
            x = event.ref() if event is not None and event.kind == LEAF else None
            grad = None if x is None else x.grad
            if x is None or grad is None:
                self._written.pop(key, None)
                continue
            before = self._written.get(key)
            # Once may be in passing, on the way to another network: such a gradient is zeroed before the next change.
            often = 0 if before is None else before.adds_to
            self._written[key] = _Written(weakref.ref(x), weakref.ref(grad), x._version, often, often)
            if often == MANY and (not self._held or id(x) in self._held):
                self._stale.setdefault(key, (entry.site, step))

    def notices(self, line: Callable[[Site | None], Source | None]) -> tuple[Notice, ...]:
        """Return what was noted, with the names of the parameters that are known by now."""
        log = self._log
        self.look_again()
        bare = [known for known in self._bare.values() if known.name and not known.reached]
        found = [Notice("unused", known.name) for known in bare if not known.met]
        found += [Notice("unreached", known.name) for known in bare if known.met and not known.changed]
        for key in sorted(self._stale.keys() & log.known.keys(), key=lambda key: log.known[key].number):
            site, step = self._stale[key]
            named = log.names_of(key) or log.names_of(key, borrowed=True)
            found += [Notice("stale", name, line(site), step) for name in named[:1]]
        return tuple(found)

    def _met(self, x: Any) -> bool:
        held = self._log.tensors.of(x)
        return held is not None and held.number >= 0


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
