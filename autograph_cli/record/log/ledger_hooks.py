"""The hooks of the ledger of training: where they were registered, what they were given, and what went on."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from autograph_cli.graph.ledger import Hook
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.ledger_keepers import Line
from autograph_cli.record.log.ledger_parameters import Parameters, product, rounded
from autograph_cli.record.names.source_locations import Site
from autograph_cli.record.names.variables import attributes_of

HOOKED = 8
"""The calls of a hook that are looked at."""
MOST = 500
ON_TENSORS = ("register_hook", "register_post_accumulate_grad_hook")
_NUMBERS = 1 << 14
_NOWHERE: tuple[Any, Any] = None, None


@dataclass(slots=True)
class _Hook:
    kind: str
    at: int
    site: Site | None
    function: str
    ref: weakref.ref[Any]
    handle: Any
    on: str = ""
    parameter: int | None = None
    again: int = 1
    calls: int = 0
    given: list[float] = field(default_factory=list)
    returned: list[float] = field(default_factory=list)
    factors: list[float | None] = field(default_factory=list)
    last: int | None = None
    """The hash of what went on last."""
    same: bool = True
    aside: float = 1.0
    """The least cosine between what it was given and what went on."""

    def place(self) -> tuple[Any, Any]:
        """The dict that holds it, and what is there under its key."""
        hooks = self.handle.hooks_dict_ref()
        return hooks, None if hooks is None else hooks.get(self.handle.id)


class Hooks:
    """The hooks of one run. `guarded` calls what must not disturb the script; `hears` is true if hooks are heard."""

    def __init__(
        self, log: EventLog, parameters: Parameters, guarded: Callable[..., Any], hears: Callable[[], bool]
    ) -> None:
        self._log, self._parameters, self._guarded, self._hears = log, parameters, guarded, hears
        self._known: list[_Hook] = []
        self._on: dict[tuple[int, Any], list[_Hook]] = {}
        """The hooks by what they are on, and their code."""
        self._aside: list[tuple[_Hook, Any, Any]] = []
        """The hooks that something stands for that tells of them, and what does."""

    def registered(self, kind: str, on: Any, hook: Any, at: int, site: Site | None, handle: Any) -> None:
        """A hook was registered, of which this is the handle; None where that failed."""
        if handle is None or (self._known and self._known[-1].handle is handle):  # a subclass handed the call on
            return
        known = _Hook(kind, at, site, _name_of(hook), weakref.ref(on), handle)
        if known.function:
            function = hook.__func__ if isinstance(hook, MethodType) else hook
            others = self._on.setdefault((id(on), function.__code__), [])
            known.again += sum(other.ref() is on for other in others)
            others.append(known)
        tensor: Any = self._log.engine.tensor
        if not isinstance(on, tensor):
            known.on = type(on).__name__
        elif self._log.engine.is_leaf(on):
            known.parameter = self._parameters.number_of(on)
        else:
            output = self._log.engine.output(on)
            known.on = next(iter([] if output is None else self._log.names_of(output)), "")
        if len(self._known) < MOST:
            self._known.append(known)

    def begin(self) -> None:
        """A pass begins: in it something stands for each hook of a tensor that tells what the hook does."""
        for known in self._known if not self._aside else ():
            looks = known.kind in ON_TENSORS and known.calls < HOOKED
            hooks, hook = known.place() if looks else _NOWHERE
            if hook is not None:
                hooks[known.handle.id] = telling = self._telling(known, hook)
                self._aside.append((known, hook, telling))

    def end(self) -> None:
        """No pass goes on: the script finds its own functions where it put them."""
        self._show(own=True)
        self._aside.clear()

    def _show(self, *, own: bool) -> None:
        """Put the script's own functions in their places, or what stands for them."""
        for known, hook, telling in self._aside:
            hooks, there = known.place()
            if there is (telling if own else hook):
                hooks[known.handle.id] = hook if own else telling

    def through(self, module: Any, hooks: list[Any]) -> list[Any]:
        """Return what stands for the hooks of a module in one call of it, and tells what they do."""
        mine = [each for each in self._known if each.ref() is module and each.calls < HOOKED]
        own = {id(hook): known for known in mine if (hook := known.place()[1]) is not None}
        return [self._telling(own[id(hook)], hook) if id(hook) in own else hook for hook in hooks]

    def _telling(self, known: _Hook, hook: Any) -> Any:
        leaf = known.kind == "register_post_accumulate_grad_hook"

        def heard(*args: Any, **kwargs: Any) -> Any:
            if not args or known.calls >= HOOKED or not self._hears():
                return hook(*args, **kwargs)
            given = _first(args[0].grad if leaf else args[-1] if len(args) == 1 else args[1])
            before = self._guarded(self._copy, given)
            self._show(own=True)
            try:
                result = hook(*args, **kwargs)
            finally:
                self._show(own=False)
            after = args[0].grad if leaf else given if result is None else _first(result)
            self._guarded(self._look, known, before, after)
            return result

        heard.__name__ = _name_of(hook) or "<unknown>"  # errors name the hook
        heard._ag_hook = hook  # type: ignore[attr-defined]
        return self._log.engine.between(heard)

    def _look(self, known: _Hook, given: Any, went_on: Any) -> None:
        """A hook was given a gradient, of which this is a copy, and this is what went on."""
        known.calls += 1
        after = self._copy(went_on)
        if given is None or after is None or given.shape != after.shape:
            return
        factor = None
        with np.errstate(all="ignore"):
            norms = product(given, given) ** 0.5, product(after, after) ** 0.5
            if norms[0] and np.isfinite(norms).all():
                along = product(given, after)
                factor = along / norms[0] ** 2
                if not np.allclose(after, factor * given, rtol=1e-4, atol=1e-6 * norms[0]):
                    factor = None
                known.aside = min(known.aside, along / (norms[0] * norms[1]) if norms[1] else 1.0)
        now = hash(after.tobytes())
        known.same = known.same and known.last in (None, now)
        known.last = now
        known.given.append(rounded(norms[0]))
        known.returned.append(rounded(norms[1]))
        known.factors.append(None if factor is None else rounded(factor))

    def _copy(self, x: Any) -> Any:
        numbers = self._parameters.read(x) if isinstance(x, self._log.engine.tensor) else None
        return None if numbers is None else numbers[:_NUMBERS].astype(np.complex128)

    def _path(self, known: _Hook) -> str:
        """The path of the module that a hook is on, where the names of its parameters tell it; else what it is on."""
        for parameter, depth in _parameters_in(known.ref()):
            number = self._parameters.known(parameter)
            name = "" if number is None else self._parameters.path(number)
            return ".".join(name.split(".")[:-depth]) or known.on
        return known.on

    def finish(self, line: Line) -> tuple[Hook, ...]:
        """All of them."""
        return tuple(
            Hook(
                each.kind,
                self._path(each),
                each.at,
                line(each.site),
                each.function,
                each.parameter,
                each.calls,
                each.again,
                each.same and each.calls > 1 and each.aside < 0.5,
                tuple(each.given),
                tuple(each.returned),
                tuple(each.factors),
            )
            for each in self._known
        )


