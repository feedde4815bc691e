"""The parameters and modules of the ledger of training: by identity, with samples of their numbers."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograph_cli.graph.ledger import SAMPLE, Module, Parameter
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.ledger_keepers import Line
from autograph_cli.record.names.modules import parts
from autograph_cli.record.names.source_locations import Site
from autograph_cli.record.names.variables import is_exactly, parameters_in

MODULES = 20_000
_WRAPPERS = ("DistributedDataParallel",)
"""Modules that are told of though they have no parameters of their own."""


@dataclass(slots=True)
class _Parameter:
    ref: weakref.ref[Any]
    numbers: int
    dtype: str
    first: Any
    """A sample of its values when it was met."""
    name: str = ""
    written: bool = False


@dataclass(slots=True)
class _Module:
    ref: weakref.ref[Any]
    cls: str
    at: int
    site: Site | None
    copied: bool


class Parameters:
    """The parameters that an optimizer holds or a backward call gave a gradient, and the modules that were built."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._known: list[_Parameter] = []
        self._numbers: dict[int, int] = {}
        self._modules: list[_Module] = []
        self._owners: dict[int, int] = {}
        """The position of the module in which each parameter, by number, is registered."""
        self._listed: dict[int, tuple[str, int]] = {}
        """The places of modules that others keep in plain containers."""
        self._flagged: set[int] = set()
        """The modules with a `requires_grad` of their own that is false."""
        self._looked = 0, 0
        self._left: dict[int, int] = {}
        """The versions in which passes left the gradients that are not on the CPU, by id."""
        self.sets: dict[tuple[int, ...], int] = {(): 0}

    def __len__(self) -> int:
        return len(self._known)

    # -- by number

    def number_of(self, x: Any) -> int:
        """The number by which the ledger knows a leaf."""
        number = self.known(x)
        if number is None:
            dtype = str(x.dtype).removeprefix("torch.")
            made = _Parameter(weakref.ref(x), int(x.numel()), dtype, self.sample(x))
            self._known.append(made)
            number = len(self._known) - 1
            while self._known[number] is not made:  # the handler of a signal has added others
                number -= 1
            self._numbers[id(x)] = number
        return number

    def known(self, x: Any) -> int | None:
        """The same of what may be no leaf that the ledger knows."""
        number = self._numbers.get(id(x))
        return number if number is not None and self._known[number].ref() is x else None

    def tensor(self, number: int) -> Any:
        """The tensor that a number is of, if it is there still."""
        return self._known[number].ref()

    def set_of(self, numbers: Iterable[int]) -> int:
        """The number of a set of parameters."""
        return self.sets.setdefault(tuple(sorted(set(numbers))), len(self.sets))

    def of_set(self, number: int) -> tuple[int, ...]:
        """The parameters of a set."""
        return next(those for those, position in self.sets.items() if position == number)

    def held(self, optimizer: Any) -> list[int]:
        """The parameters of an optimizer."""
        tensor = self._log.engine.tensor
        groups = optimizer.param_groups
        return [self.number_of(x) for group in groups for x in group["params"] if isinstance(x, tensor)]

    def of_module(self, module: Any) -> list[int]:
        """Return the parameters of a module that require a gradient."""
        every = [x for _, part in parts(module) for x in getattr(part, "_parameters", {}).values() if x is not None]
        return [self.number_of(x) for x in every if x.requires_grad]

    def loads(self, module: Any, state: Any) -> str:
        """Return `nothing` where a dict has no name of a module's parameters, `own` where its tensors are those of the
        module, or in their memory; else an empty string."""
        names = dict(module.named_parameters()) if isinstance(state, dict) and state else {}
        pairs = [(x, state[name]) for name, x in names.items() if name in state]
        if names and not pairs:
            return "nothing"
        return "own" if pairs and all(len(set(self._log.engine.storages(pair))) == 1 for pair in pairs) else ""

    def equals(self, module: Any, state: Any) -> bool:
        """Return whether a dict has the numbers that the parameters of a module have, all of them."""
        names = dict(module.named_parameters()) if isinstance(state, dict) else {}
        given = [state.get(name) for name in names]
        if not given or not all(isinstance(x, self._log.engine.tensor) for x in given):
            return False
        rows = self._rows([*given, *names.values()])
        pairs = zip(rows, rows[len(names) :], strict=False)
        return all(one is not None and np.array_equal(one, other, equal_nan=True) for one, other in pairs)

    # -- numbers

    def read(self, x: Any) -> Any:
        """The numbers of a tensor in a row; None where it has none, and on a GPU, for which the script would wait."""
        return self._rows([x])[0]

    def _rows(self, tensors: Sequence[Any]) -> list[Any]:
        arrays = self._log.engine.arrays(tensors)
        return [None if numbers is None else np.asarray(numbers).reshape(-1) for numbers in arrays]

    def sample(self, x: Any) -> Any:
        """Some of the values of a parameter, copied."""
        return _sample(self.read(x))

    def samples(self, numbers: Iterable[int]) -> dict[int, Any]:
        """The same of the parameters of these numbers that are there still."""
        there = [(n, x) for n in numbers if (x := self.tensor(n)) is not None]
        return {n: _sample(row) for (n, _), row in zip(there, self._rows([x for _, x in there]), strict=True)}

    def ready(self, numbers: Iterable[int] | None = None, *, surely: bool = False) -> list[int]:
        """Return those of these, or of all, that have a gradient which is not zero; a gradient that may not be read
        counts, or with `surely` where nothing has changed it since a pass wrote it."""
        wanted = range(len(self._known)) if numbers is None else numbers
        grads = [(n, x.grad) for n in wanted if (x := self.tensor(n)) is not None and x.grad is not None]
        rows = zip(grads, self._rows([grad for _, grad in grads]), strict=True)
        return [n for (n, grad), row in rows if self._is_set(grad, row, surely)]

    def leave(self, leaves: Iterable[Any]) -> None:
        """Note that a pass wrote the gradients of these leaves."""
        device = self._log.engine.device
        self._left.update((id(x.grad), x.grad._version) for x in leaves if device(x) != "cpu")

    def is_set(self, grad: Any, *, surely: bool = False) -> bool:
        """Return whether a gradient has a number that is not zero, as far as it is looked at; see `ready`."""
        return self._is_set(grad, self.read(grad), surely)

    def _is_set(self, grad: Any, numbers: Any, surely: bool) -> bool:
        if numbers is None:
            return not surely or self._left.get(id(grad)) == grad._version
        if numbers.size and numbers[0]:
            return True
        return bool(numbers[:SAMPLE].any() or numbers[SAMPLE:].any())

    def plain(self, value: Any) -> float | None:
        """A number, which may be in a tensor."""
        if isinstance(value, self._log.engine.tensor):
            numbers = self.read(value)
            value = None if numbers is None or numbers.size != 1 else numbers[0]
        try:
            return float(value)
        except (TypeError, ValueError):
            return None

    def moved(self, samples: Mapping[int, Any]) -> tuple[list[int], float]:
        """The parameters whose numbers have changed, and the norm of the change as far as it is known."""
        moved, total = [], 0.0
        after = self.samples(samples)
        with np.errstate(all="ignore"):
            for number, before in samples.items():
                now = after.get(number)
                if now is None or before is None or now.shape != before.shape:
                    moved.append(number)
                elif now.tobytes() != before.tobytes():
                    change = now.astype(np.complex128 if now.dtype.kind == "c" else np.float64) - before
                    total += product(change, change)
                    if change.any():
                        moved.append(number)
        return moved, rounded(total**0.5)

    def rate(self, optimizer: Any) -> float:
        """The highest learning rate of its groups; -1 where none is known."""
        rates = (self.plain(group.get("lr")) for group in optimizer.param_groups)
        return rounded(max((rate for rate in rates if rate is not None), default=-1.0))

    def idle(self, optimizer: Any) -> int:
        """The set of parameters in groups whose learning rate is 0."""
        groups = [group for group in optimizer.param_groups if self.plain(group.get("lr")) == 0]
        return self.set_of(self.number_of(x) for group in groups for x in group["params"])

    def mark_written(self, numbers: Iterable[int]) -> None:
        """These were changed."""
        for number in numbers:
            self._known[number].written = True

    def _was_written(self, known: _Parameter) -> bool:
        x = known.ref()
        now = None if x is None or known.written or known.first is None else self.sample(x)
        return known.written or (now is not None and not np.array_equal(now, known.first, equal_nan=True))

    # -- names

    def name(self, name: str, value: Any) -> None:
        """A variable holds this: a parameter, a module with parameters, or something else."""
        for inner, x in [("", value), *((f".{inner}", x) for inner, x in parameters_in(value))]:
            number = self.known(x)
            if number is not None and not self._known[number].name:
                self._known[number].name = f"{name}{inner}"

    def path(self, number: int) -> str:
        known = self._known[number]
        x = known.ref()
        if known.name or x is None:
            return known.name
        held = self._log.tensors.of(x)
        names = [] if held is None else self._log.names_of(held.number)
        return names[0] if names else self._within(number, x)

    def _within(self, number: int, x: Any) -> str:
        """The path of a parameter of a module that was called by a path."""
        path = self._log.modules.owner(x)
        position = self._owners.get(number)
        module = None if position is None else self._modules[position].ref()
        own = {} if module is None else module.__dict__.get("_parameters", {})
        return next((f"{path}.{name}" for name, each in own.items() if path and each is x), path)

    def leaf_key(self, number: int) -> int | None:
        """The key of a parameter in the event log."""
        x = self.tensor(number)
        held = None if x is None else self._log.tensors.of(x)
        return None if held is None else held.number

    # -- modules

    def built(self, module: Any, at: int, site: Site | None, *, copied: bool) -> None:
        """A module was built, or is a copy of another."""
        if len(self._modules) < MODULES:
            self._modules.append(_Module(weakref.ref(module), type(module).__name__, at, site, copied))

    def look(self) -> None:
        """Note which modules parameters are registered in, where these are kept, and which are marked, while they are
        there."""
        if self._looked == (there := (len(self._known), len(self._modules))):
            return
        self._looked = there
        living = [(position, m) for position, known in enumerate(self._modules) if (m := known.ref()) is not None]
        for position, module in living:
            for x in module.__dict__.get("_parameters", {}).values():
                number = self.known(x)
                if number is not None:
                    self._owners[number] = position
            if module.__dict__.get("requires_grad") is False:
                self._flagged.add(position)
        self._listed.update(_listed(living))

    def finish(self, line: Line) -> tuple[tuple[Parameter, ...], tuple[Module, ...]]:
        """All of them, and the modules that they are registered in, or that are told of for another reason."""
        self._looked = 0, 0
        self.look()
        wrappers = {position for position, known in enumerate(self._modules) if known.cls in _WRAPPERS}
        kept = sorted({*self._owners.values(), *self._listed, *self._flagged, *wrappers})
        index = {position: number for number, position in enumerate(kept)}
        modules = [
            Module(m.cls, m.at, line(m.site), m.copied, listed, position in self._flagged)
            for position in kept
            for listed, whole in [self._listed.get(position, ("", position))]
            for m in [self._modules[whole]]
        ]
        parameters = [
            Parameter(
                self.path(number),
                index.get(self._owners.get(number, -1)),
                known.numbers,
                known.dtype,
                self._was_written(known),
            )
            for number, known in enumerate(self._known)
        ]
        return tuple(parameters), tuple(modules)


