"""The places where PyTorch is listened to: its operations, custom Functions, calls of modules and backward passes."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from autograph_cli.engines.protocol import Applied
from autograph_cli.engines.pytorch import collectives, private, private_compiler, private_replaced
from autograph_cli.engines.pytorch.notes import asked
from autograph_cli.engines.values import places
from autograph_cli.pure import compiled

if TYPE_CHECKING:
    from autograph_cli.engines.pytorch.connection import PyTorch

_Tensor = torch.Tensor
_is_compiling: Callable[[], bool] = torch.compiler.is_compiling
_call_numbers = itertools.count()


class _Process:
    """The state that all threads share."""

    engine: PyTorch | None = None
    """The connection that listens."""
    hooked = False
    follows = False
    """True if it is told of what comes now."""
    exchanges: tuple[tuple[Any, Callable[[], None]], ...] = ()
    """The collectives whose results are not there yet, each with what tells of it."""


class Call(NamedTuple):
    """A call of a module; see `protocol.ModuleCall`."""

    number: int
    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Caller(NamedTuple):
    """The thread that has begun a pass, for the threads that the pass runs in."""

    ident: int
    calls: list[Call]
    listening: Any
    """The listener's own notes on the thread."""


class _Thread(threading.local):
    def __init__(self) -> None:
        self.runs: bool | None = None
        """True in a thread of a device, which runs the passes of others; None while that is not known."""
        self.caller: Caller | None = None
        """The thread whose pass it has run last."""
        self.calls: list[Call] = []
        """The calls of modules that are going on, the innermost last."""
        self.engine: PyTorch | None = None
        """The connection that this thread's operations are intercepted for."""
        self.apart = 0
        """The number of checks of derivatives and traces of functions that are going on, of which nothing is told."""
        self.carries = False
        """True while tensors are carried to other ranks, of which the collectives are told."""
        self.hides = False
        """True while an operation makes a new tensor where PyTorch records no derivative."""


_process = _Process()
_thread = _Thread()


# -- who listens


def attach(engine: PyTorch) -> PyTorch | None:
    """Let this connection listen; returns the one that did."""
    before = _process.engine
    faster = fast()
    private.intercept(_operation if faster is None else faster.operation)
    private_compiler.pass_over_ours()
    _process.hooked = _process.hooked and before is not None
    _process.engine, _process.follows = engine, False
    follow(engine, True)
    return before


def fast() -> Any:
    """The compiled listener, where there is one."""
    return compiled("fast_listener", __package__)


def detach(engine: PyTorch, before: PyTorch | None = None) -> bool:
    """Let it listen no more, and another one, if there was one before it; returns whether nobody listens now."""
    if _process.engine is not engine:
        return False
    _stop()
    _process.engine = before
    if before is not None:
        follow(before, True)
    return before is None


def follow(engine: PyTorch, on: bool) -> None:
    """Set whether the connection is told of what comes now."""
    if _process.engine is not engine or (on and _process.follows):
        return
    if on:
        _process.follows = True
        private_replaced.replace_apply(_apply)
        private_replaced.replace_call(_call)
        private_replaced.watch_methods(_hooked, _aliased)
        private_replaced.replace_apart(_apart, _carrying)
        private_replaced.replace_delayed_error(_refused)
        _thread.engine = None
        here()
    else:
        _stop()
        engine.end_thread()


def _stop() -> None:
    _process.follows, _process.exchanges = False, ()
    private_replaced.replace_apply(None)
    private_replaced.replace_call(private_replaced.call_module)
    private_replaced.watch_methods(None, None)
    private_replaced.replace_apart(None, None)
    private_replaced.replace_delayed_error(None)
    _thread.engine = None
    private.intercepted(False)


def listener() -> PyTorch | None:
    """The connection that listens, whether or not it is told of what comes now."""
    return _process.engine


def follows() -> bool:
    """Return whether it is told of what comes now."""
    return _process.follows


def here() -> PyTorch | None:
    """The connection that is told of what this thread does now; its operations are intercepted from now on.

    While PyTorch checks, traces or compiles, that is nobody, and what is traced has no part of this.
    """
    if not _process.follows or _thread.apart:
        private.intercepted(False)
        return None
    engine = _process.engine
    if _thread.runs is not False and engine is not None:
        _join(engine)
    if engine is not _thread.engine and engine is not None:
        _thread.engine = engine
        engine.begin_thread()
        private.intercepted(True)
    return None if is_apart() else engine


def _join(engine: PyTorch) -> None:
    """In a thread of a device, go on with the notes of the thread that began the pass."""
    caller = private.carried() if private.in_pass() else None
    if _thread.runs is None:
        _thread.runs = caller is not None and caller.ident != threading.get_ident()
    if _thread.runs and caller is not None and caller is not _thread.caller:
        _thread.caller, _thread.calls = caller, caller.calls
        engine.listener.join(caller.listening)
        engine.begin_thread()


