"""Writes the ledger of training while a script runs: what optimizers, schedulers, hooks and their like do."""

from __future__ import annotations

import bisect
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import getattr_static
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from msgspec.structs import replace

from autograph_cli.engines.protocol import BackwardCall, ModuleCall, key_of
from autograph_cli.graph.ledger import SAMPLE, Happening, Ledger, Optimizer
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import LEAF, OPERATION, BackwardEvent, behind
from autograph_cli.record.log.ledger_hearing import Hearing
from autograph_cli.record.log.ledger_hooks import Hooks, modules_in
from autograph_cli.record.log.ledger_keepers import Keepers, Line
from autograph_cli.record.log.ledger_parameters import Parameters, options_of, rounded
from autograph_cli.record.names.source_locations import Site, maker_of, script_frames, site_of
from autograph_cli.record.names.variables import attributes_of, is_exactly, variables_of

WHOLE = 16
"""The steps in which everything is heard: faults of training show from the first steps on."""
_TO_THE_END = ("state", "load")  # weights are mostly put back when training is over
_AMONG_FIRST = ("call", *_TO_THE_END)
"""Happenings that are written down among the first ones whenever they are heard."""
MOST = 800
"""The most happenings of those, and of all others."""
_NO_HOLDERS = (ModuleType, FunctionType, type)
_LONGEST = 64
"""Longer containers are not looked through for optimizers."""


@dataclass(slots=True)
class _Optimizer:
    ref: weakref.ref[Any]
    cls: str
    at: int
    site: Site | None
    holds: int
    options: tuple[tuple[str, float], ...]
    name: str = ""


@dataclass(slots=True)
class _Stepping:
    """A step that is going on."""

    optimizer: int
    at: int
    site: Site | None
    ready: int
    before: dict[int, Any]
    """Samples of the parameters."""
    calls: int
    """The number of backward calls so far."""


