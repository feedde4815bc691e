"""Writes the ledger of training while a script runs: what optimizers, schedulers, hooks and their like do."""

from __future__ import annotations

import bisect
import functools
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec.structs import replace

from autograph_cli.engines.protocol import BackwardCall, key_of
from autograph_cli.graph import Source
from autograph_cli.graph.ledger import Happening, Hook, Ledger, Module, Optimizer, Parameter
from autograph_cli.record.event_log import EventLog
from autograph_cli.record.events import LEAF, OPERATION, UNTRACKED, BackwardEvent, StepLog
from autograph_cli.record.ledger_hearing import Hearing, Told
from autograph_cli.record.ledger_keepers import Keepers
from autograph_cli.record.modules import parts
from autograph_cli.record.names import parameters_in, variables_of
from autograph_cli.record.source_locations import Site, script_frames, site_of

WHOLE = 16
"""In so many steps everything is heard: what goes wrong in training does so from the first steps on."""
MOST = 800
"""So many happenings at most."""
MODULES = 20_000
SAMPLE = 4_096
"""So many numbers of each parameter are compared before and after a step."""
HOOKED = 8
"""So many calls of a hook are looked at."""


@dataclass(slots=True)
class _Parameter:
    ref: weakref.ref[Any]
    numbers: int
    dtype: str
    name: str = ""
    first: Any = None
    """A sample of its values when it was met."""
    written: bool = False


@dataclass(slots=True)
class _Module:
    ref: weakref.ref[Any]
    cls: str
    at: int
    site: Site | None
    copied: bool


@dataclass(slots=True)
class _Optimizer:
    ref: weakref.ref[Any]
    cls: str
    at: int
    site: Site | None
    holds: int
    name: str = ""


@dataclass(slots=True)
class _Hook:
    kind: str
    at: int
    site: Site | None
    function: str
    on: str
    ref: Any = None
    code: Any = None
    parameter: int | None = None
    again: int = 1
    calls: int = 0
    given: list[float] = field(default_factory=list)
    returned: list[float] = field(default_factory=list)
    factors: list[float | None] = field(default_factory=list)
    last: Any = None
    same: bool = True
    aside: float = 1.0
    """The least cosine between what it was given and what went on."""


@dataclass(slots=True)
class _Stepping:
    """A step that is going on."""

    at: int
    site: Site | None
    held: list[int]
    ready: int
    before: dict[int, Any]
    calls: int