def caller(engine: PyTorch) -> Caller:
    """This thread, for those that its next pass runs in."""
    return Caller(threading.get_ident(), _thread.calls, engine.listener.here())


def is_apart() -> bool:
    """Return whether what runs in this thread is not what the script computes: PyTorch checks, traces or compiles."""
    return _thread.apart > 0 or private.is_traced()


def _hooked() -> None:
    """A tensor is given a hook: no pass may run that the script did not ask for."""
    _process.hooked = True


def are_hooked() -> bool:
    """Return whether the script has given tensors hooks since somebody listens."""
    return _process.hooked


class unheard:
    """Within the block, nothing of this thread is told, and nothing is compiled. A generator would take twice as long,
    some twenty times a step."""

    __slots__ = ("before", "compiling")

    def __enter__(self) -> None:
        self.before, self.compiling = private.is_intercepted(), private_compiler.compiling_frames(None)
        private.intercepted(False)

    def __exit__(self, *_: object) -> None:
        private.intercepted(self.before)
        private_compiler.compiling_frames(self.compiling)


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    """Within the block, derivatives are checked or functions traced: what is computed is not the script's."""
    _thread.apart += 1
    try:
        with unheard():
            yield
    finally:
        _thread.apart -= 1


@contextlib.contextmanager
def _carrying() -> Iterator[None]:
    """Within the block, tensors are copied to be carried to other ranks: none is computed from another."""
    _thread.carries = True
    try:
        yield
    finally:
        _thread.carries = False


def calls() -> list[Call]:
    """The calls of modules that this thread has entered and not left."""
    return _thread.calls


# -- what happens


@private_compiler.uncounted
def _operation(operation: private.Operation, *args: Any, **kwargs: Any) -> Any:
    """Runs an operation, and tells of the node that it made."""
    compiling = private_compiler.compiling_frames(None)
    if operation.found is None:
        operation.find()
    records = torch.is_grad_enabled()
    engine = None if not records and _is_unseen(operation) else here()
    private.intercepted(False)
    try:
        if _process.exchanges:
            _note_results()
        if engine is None:
            return private.compute(operation, args, kwargs)
        return _told(engine, operation, args, kwargs, records)
    finally:
        if _process.follows:
            private.intercepted(True)
        private_compiler.compiling_frames(compiling)


def _is_unseen(operation: private.Operation) -> bool:
    """Return whether nothing is told of what makes no node: a backward pass computes it on its way, an optimizer takes
    a step, or it only changes many tensors at once."""
    engine = _process.engine
    if operation.names[0] == "c10d" or engine is None or engine.watcher is not None:
        return False
    return operation.gives_nothing or private.in_pass() or engine.listener.updates


@private_compiler.uncounted
def _told(engine: PyTorch, operation: private.Operation, args: Any, kwargs: Any, records: bool) -> Any:
    found = operation.found
    if operation.names[0] == "c10d":
        done = engine.tell(collectives.tell, engine.listener, found, args, kwargs)
        result = private.compute(operation, args, kwargs)
        if done is not None:
            _process.exchanges = (*_process.exchanges, (collectives.work_of(result), done))
        return result
    if _thread.carries:
        return private.compute(operation, args, kwargs)
    changes = operation.changes and records
    before = engine.tell(_histories, args, kwargs) if operation.changes else None
    if changes and engine.changing is not None:
        engine.tell(engine.changing, found, args, kwargs)
    if engine.measured and "batch_norm" in operation.names[1]:
        engine.earlier = engine.tell(_running, engine, args[3:5]) or {}
    number = private.sequence_number()
    if engine.watcher is None:
        result = private.compute(operation, args, kwargs)
    else:
        mark, start = engine.mark(args), time.perf_counter_ns()
        result = private.compute(operation, args, kwargs)
        took, engine.late = time.perf_counter_ns() - start, engine.since(mark)
        engine.watcher(found, args, result, took, kwargs)
    made = private.sequence_number() != number or (records and _has_gradient(result))
    if made or not private.in_pass():
        _noted(engine, operation, args, kwargs, before, result, made, changes)
    engine.earlier = {}
    return result


def _noted(
    engine: PyTorch, operation: private.Operation, args: Any, kwargs: Any, before: Any, result: Any, made: bool,
    changes: bool,
) -> None:  # fmt: skip
    """Tell of an operation that was computed; of what it was given, `before` tells if it may have changed that."""
    given = before or [(x, None) for x in tensors_in((*args, *kwargs.values()))]
    plain = _plain(operation.defaults, args, kwargs)
    if made:
        engine.tell(engine.computed, operation.found, given, plain, result, changes)
    else:
        engine.tell(engine.untracked, operation.found, given, plain, result)


