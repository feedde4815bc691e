"""The calls that a script makes of what has a derivative of its own, with their arguments, so that they can be made
again: custom Functions, custom operators, modules, and a function that is asked for by name."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from autograph_cli.engines.protocol import Connect
from autograph_cli.graph import Graph
from autograph_cli.graph.cuts import behind, where
from autograph_cli.graph.errors import message
from autograph_cli.graph.marks import cutting
from autograph_cli.record.measure.finite_difference import CannotCheck, Checked, Given, check, run_once, tensors_in
from autograph_cli.record.names.function_calls import applying, around_calls
from autograph_cli.record.recorder import Recorder

FIRST = 3
"""The calls of each that are kept, and the last."""
_ENGINES = ("torch", "torchvision", "autograph_cli")
_ENDLESS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass(slots=True)
class Applied:
    """One custom Function, operator, module or function of the script, and calls of it."""

    kind: str
    """`Function`, `operator`, `module` or `function`."""
    name: str
    function: Callable[..., Any]
    calls: list[Given] = field(default_factory=list)
    obstacle: str = ""
    """The reason why its calls cannot be made again."""
    wrong: Given | None = None
    """The call of which a derivative is wrong, once it was checked."""

    def note(self, torch: Any, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        """Note one more call."""
        try:
            given = Given.of(torch, args, words)
        except Exception as error:
            self.obstacle = f"its arguments cannot be copied ({type(error).__name__}: {message(error)})"
        else:
            del self.calls[FIRST:]
            self.calls.append(given)

    def check(self, torch: Any, orders: int, until: float) -> list[Checked]:
        """The derivatives at all calls that were kept: of each order the worst. Raises `CannotCheck`."""
        if self.obstacle:
            raise CannotCheck(self.obstacle)
        if not self.calls:
            raise CannotCheck("it is called only where functions are traced or transformed, and no tensor is read")
        worst: dict[int, Checked] = {}
        for given in self.calls:
            for one in check(torch, self.name, self.function, given, orders, until):
                before = worst.get(one.order)
                if not one.good:
                    self.wrong = given
                if before is None or _badness(one) > _badness(before):
                    worst[one.order] = one
        wrong = min((one.order for one in worst.values() if not one.good), default=orders)  # the next tell nothing
        return [one for order, one in sorted(worst.items()) if order <= wrong]


def wrong_nodes(recorder: Recorder, torch: Any, applied: Applied, order: int) -> list[str]:
    """Return why the derivative of this order is wrong: nodes of a call whose own derivatives are, at the inputs that
    they saw, and where a gradient is cut."""
    if applied.wrong is None:
        return []
    recorder.start()
    try:
        run_once(torch, applied.function, applied.wrong, order - 1)
    finally:
        trace = recorder.finish({})
    return list(dict.fromkeys(said for step in trace.steps for said in _faults(step.graph, order)))


def _faults(graph: Graph, order: int) -> Iterator[str]:
    last = max((node.id for node in graph if node.kind == "operation"), default=None)
    inside = set() if last is None else behind(graph, [(last, 0)], untracked=True)
    cuts = cutting(graph)
    for node in graph:
        if node.id not in inside:
            continue
        if node.measured is not None and node.measured.wrong:
            yield f"{where(node)} is wrong by itself: {node.measured.wrong}"
        elif any(graph[user].order >= order - 1 for user in cuts.get(node.id, ())):  # the lower orders are right
            yield f"{where(node)} cuts the gradient"


class Listening:
    """Collects what was applied while the script ran, in the order of the first calls."""

    torch: Any
    engine: Connect

    def __init__(self, script: str, function: str = "") -> None:
        self.script, self.function = script, function
        """The function that is asked for, `f` or `Net.loss`, which is then all that is listened for."""
        self.called: dict[str, None] = {}
        """The functions of the script that were called, where one is asked for."""
        self._found: dict[Any, Applied] = {}

    @property
    def found(self) -> list[Applied]:
        """Return what was applied: Functions first, then operators, then modules."""
        kinds = ("Function", "operator", "module", "function")
        return sorted(self._found.values(), key=lambda applied: kinds.index(applied.kind))

    @contextlib.contextmanager
    def on(self, torch: Any, engine: Connect) -> Iterator[None]:
        """Listen within the block, in which this is `torch`, of this engine."""
        self.torch, self.engine = torch, engine
        with contextlib.ExitStack() as stack:
            if self.function:
                sys.setprofile(self._event)
                stack.callback(sys.setprofile, None)
            else:
                stack.enter_context(around_calls(self.torch, self._function))
                self._listen_to(stack, self.torch.library.CustomOpDef, self._operator)
                self._listen_to(stack, self.torch.nn.Module, self._module)
            yield

    @contextlib.contextmanager
    def _function(self, cls: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Iterator[None]:
        if cls.__module__.partition(".")[0] not in _ENGINES:
            self._note("Function", cls, cls.__name__, applying(cls), args, words)
        yield

    def _listen_to(self, stack: contextlib.ExitStack, cls: Any, told: Callable[..., None]) -> None:
        original = cls.__call__

        is_compiling = self.torch.compiler.is_compiling

        def call(called: Any, *args: Any, **words: Any) -> Any:
            if not is_compiling():
                told(called, args, words)
            return original(called, *args, **words)

        cls.__call__ = call
        stack.callback(setattr, cls, "__call__", original)

    def _operator(self, operator: Any, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        self._note("operator", operator, operator._qualname, operator, args, words)

    def _module(self, module: Any, args: tuple[Any, ...], words: dict[str, Any]) -> None:
        cls = type(module)
        if cls.__module__.partition(".")[0] not in _ENGINES:
            self._note("module", cls, cls.__name__, _call, (module, *args), words)

    def _note(
        self, kind: str, key: Any, name: str, function: Callable[..., Any], args: tuple[Any, ...], words: dict[str, Any]
    ) -> None:
        if not self.torch.is_grad_enabled():
            return
        module = kind == "module"
        if module or any(x.requires_grad for x in tensors_in(self.torch, (args, words))):
            found = self._found.setdefault(key, Applied(kind, name, function))
            if not self.engine.is_transforming():
                found.note(self.torch, args, words)

    def _event(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_filename != self.script or code.co_name.startswith("<"):
            return
        name = code.co_qualname.rpartition("<locals>.")[2]
        self.called[name] = None
        if name == self.function:
            found = self._found.setdefault(code, Applied("function", name, _function_of(frame)))
            if code.co_flags & _ENDLESS:
                found.obstacle = "it is a generator or a coroutine, and returns no tensor"
            elif not self.engine.is_transforming():
                found.note(self.torch, *_given(frame, code))


def _badness(one: Checked) -> tuple[bool, bool, float]:
    return not one.good, bool(one.unchecked), one.error


def _call(called: Any, *args: Any, **words: Any) -> Any:
    return called(*args, **words)


def _function_of(frame: FrameType) -> Callable[..., Any]:
    """The function that a frame runs, wherever it was defined."""
    code = frame.f_code
    cells = tuple(CellType(frame.f_locals[name]) if name in frame.f_locals else CellType() for name in code.co_freevars)
    return FunctionType(code, frame.f_globals, code.co_name, None, cells)


def _given(frame: FrameType, code: CodeType) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call that has just begun."""
    names, values = code.co_varnames, frame.f_locals
    taken, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    args = [values[name] for name in names[:taken]]
    words = {name: values[name] for name in names[taken:named]}
    if code.co_flags & inspect.CO_VARARGS:
        args += values[names[named]]
        named += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        words |= values[names[named]]
    return tuple(args), words