class Books:
    """The ledger of one run."""

    def __init__(self, log: EventLog, number: Callable[[], int], line: Callable[[Site | None], Source | None]) -> None:
        self._log, self._number, self._line = log, number, line
        self.steps = 0
        """How many steps have ended."""
        self._clock = 0
        self._counts: list[int] = [0]
        """How many events the log had at each tick of the clock."""
        self._happenings: list[tuple[Site | None, Happening]] = []
        self._parameters: list[_Parameter] = []
        self._numbers: dict[int, int] = {}
        self._modules: list[_Module] = []
        self._optimizers: list[_Optimizer] = []
        self._sets: dict[tuple[int, ...], int] = {(): 0}
        self._hooks: list[_Hook] = []
        self._stepping: list[_Stepping] = []
        self._passes: list[tuple[int, int, frozenset[Any]]] = []
        """Of backward calls: their time, how many there were, and their roots."""
        self._running: list[tuple[int, int]] = []
        """Of those that are going on: their time, and what was ready."""
        self._within = 0
        self._more = 0
        self._calls = 0
        self.keepers = Keepers(log, line)
        self._hearing = Hearing(log.engine, self._tell)
        self._hearing.steps = self._before_step, self._after_step

    # -- listening

    def start(self) -> None:
        """Hear from now on."""
        self._hearing.start()

    def stop(self) -> None:
        """Hear nothing more."""
        self._hearing.stop()

    @property
    def hears(self) -> bool:
        """Whether what happens now is written down."""
        return self.steps < WHOLE and len(self._happenings) < MOST

    def _guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call what must not disturb the script."""
        if self._log.engine.is_transforming():
            return None
        with self._log.lock:
            try:
                return function(*args)
            except Exception as error:
                self._log.failed(error)
                return None

    def _tell(self, kind: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function that is heard is about to be called."""
        nothing = args, None
        if not self.hears or self._within:
            self._more += 1
            return nothing
        return self._guarded(getattr(self, f"_{kind}"), function, args, kwargs) or nothing

    def _tick(self) -> int:
        self._clock += 1
        self._counts.append(self._log.count)
        return self._clock

    def _note(self, kind: str, site: Site | None, at: int | None = None, **facts: Any) -> None:
        at = self._tick() if at is None else at
        self._happenings.append((site, Happening(kind, at, self._number(), **facts)))

    # -- parameters

    def number_of(self, x: Any) -> int:
        """The number by which the ledger knows a leaf."""
        number = self._numbers.get(id(x))
        if number is not None and self._parameters[number].ref() is x:
            return number
        number = self._numbers[id(x)] = len(self._parameters)
        dtype = str(x.dtype).removeprefix("torch.")
        self._parameters.append(_Parameter(weakref.ref(x), int(x.numel()), dtype, first=self._sample(x)))
        return number

    def set_of(self, numbers: Iterable[int]) -> int:
        """The number of a set of parameters."""
        return self._sets.setdefault(tuple(sorted(set(numbers))), len(self._sets))

    def _held(self, optimizer: Any) -> list[int]:
        groups = optimizer.param_groups
        return [self.number_of(x) for group in groups for x in group["params"] if isinstance(x, self._log.engine.tensor)]

    def _ready(self, numbers: Iterable[int]) -> list[int]:
        """Those that have a gradient which is not zero."""
        found = []
        for number in numbers:
            x = self._parameters[number].ref()
            if x is not None and x.grad is not None and self._is_set(x.grad):
                found.append(number)
        return found

    def _is_set(self, grad: Any) -> bool:
        numbers = self._read(grad)
        if numbers is None:
            return True
        numbers = np.asarray(numbers).reshape(-1)
        return bool(numbers[:SAMPLE].any() or numbers[SAMPLE:].any())

    def _read(self, x: Any) -> Any:
        """The numbers of a tensor; None where it has none."""
        return None if x.is_meta else self._log.engine.array(x)

    def _sample(self, x: Any) -> Any:
        """Some of the values of a parameter, copied."""
        numbers = self._read(x)
        if numbers is None:
            return None
        numbers = np.asarray(numbers).reshape(-1)
        return numbers[:: max(1, numbers.size // SAMPLE)].copy()

    # -- optimizers

    def _optimizer(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        site = site_of(_caller())
        return args, lambda _: self._guarded(self._made, args[0], site)

    def _made(self, optimizer: Any, site: Site | None) -> int:
        holds = self.set_of(self._held(optimizer))
        made = _Optimizer(weakref.ref(optimizer), type(optimizer).__name__, self._tick() if site else 0, site, holds)
        self._optimizers.append(made)
        return len(self._optimizers) - 1

    def _index(self, optimizer: Any) -> int:
        for index, known in enumerate(self._optimizers):
            if known.ref() is optimizer:
                return index
        return self._made(optimizer, None)

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.hears:
            self._guarded(self._steps, optimizer, site_of(_caller()))

    def _steps(self, optimizer: Any, site: Site | None) -> None:
        self._index(optimizer)
        self._name_variables()
        held = self._held(optimizer)
        samples = {number: self._sample(x) for number in held if (x := self._parameters[number].ref()) is not None}
        ready = self.set_of(self._ready(held))
        self._stepping.append(_Stepping(self._tick(), site, held, ready, samples, self._calls))

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._stepping:
            self._guarded(self._stepped, optimizer)

    def _stepped(self, optimizer: Any) -> None:
        step = self._stepping.pop()
        closure = step.calls != self._calls
        moved, total, frozen = [], 0.0, []
        for number, before in step.before.items():
            x = self._parameters[number].ref()
            now = None if x is None else self._sample(x)
            if x is None or now is None or before is None or now.shape != before.shape:
                moved.append(number)
                continue
            if not x.requires_grad:
                frozen.append(number)
            if not np.array_equal(now, before, equal_nan=True):
                moved.append(number)
                with np.errstate(all="ignore"):
                    total += float(np.sum(np.abs(now.astype(np.complex128) - before) ** 2))
        for number in moved:
            self._parameters[number].written = True
        rates = [rate for group in optimizer.param_groups if (rate := self._plain(group.get("lr"))) is not None]
        index, ready = self._index(optimizer), step.ready
        if closure and not ready:
            ready = self.set_of(self._ready(step.held) or moved)
        self._note(
            "step", step.site, self._tick() if closure else step.at, optimizer=index, given=self.set_of(step.held),
            ready=ready, moved=self.set_of(moved), frozen=self.set_of(frozen), norm=_rounded(total**0.5),
            rate=_rounded(max(rates, default=-1.0)), closure=closure,
        )  # fmt: skip
        if not ready:
            self._note_cuts(step.held)

    def _plain(self, value: Any) -> float | None:
        """A number, which may be in a tensor."""
        if isinstance(value, self._log.engine.tensor):
            value = self._read(value)
        try:
            return float(value)
        except (TypeError, ValueError):
            return None

    def _note_cuts(self, held: list[int]) -> None:
        """Where the way from the parameters of an optimizer to a loss was cut, which found none of them a gradient."""
        wanted = {held: number for number in held if (held := self._leaf_key(number)) is not None}  # type: ignore[misc]
        known = {(happening.source, happening.given) for _, happening in self._happenings if happening.kind == "cut"}
        for event in self._cut_events():
            behind = self._leaves_behind([key_of(output) for output in event.cut])
            given = self.set_of(wanted[key] for key in behind & wanted.keys())
            if given and (event.site, given) not in known:
                known.add((event.site, given))  # type: ignore[arg-type]
                self._note("cut", event.site, given=given, words=event.op)

    def _leaf_key(self, number: int) -> int | None:
        x = self._parameters[number].ref()
        held = None if x is None else self._log.tensors.get(id(x))
        return held[1] if held is not None and held[0]() is x else None

    def _cut_events(self) -> Iterator[Any]:
        steps: Sequence[StepLog] = list(self._log.steps)
        for step in steps:
            yield from (event for event in step.events if event.kind == UNTRACKED and event.cut)

    def _leaves_behind(self, keys: list[int]) -> set[int]:
        known, found, met = self._log.known, set(), set(keys)
        stack = list(keys)
        while stack:
            event = known.get(stack.pop())
            if event is None:
                continue
            if event.kind == LEAF:
                found.add(event.key)
            for output in event.next:
                if output is not None and (key := key_of(output)) not in met:
                    met.add(key)
                    stack.append(key)
        return found

    def _zero_grad(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        optimizer = getattr(args[0], "param_groups", None) is not None
        numbers = self._held(args[0]) if optimizer else self._parameters_of(args[0])
        index = self._index(args[0]) if optimizer else None
        ready = self.set_of(self._ready(numbers))
        self._note("zero_grad", site_of(_caller()), optimizer=index, given=self.set_of(numbers), ready=ready)

    def _parameters_of(self, module: Any) -> list[int]:
        return [
            self.number_of(x)
            for _, part in parts(module)
            for x in getattr(part, "_parameters", {}).values()
            if x is not None and x.requires_grad
        ]

    def _schedule(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        site, made = site_of(_caller()), function.__name__ == "__init__"
        self._within += 1

        def done(_: Any) -> None:
            self._within -= 1
            self._guarded(note)

        def note() -> None:
            optimizer = getattr(args[0], "optimizer", None)
            if optimizer is not None:
                words = "made" if made else ""
                self._note("schedule", site, optimizer=self._index(optimizer), words=words)

        return args, done

    # -- modules

    def _module(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._built(args[0], copied=False)

    def _copy(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._built(args[0], copied=True)

    def _built(self, module: Any, *, copied: bool) -> None:
        if len(self._modules) < MODULES:
            cls = type(module).__name__
            self._modules.append(_Module(weakref.ref(module), cls, self._tick(), site_of(_caller()), copied))

    def _mode(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        on = (*args[1:], *kwargs.values(), True)[0]
        self._note("mode", site_of(_caller()), words="train" if on else "eval")
        return self._inside(args)

    def _inside(self, args: tuple[Any, ...]) -> Any:
        """What is called within this call is not heard."""
        self._within += 1

        def done(_: Any) -> None:
            self._within -= 1

        return args, done

    # -- gradients

    def begins(self, call: BackwardCall, running: Sequence[BackwardEvent]) -> None:
        """A backward call is about to run, within those that are going on."""
        self.keepers.last = self._log.count
        if not self.hears:
            self._running.clear()
            return
        self._calls += 1
        if not running:
            self.keepers.begins(call.kind)
        self._running[len(running) :] = [(self._tick(), self.set_of(self._ready(range(len(self._parameters)))))]

    def ends(self, call: BackwardCall, entry: BackwardEvent) -> None:
        """It is over."""
        if not self._running:
            return  # it began when nothing was written down any more
        at, ready = self._running.pop()
        known, ran = self._log.known, []
        first = self._log.count
        for key in entry.ran:
            event = known.get(key)
            if event is None:
                continue
            if event.kind == LEAF:
                x = event.ref()
                if x is not None and call.kind == "backward" and x.grad is not None:
                    ran.append(self.number_of(x))
            elif event.kind == OPERATION:
                first = min(first, event.number)
        keys = {*entry.ran}
        whole = [time for time, kind, roots in self._passes if kind and roots and roots <= keys]
        self._note(
            call.kind, entry.site, at, given=self.set_of(ran), ready=ready, number=entry.number,
            kept=bool(call.keeps_graph), ran=len(entry.ran), whole=tuple(whole), failed=entry.failed,
            after=bisect.bisect_left(self._counts, first), made=call.create_graph,
        )  # fmt: skip
        roots = frozenset(map(key_of, entry.roots))
        self._passes = [*self._passes[-WHOLE:], (at, int(call.kind == "backward"), roots)]

    def _clip(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        site, at = site_of(_caller()), self._tick()
        given = args[0] if args else kwargs.get("parameters")
        if isinstance(given, self._log.engine.tensor):
            return self._clipped(args, [given], site, at, function.__name__)
        if isinstance(given, (list, tuple)):
            return self._clipped(args, given, site, at, function.__name__)
        if not args or not isinstance(given, Iterable):
            return None
        seen: list[Any] = []

        def passing() -> Iterator[Any]:
            for x in given:
                seen.append(x)
                yield x

        again = (passing(), *args[1:])
        # What is ready is looked at before anything is clipped: `given` may be read only once.
        return self._clipped(again, seen, site, at, function.__name__)

    def _clipped(self, args: Any, given: Sequence[Any], site: Site | None, at: int, name: str) -> Any:
        before = self.set_of(self._ready(range(len(self._parameters))))

        def note(result: Any) -> None:
            numbers = {self.number_of(x) for x in given if isinstance(x, self._log.engine.tensor)}
            ready = [number for number in self._by_number(before) if number in numbers]
            array = None if result is None else self._read(result)
            norm = -1.0 if array is None else _rounded(float(np.asarray(array)))
            self._note("clip", site, at, given=self.set_of(numbers), ready=self.set_of(ready), norm=norm, words=name)

        return args, lambda result: self._guarded(note, result)

    def _by_number(self, number: int) -> tuple[int, ...]:
        return next(those for those, position in self._sets.items() if position == number)

    def _unscale(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        optimizer = args[1] if len(args) > 1 else kwargs.get("optimizer")
        if optimizer is not None and args[0].is_enabled():
            given = self.set_of(self._held(optimizer))
            self._note("unscale", site_of(_caller()), optimizer=self._index(optimizer), given=given)

    def _checkpoint(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        frame = _caller()
        while frame is not None and "run_function" not in frame.f_locals:
            frame = frame.f_back
        run = None if frame is None else frame.f_locals["run_function"]
        numbers = [number for module in _modules_in(run) for number in self._parameters_of(module)]
        needs = any(getattr(x, "requires_grad", False) for x in args[0])
        self._note("checkpoint", site_of(frame), given=self.set_of(numbers), kept=needs, words="reentrant")

    # -- hooks

    def _hook(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) < 2 or not callable(args[1]):
            return None
        on, hook = args[:2]
        tensor = isinstance(on, self._log.engine.tensor)
        code = getattr(hook, "__code__", None)
        known = _Hook(function.__name__, self._tick(), site_of(_caller()), getattr(hook, "__name__", ""), "")
        known.ref, known.code = weakref.ref(on), code
        known.again += sum(other.ref() is on and other.code is code for other in self._hooks if code is not None)
        if tensor and on.is_leaf:
            known.parameter = self.number_of(on)
        elif tensor:
            known.on = next(iter(self._names_of(on)), "")
        else:
            known.on = next((known.cls for known in self._modules if known.ref() is on), type(on).__name__)
        self._hooks.append(known)
        heard = _heard_hook(self, known, hook)
        return (on, heard, *args[2:]), None

    def _names_of(self, tensor: Any) -> list[str]:
        output = self._log.engine.output(tensor)
        return [] if output is None else self._log.names_of(output)

    def look_at_hook(self, known: _Hook, given: Any, went_on: Any) -> None:
        """A hook was given a gradient, of which this is a copy, and this is what went on."""
        known.calls += 1
        after = self._array(went_on)
        if given is None or after is None or given.shape != after.shape:
            return
        with np.errstate(all="ignore"):
            norms = float(np.linalg.norm(given)), float(np.linalg.norm(after))
            factor = None
            if norms[0] and np.isfinite(norms).all():
                along = float(np.vdot(given, after).real)
                factor = along / norms[0] ** 2
                if not np.allclose(after, factor * given, rtol=1e-4, atol=1e-6 * norms[0]):
                    factor = None
                known.aside = min(known.aside, along / (norms[0] * norms[1]) if norms[1] else 1.0)
        known.same = known.same and (known.last is None or np.array_equal(known.last, after))
        known.last = after
        known.given.append(_rounded(norms[0]))
        known.returned.append(_rounded(norms[1]))
        known.factors.append(None if factor is None else _rounded(factor))

    def _array(self, x: Any) -> Any:
        numbers = self._read(x) if isinstance(x, self._log.engine.tensor) else None
        return None if numbers is None else np.asarray(numbers).reshape(-1)[: 1 << 16].astype(np.complex128)

    # -- names, and what is told in the end

    def _name_variables(self, scope: Mapping[str, Any] | None = None) -> None:
        """Note the variables that hold optimizers and parameters now."""
        spaces = [variables_of(frame) for frame in reversed(script_frames(3))] if scope is None else [scope]
        for space in spaces:
            for name, value in list(space.items()):
                if not isinstance(name, str) or name[0] in "_.@":
                    continue
                self._name(name, value)
                if type(value) in (list, tuple, dict) and len(value) < 64:
                    for key, item in enumerate(value) if type(value) is not dict else list(value.items()):
                        self._name(f"{name}[{key!r}]", item)
                elif hasattr(type(value), "__dict__") and not isinstance(value, type):
                    inside = getattr(value, "__dict__", None)
                    for key, item in list(inside.items()) if type(inside) is dict else ():
                        self._name(f"{name}.{key}", item)

    def _name(self, name: str, value: Any) -> None:
        for known in self._optimizers:
            if not known.name and known.ref() is value:
                known.name = name
        number = self._numbers.get(id(value))
        if number is not None and self._parameters[number].ref() is value:
            self._parameters[number].name = self._parameters[number].name or name
        for inner, parameter in parameters_in(value):
            number = self._numbers.get(id(parameter))
            if number is not None and not self._parameters[number].name:
                self._parameters[number].name = f"{name}.{inner}"

    def finish(self, scope: Mapping[str, Any]) -> Ledger:
        """What was heard."""
        line = self._line
        self._name_variables(scope)
        registered, listed, flagged = self._look_at_modules()
        kept = {position: index for index, position in enumerate(sorted(registered | listed.keys() | flagged))}
        modules = [
            Module(m.cls, m.at, line(m.site), m.copied, listed.get(id_, ""), id_ in flagged)
            for id_ in kept
            for m in [self._modules[id_]]
        ]
        owners = self._owners()
        parameters = [
            Parameter(known.name or self._path(known), kept.get(owners.get(number, -1)), known.numbers, known.dtype,
                      self._was_written(known))
            for number, known in enumerate(self._parameters)
        ]  # fmt: skip
        optimizers = [Optimizer(o.cls, o.at, line(o.site), o.name, o.holds) for o in self._optimizers]
        happenings = [_placed(happening, line(site)) for site, happening in self._happenings]
        happenings.sort(key=lambda each: each.at)
        hooks = [
            Hook(h.kind, h.on, h.at, line(h.site), h.function, h.parameter, h.calls, h.again,
                 h.same and h.calls > 1 and h.aside < 0.5, tuple(h.given), tuple(h.returned), tuple(h.factors))
            for h in self._hooks[:MOST]
        ]  # fmt: skip
        keepers = self.keepers.finish(scope)
        return Ledger(
            tuple(parameters), tuple(modules), tuple(optimizers), tuple(self._sets), tuple(happenings), tuple(hooks),
            keepers, self._more,
        )  # fmt: skip

    def _path(self, known: _Parameter) -> str:
        x = known.ref()
        if x is None:
            return ""
        held = self._log.tensors.get(id(x))
        names = [] if held is None or held[0]() is not x else self._log.names_of(held[1])
        return names[0] if names else self._log.modules.owner(x)

    def _was_written(self, known: _Parameter) -> bool:
        x = known.ref()
        now = None if x is None or known.written or known.first is None else self._sample(x)
        return known.written or (now is not None and not np.array_equal(now, known.first, equal_nan=True))

    def _living(self) -> list[tuple[int, Any]]:
        return [(position, m) for position, known in enumerate(self._modules) if (m := known.ref()) is not None]

    def _owners(self) -> dict[int, int]:
        """Of parameters by number, the module that they are registered in, by position."""
        found = {}
        for position, module in self._living():
            for x in module.__dict__.get("_parameters", {}).values():
                number = self._numbers.get(id(x))
                if number is not None and self._parameters[number].ref() is x:
                    found[number] = position
        return found

    def _look_at_modules(self) -> tuple[set[int], dict[int, str], set[int]]:
        """The modules that parameters are registered in; those that are kept in plain containers, with the attribute;
        those with a `requires_grad` of their own that is false."""
        positions = {id(module): position for position, module in self._living()}
        registered = set(self._owners().values())
        inside = {id(part) for _, m in self._living() for part in m.__dict__.get("_modules", {}).values()}
        listed: dict[int, str] = {}
        flagged: set[int] = set()
        for position, module in self._living():
            if module.__dict__.get("requires_grad") is False:
                flagged.add(position)
            for name, value in list(module.__dict__.items()):
                if name[0] == "_" or type(value) not in (list, tuple, dict):
                    continue
                for item in value.values() if type(value) is dict else value:
                    for _, part in parts(item) if id(item) in positions and id(item) not in inside else ():
                        if id(part) in positions:
                            listed[positions[id(part)]] = f"{type(module).__name__}.{name}"
        return registered, listed, flagged


def _heard_hook(books: Books, known: _Hook, hook: Any) -> Any:
    """A hook that tells what it is given and what it returns."""

    def heard(*args: Any, **kwargs: Any) -> Any:
        looks = books.hears and known.calls < HOOKED
        leaf = known.kind == "register_post_accumulate_grad_hook"
        given = _first(args[0].grad if leaf else args[-1] if len(args) == 1 else args[1]) if looks and args else None
        before = books._guarded(books._array, given) if looks else None
        result = hook(*args, **kwargs)
        if looks:
            after = args[0].grad if leaf else given if result is None else _first(result)
            books._guarded(books.look_at_hook, known, before, after)
        return result

    try:
        functools.update_wrapper(heard, hook)
    except AttributeError:
        pass
    return books._log.engine.between(heard)


def _modules_in(function: Any) -> list[Any]:
    """The modules that a function is, is a method of, or has in its closure, its defaults or a `partial`."""
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _is_filled(cell)]
    inside = getattr(function, "func", None), *(getattr(function, "args", None) or ())
    things = [function, getattr(function, "__self__", None), *inside, *(getattr(function, "__defaults__", None) or ()), *cells]
    things += [getattr(each, "__self__", None) for each in things]
    return [each for each in things if isinstance(getattr(each, "_parameters", None), dict)]


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _first(value: Any) -> Any:
    """The first gradient of several."""
    return next((x for x in value if x is not None), None) if type(value) is tuple else value


def _caller() -> Any:
    return sys._getframe(2)


def _rounded(number: float) -> float:
    return float(f"{number:.6g}") if np.isfinite(number) else -1.0


def _placed(happening: Happening, source: Source | None) -> Happening:
    return replace(happening, source=source)