def _running(engine: PyTorch, statistics: Iterable[Any]) -> dict[int, Any]:
    """Return the numbers of running statistics, which a batch norm changes and does not say so."""
    arrays = {id(x): engine.array(x) for x in statistics if isinstance(x, torch.Tensor)}
    return {number: array.copy() for number, array in arrays.items() if array is not None}


def _note_results() -> None:
    """Tell of the collectives that are over, before the operation that comes first after them may change what they
    gave."""
    engine, waiting = _process.engine, []
    for work, done in _process.exchanges:
        if work is not None and not work.is_completed():
            waiting.append((work, done))
        elif engine is not None:
            engine.tell(done)
    _process.exchanges = tuple(waiting)


def _has_gradient(result: Any) -> bool:
    """Return whether a result has a history; that of an operation without a derivative takes no number."""
    if isinstance(result, torch.Tensor):
        return bool(result.requires_grad)
    return any(x.requires_grad for x in tensors_in((result,)))


def _refused(args: Any, results: Any) -> None:
    """A node was made that refuses to be differentiated."""
    engine = here()
    if engine is not None:
        with unheard():
            engine.tell(engine.applied, "", engine.applies(tensors_in(args)), results)


def _aliased(operation: str, tensor: Any, result: Any) -> None:
    """An alias of a tensor was made by a method, and not by what records."""
    engine = here()
    if engine is not None and isinstance(result, torch.Tensor) and private.is_intercepted():
        with unheard():
            engine.tell(engine.aliased, operation, tensor, result)


def _histories(args: Any, kwargs: Any) -> list[tuple[Any, Any]]:
    """The tensors that an operation is given, with the nodes that made them and which output of them they are."""
    read = private.history if torch.is_grad_enabled() else asked
    tensors = tensors_in((*args, *kwargs.values()))
    return [
        (x, (node, x.output_nr) if node is not None or not x.requires_grad else None)
        for x, node in zip(tensors, map(read, tensors), strict=True)
    ]


def _plain(defaults: Mapping[str, Any], args: Any, kwargs: Any) -> list[tuple[str, Any]]:
    """The arguments that are plain and no default, by name."""
    found = []
    named = zip(defaults, args, strict=False)
    for name, value in (*named, *kwargs.items()) if kwargs else named:
        if value is None or isinstance(value, _Tensor):
            continue
        plain = value
        if isinstance(value, (list, tuple)):
            plain = places(value) or value
            if plain is value and not all(isinstance(item, (bool, int, float)) for item in value):
                continue
        elif not isinstance(value, (bool, int, float, complex, str, torch.dtype)):
            continue
        if plain != defaults.get(name):
            found.append((name, plain))
    return found


def tensors_in(values: Iterable[Any]) -> list[Any]:
    """The tensors among arguments or results, those in lists as well; of samples within `vmap` the whole batch."""
    found: list[Any] = []
    _collect(values, found)
    return list(map(private.batch_of, found)) if private.is_within_transform() else found


def _collect(values: Iterable[Any], found: list[Any]) -> None:
    for value in values:
        if isinstance(value, _Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            _collect(value, found)


@private_compiler.uncounted
def _apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Applies a custom Function, and tells of its node; of a compiled one, of nothing that it does inside."""
    engine = here()
    applies = None if engine is None else _applies(engine, (*args, *kwargs.values()))
    with unheard() if private_compiler.is_compiled(cls) else contextlib.nullcontext():
        result = private_replaced.apply_function(cls, *args, **kwargs)
    if engine is not None and applies is not None and _process.follows:
        with unheard():
            engine.tell(engine.applied, cls.__name__, applies, result)
    return result


def _applies(engine: PyTorch, values: Iterable[Any]) -> Applied | None:
    """Return what is about to be given to something that makes a node; None where nothing of it has a gradient."""
    given = tensors_in(values)
    if not (torch.is_grad_enabled() and any(x.requires_grad for x in given)):
        return None
    with unheard():
        return engine.tell(engine.applies, given)  # type: ignore[no-any-return]


@private_compiler.uncounted
def _call(module: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls a module, and notes that it is being called."""
    if _is_compiling():
        return private_replaced.call_module(module, *args, **kwargs)
    if _thread.engine is not _process.engine or _thread.apart or _thread.runs is not False:
        here()
    calls = _thread.calls
    depth = len(calls)
    calls.append(Call(next(_call_numbers), module, args, kwargs))
    try:
        return private_replaced.call_module(module, *args, **kwargs)
    finally:
        del calls[depth:]