def _sample(numbers: Any) -> Any:
    return None if numbers is None else numbers[:: max(1, -(-numbers.size // SAMPLE))].copy()


def _listed(living: list[tuple[int, Any]]) -> dict[int, tuple[str, int]]:
    """The modules that others keep in plain lists, tuples and dicts, and their parts, by position: the attribute, and
    the one in the list."""
    positions: Mapping[int, int] = {id(module): position for position, module in living}
    inside = {id(part) for _, module in living for part in module.__dict__.get("_modules", {}).values()}
    found: dict[int, tuple[str, int]] = {}
    for _, module in living:
        for name, value in list(module.__dict__.items()):
            if name[0] == "_" or not is_exactly(value, list, tuple, dict):
                continue
            for item in value.values() if type(value) is dict else value:
                for _, part in parts(item) if id(item) in positions and id(item) not in inside else ():
                    if id(part) in positions:
                        found[positions[id(part)]] = f"{type(module).__name__}.{name}", positions[id(item)]
    return found


def options_of(optimizer: Any) -> tuple[tuple[str, float], ...]:
    """The plain numbers that an optimizer was made with, by name."""
    given = dict(optimizer.defaults)
    betas = given.pop("betas", ())
    given |= {f"beta{at}": beta for at, beta in enumerate(betas, 1)} if isinstance(betas, (tuple, list)) else {}
    plain = {name: value for name, value in given.items() if is_exactly(value, int, float)}
    return tuple((name, float(value)) for name, value in sorted(plain.items()))


def product(one: Any, other: Any) -> float:
    """The inner product of two rows of numbers; that of BLAS would wait for its threads on a busy machine."""
    return float((one.conj() * other).real.sum())


def rounded(number: float) -> float:
    """A number of six digits; -1 where it is infinite or none."""
    return float(f"{number:.6g}") if np.isfinite(number) else -1.0