class Books:
    """The ledger of one run."""

    def __init__(self, log: EventLog, number: Callable[[], int], line: Line) -> None:
        self._log, self._number, self._line = log, number, line
        self.steps = 0
        """The number of steps that have ended."""
        self._over = False
        """True once the first backward call after the first steps has begun."""
        self.stepping: Callable[[], None] = lambda: None
        self.stepped: Callable[[Any], None] = lambda optimizer: None
        """Called before and after an optimizer takes a step."""
        self._clock = 0
        self._counts: list[int] = [0]
        """The number of events in the log at each tick of the clock."""
        self._happenings: list[tuple[Site | None, Happening]] = []
        self._later: list[tuple[Site | None, Happening]] = []
        """The happenings after the first steps."""
        self.wanted = False
        """True if what happens now may be of a step that is kept."""
        self.parameters = Parameters(log)
        self._optimizers: list[_Optimizer] = []
        self._hooks = Hooks(log, self.parameters, self.guarded, lambda: self.hears)
        self._stepping: list[_Stepping] = []
        self._updates: list[range] = []
        """The events that steps themselves made, which update parameters and are on no way to a loss."""
        self._passes: list[tuple[int, frozenset[int]]] = []
        """The times and the roots of the last backward calls."""
        self._running: list[tuple[int, int]] = []
        """The times of the backward calls that are going on, and what was ready."""
        self._looked = 0, 0
        """The number of optimizers and of parameters when their names were last looked for."""
        self._within = 0
        self._more = 0
        self._calls = 0
        self.keepers = Keepers(log, line)
        self._hearing = Hearing(log.engine, self._tell)
        self._hearing.steps = self._before_step, self._after_step
        self._called: set[tuple[str, bool]] = set()
        """The models that were called, and whether with gradients."""
        self._states: list[tuple[weakref.ref[Any], Site | None, int]] = []
        """The last dicts of weights that models gave, with the number of backward calls before each."""
        self._is_tracked: Callable[[], bool] | None = None
        log.modules.entered.append(self._enters)

    # -- listening

    def start(self) -> None:
        """Hear from now on."""
        self._hearing.start()

    def stop(self) -> None:
        """Hear nothing more."""
        self._hearing.stop()
        self._hooks.end()

    @property
    def hears(self) -> bool:
        """Return whether what happens now is written down."""
        return len(self._happenings) < MOST if self._is_early else self.wanted and len(self._later) < MOST

    @property
    def _is_early(self) -> bool:
        return self.steps <= WHOLE and not self._over

    def guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call what must not disturb the script."""
        if self._log.engine.is_transforming():
            return None
        with self._log.lock, self._log.engine.untouched():
            try:
                return function(*args)
            except Exception as error:
                self._log.failed(error)
                return None

    def _tell(self, kind: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function that is heard is about to be called."""
        nothing = args, None
        if not (self.hears or kind in _TO_THE_END) or self._within:
            self._more += not self._within
            return nothing
        return self.guarded(getattr(self, f"_{kind}"), function, args, kwargs) or nothing

    def _tick(self) -> int:
        self._clock += 1
        self._counts.append(self._log.count)
        return self._clock

    def _note(self, kind: str, site: Site | None, at: int | None = None, **facts: Any) -> None:
        at = self._tick() if at is None else at
        happenings = self._happenings if self._is_early or kind in _AMONG_FIRST else self._later
        happenings.append((site, Happening(kind, at, self._number(), **facts)))

    # -- optimizers

    def _optimizer(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        site = site_of(_caller())
        return args, lambda _: hasattr(args[0], "param_groups") and self.guarded(self._made, args[0], site)

    def _made(self, optimizer: Any, site: Site | None) -> int:
        holds = self.parameters.set_of(self.parameters.held(optimizer))
        at, options = self._tick() if site else 0, options_of(optimizer)
        made = _Optimizer(weakref.ref(optimizer), type(optimizer).__name__, at, site, holds, options)
        self._optimizers.append(made)
        return len(self._optimizers) - 1

    def _index(self, optimizer: Any) -> int:
        for index, known in enumerate(self._optimizers):
            if known.ref() is optimizer:
                return index
        return self._made(optimizer, None)

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.stepping()
        self._log.thread.updates = True
        if self.hears:
            self.guarded(self._begin, optimizer, site_of(_caller()))
        else:
            self._more += 1

    def _begin(self, optimizer: Any, site: Site | None) -> None:
        index, held = self._index(optimizer), self.parameters.held(optimizer)
        self._look_around()
        samples = self.parameters.samples(held)
        ready = self.parameters.set_of(self.parameters.ready(held))
        self._stepping.append(_Stepping(index, self._tick(), site, ready, samples, self._calls))

    def _look_around(self) -> None:
        """Note the names and the modules of what is new."""
        if self._looked != (there := (len(self._optimizers), len(self.parameters))):
            self._looked = there
            self.parameters.look()
            self._name_variables([variables_of(frame) for frame in reversed(script_frames(3))])

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._log.thread.updates = False
        if self._stepping:
            self.guarded(self._stepped, optimizer)
        self.stepped(optimizer)

    def _stepped(self, optimizer: Any) -> None:
        index, stepping = self._index(optimizer), self._stepping
        # Of several threads each has its own, and one that raised has not ended.
        position = next((n for n in reversed(range(len(stepping))) if stepping[n].optimizer == index), None)
        if position is None:
            return
        step = stepping.pop(position)
        closure, held = step.calls != self._calls, list(step.before)
        if not closure:
            self._updates.append(range(self._counts[step.at] + 1, self._log.count + 1))
        moved, norm = self.parameters.moved(step.before)
        self.parameters.mark_written(moved)
        frozen = [n for n in held if (x := self.parameters.tensor(n)) is not None and not x.requires_grad]
        ready, set_of = step.ready, self.parameters.set_of
        if closure and not ready:
            ready = set_of(self.parameters.ready(held) or moved)
        at = self._tick() if closure else step.at
        self._note(
            "step", step.site, at, optimizer=index, given=set_of(held), ready=ready, moved=set_of(moved),
            frozen=set_of(frozen), norm=norm, closure=closure, idle=self.parameters.idle(optimizer),
            rate=self.parameters.rate(optimizer),
        )  # fmt: skip
        if not ready:
            self._note_cuts(held)

    def _note_cuts(self, held: list[int]) -> None:
        """Note where the way from an optimizer's parameters to a loss was cut, if none of them got a gradient."""
        steps = list(self._log.steps)
        roots = [key_of(root) for step in steps for entry in step.passes for root in entry.roots]
        taken = set(behind(self._log.known, roots, untracked=True))
        wanted = {key: number for number in held if (key := self.parameters.leaf_key(number)) is not None}
        known = {(site, each.given) for site, each in self._happenings if each.kind == "cut"}
        cuts = [
            event
            for step in steps
            for event in step.events
            if event.cut and event.key in taken and not any(event.number in each for each in self._updates)
        ]
        for event in cuts:
            leaves = self._leaves_behind([key_of(output) for output in event.cut])
            given = self.parameters.set_of(wanted[key] for key in leaves & wanted.keys())
            if given and (event.site, given) not in known:
                known.add((event.site, given))
                self._note("cut", event.site, given=given, words=event.op)

    def _leaves_behind(self, keys: list[int]) -> set[int]:
        known = self._log.known
        return {known[key].key for key in behind(known, keys) if key in known and known[key].kind == LEAF}

    def _zero_grad(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        optimizer = getattr(args[0], "param_groups", None) is not None
        numbers = self.parameters.held(args[0]) if optimizer else self.parameters.of_module(args[0])
        index = self._index(args[0]) if optimizer else None
        self._look_around()
        ready = self.parameters.set_of(self.parameters.ready(numbers))
        self._note("zero_grad", site_of(_caller()), optimizer=index, given=self.parameters.set_of(numbers), ready=ready)

    def _schedule(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        site, made = site_of(_caller()), function.__name__ == "__init__"
        self._within += 1

        def done(_: Any) -> None:
            self._within -= 1
            self.guarded(note)

        def note() -> None:
            optimizer = getattr(args[0], "optimizer", None)
            if optimizer is not None:
                words, rate = "made" if made else "", self.parameters.rate(optimizer)
                self._note("schedule", site, optimizer=self._index(optimizer), words=words, rate=rate)

        return args, done

    # -- modules

    def _module(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._built(args[0], copied=False)

    def _copy(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._built(args[0], copied=True)

    def _built(self, module: Any, *, copied: bool) -> None:
        self.parameters.built(module, self._tick(), site_of(maker_of(_caller(), module)), copied=copied)

    def _mode(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        on = (*args[1:], *kwargs.values(), True)[0]
        given = self.parameters.set_of(self.parameters.of_module(args[0]))
        self._note("mode", site_of(_caller()), given=given, words="train" if on else "eval")
        return self._inside(args)

    def _state(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        site, calls, done = site_of(_caller()), self._calls, self._inside(args)[1]

        def given(state: Any) -> None:
            done(state)
            if isinstance(state, OrderedDict):  # which a weak reference may be made to
                self._states = [*self._states[-WHOLE:], (weakref.ref(state), site, calls)]

        return args, given

    def _load(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A model is given weights: note it where they are its own, which training changed, or have other names."""
        state = args[1] if len(args) > 1 else kwargs.get("state_dict")
        sites = [made for ref, made, _ in self._states if ref() is state]
        again = any(made in sites and calls != self._calls for _, made, calls in self._states)
        site, done, what = site_of(_caller()), self._inside(args)[1], self.parameters.loads(args[0], state)
        if not what and (kept := self._kept_state(args[0])) and self.parameters.equals(args[0], state):
            what, sites, again = "same", [kept], True

        def loaded(result: Any) -> None:
            done(result)
            if len(self._happenings) < MOST and result is not None and (what == "nothing" or (what and again)):
                self._note("state", next(iter(sites), None))
                self._note("load", site, words=what)

        return args, loaded

    def _kept_state(self, module: Any) -> Site | None:
        """The line that took the weights of a module before a backward call and has them still, by reference."""
        living = ((made, calls, state) for ref, made, calls in self._states if (state := ref()) is not None)
        kept = (made for made, calls, state in living if calls != self._calls and made is not None
                and self.parameters.loads(module, state) == "own")  # fmt: skip
        return next(kept, None)

    def _inside(self, args: tuple[Any, ...]) -> Any:
        """Return what is called within this call is not heard."""
        self._within += 1

        def done(_: Any) -> None:
            self._within -= 1

        return args, done

    def _enters(self, call: ModuleCall, path: str) -> None:
        """A model is called: how large the numbers are that it is given, the first time with gradients and without."""
        self._is_tracked = self._is_tracked or self._log.engine.namespace.is_grad_enabled
        tracked = bool(self._is_tracked())
        if (path, tracked) in self._called or len(self._called) > WHOLE:
            return
        self._called.add((path, tracked))
        tensor: Any = self._log.engine.tensor
        given = [x for x in call.args if type(x) is tensor and x.is_floating_point()]
        numbers = self.parameters.read(given[0]) if given and not given[0].requires_grad else None
        if numbers is not None and numbers.size:
            largest = float(np.abs(numbers[:SAMPLE].astype(np.float64)).max())
            # Of a module of the script's own, `forward` has begun.
            forward = getattr_static(type(call.module), "forward", None)
            code = forward.__code__ if isinstance(forward, FunctionType) else None
            calling = next((frame for frame in script_frames() if frame.f_code is not code), _caller())
            self._note("call", site_of(calling), made=tracked, norm=rounded(largest), words=path)

    # -- gradients

    def begins(self, call: BackwardCall, running: Sequence[BackwardEvent]) -> None:
        """A backward call is about to run, within those that are going on."""
        self.keepers.last = self._log.count
        self._calls += 1
        self._over = self.steps >= WHOLE
        if not self.hears:
            self._running.clear()
            return
        self._hooks.begin()
        if not running and self._is_early:
            self.keepers.begins(call.kind)
        self._running[len(running) :] = [(self._tick(), self.parameters.set_of(self.parameters.ready(surely=True)))]

    def ends(self, call: BackwardCall, entry: BackwardEvent) -> None:
        """Note that the call is over."""
        if len(self._running) <= 1:
            self._hooks.end()
        if not self._running:
            return  # it began when nothing was written down any more
        at, ready = self._running.pop()
        known = self._log.known
        ran = [event for event in map(known.get, entry.ran) if event is not None]
        first = min((event.number for event in ran if event.kind is OPERATION), default=self._log.count)
        leaves = [x for event in ran if event.kind is LEAF and (x := event.ref()) is not None]
        written = leaves if call.kind == "backward" and not entry.failed else []
        gone = set(map(self.parameters.number_of, (x for x in written if x.grad is None)))
        keys, numbers = set(entry.ran), set(map(self.parameters.number_of, (x for x in written if x.grad is not None)))
        self.parameters.look()
        self.parameters.leave(x for x in written if x.grad is not None)
        zero = numbers.difference(self.parameters.ready(numbers))
        self._note(
            call.kind, entry.site, at, given=self.parameters.set_of(numbers), zero=self.parameters.set_of(zero),
            ready=ready, number=entry.number, kept=bool(call.keeps_graph), ran=len(entry.ran), failed=entry.failed,
            gone=self.parameters.set_of(gone),
            whole=tuple(time for time, roots in self._passes if roots and roots <= keys),
            after=bisect.bisect_left(self._counts, first), made=call.create_graph,
        )  # fmt: skip
        if call.kind == "backward":
            self._passes = [*self._passes[-WHOLE:], (at, frozenset(map(key_of, entry.roots)))]

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
        before = self.parameters.set_of(self.parameters.ready())

        def note(result: Any) -> None:
            numbers = {self.parameters.number_of(x) for x in given if isinstance(x, self._log.engine.tensor)}
            ready = [number for number in self.parameters.of_set(before) if number in numbers]
            found = None if result is None else self.parameters.plain(result)
            norm = -1.0 if found is None else rounded(found)
            of, had = self.parameters.set_of(numbers), self.parameters.set_of(ready)
            self._note("clip", site, at, given=of, ready=had, norm=norm, words=name)

        return args, lambda result: self.guarded(note, result)

    def _unscale(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        optimizer = args[1] if len(args) > 1 else kwargs.get("optimizer")
        if optimizer is not None and args[0].is_enabled():
            given = self.parameters.set_of(self.parameters.held(optimizer))
            self._note("unscale", site_of(_caller()), optimizer=self._index(optimizer), given=given)

    def _checkpoint(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        frame = _caller()
        while frame is not None and "run_function" not in frame.f_locals:
            frame = frame.f_back
        run = None if frame is None else frame.f_locals["run_function"]
        numbers = [number for module in modules_in(run) for number in self.parameters.of_module(module)]
        engine = self._log.engine
        needs = any(isinstance(x, engine.tensor) and engine.is_tracked(x) for x in args[0])
        self._note("checkpoint", site_of(frame), given=self.parameters.set_of(numbers), kept=needs, words="reentrant")

    # -- hooks

    def _hook(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) < 2 or not callable(args[1]):
            return None
        where = self._tick(), site_of(_caller())
        return args, partial(self.guarded, self._hooks.registered, function.__name__, args[0], args[1], *where)

    def _hooked(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A module is called whose gradients hooks want to see."""
        watch, module, *hooks = args
        return (watch, module, *[self._hooks.through(module, each) for each in hooks]), None

    # -- names, and what is told in the end

    def _name_variables(self, spaces: Sequence[Mapping[str, Any]]) -> None:
        """Note the variables that hold optimizers and parameters now."""
        for space in spaces:
            for name, value in list(space.items()):
                if isinstance(name, str) and name[0] not in "_.@" and not issubclass(type(value), _NO_HOLDERS):
                    self._name(name, value)
                    for key, item in _held_by(value):
                        self._name(f"{name}{key}", item)

    def _name(self, name: str, value: Any) -> None:
        for known in self._optimizers:
            if not known.name and known.ref() is value:
                known.name = name
        self.parameters.name(name, value)

    def finish(self, scope: Mapping[str, Any], kept: Collection[int] = ()) -> Ledger:
        """Return what was heard in the first steps, and in those later ones that are `kept`."""
        with self._log.engine.untouched():
            return self._finish(scope, kept)

    def _finish(self, scope: Mapping[str, Any], kept: Collection[int]) -> Ledger:
        line = self._line
        self._name_variables([scope])
        parameters, modules = self.parameters.finish(line)
        made = [(each, line(each.site)) for each in self._optimizers]
        optimizers = [Optimizer(each.cls, each.at, at, each.name, each.holds, each.options) for each, at in made]
        happenings, later = (
            tuple(sorted((replace(each, source=line(site)) for site, each in those), key=lambda each: each.at))
            for those in (self._happenings, [one for one in self._later if one[1].step in kept])
        )
        keepers, hooks = self.keepers.finish(scope), self._hooks.finish(line)
        sets = tuple(self.parameters.sets)
        more = self._more + len(self._later) - len(later)
        return Ledger(parameters, modules, tuple(optimizers), sets, happenings, hooks, keepers, more, later)


def _held_by(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a container, or an object of the script's, holds, with the words that lead to it."""
    if is_exactly(value, list, tuple) and len(value) <= _LONGEST:
        yield from ((f"[{position}]", item) for position, item in enumerate(value))
    elif type(value) is dict and len(value) <= _LONGEST:
        yield from ((f"[{key!r}]", item) for key, item in list(value.items()) if isinstance(key, (str, int)))
    else:
        yield from ((f".{key}", item) for key, item in list(attributes_of(value).items()))


def _caller() -> Any:
    return sys._getframe(2)