def _parameters_in(module: Any, depth: int = 1) -> Iterator[tuple[Any, int]]:
    """The parameters of a module and of those within it, each with the length of its path."""
    its = {} if module is None else attributes_of(module)
    own, inner = its.get("_parameters"), its.get("_modules")
    yield from ((x, depth) for x in (own.values() if isinstance(own, dict) else ()) if x is not None)
    for each in inner.values() if isinstance(inner, dict) else ():
        yield from _parameters_in(each, depth + 1)


def _name_of(hook: Any) -> str:
    """The name of a hook that is a function or a method; what else a script calls may have code of its own for
    attributes."""
    function = hook.__func__ if isinstance(hook, MethodType) else hook
    return function.__name__ if isinstance(function, FunctionType) else ""


def _first(value: Any) -> Any:
    """The first gradient of several."""
    return next((x for x in value if x is not None), None) if type(value) is tuple else value


def modules_in(function: Any) -> list[Any]:
    """The modules that a function is, is a method of, or has in its closure, its defaults or a `partial`; no code of
    the script's is asked."""
    things = [function]
    for each in things:
        if isinstance(each, MethodType):
            things.append(each.__self__)
        elif each is function and isinstance(each, functools.partial):
            things += [each.func, *each.args]
        elif each is function and isinstance(each, FunctionType):
            things += [*(each.__defaults__ or ()), *_contents(each)]
    return [each for each in things if isinstance(attributes_of(each).get("_parameters"), dict)]


def _contents(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # it is empty still
            yield cell.cell_contents


def script_hook(hook: Any) -> Any:
    """Return the hook that the script registered, of one that the ledger hears through."""
    return vars(hook).get("_ag_hook", hook) if type(hook) is FunctionType else hook
