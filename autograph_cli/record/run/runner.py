"""Runs a file, a module or standard input as `python` does, with `import torch` served from the engine."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import io
import linecache
import operator
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Generator, Iterator
from importlib.machinery import BuiltinImporter, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Literal, NoReturn, ParamSpec, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from autograph_cli import AutographError, engines
from autograph_cli.graph import Source, Trace
from autograph_cli.record.log.signals import handlers, retire
from autograph_cli.record.run import store
from autograph_cli.record.run.imports import serve
from autograph_cli.record.run.own_imports import OwnImports
from autograph_cli.record.run.tracebacks import details, line_that_raised, print_exception, summary

INTERRUPTED = -signal.SIGINT
"""As that of a process which a signal ended."""
FAILED = 2
"""The exit code of a command whose script raised, for 1 is an answer: a difference, a finding, no path."""
STDIN, CODE = "<stdin>", "<string>"
_excepthook = sys.excepthook
_held: list[contextlib.ExitStack] = []
"""The changes that stay until exit: a forked child forgets its parent's atexit functions, but must keep these."""


class TargetError(AutographError):
    """The target of a run cannot be found or read."""


class Target(Struct, frozen=True):
    """The code to run, and its arguments."""

    kind: Literal["file", "module", "stdin", "code"]
    name: str
    args: tuple[str, ...] = ()
    source: bytes | None = None
    """The text, where it has been read already: standard input can be read once only."""

    @classmethod
    def of(cls, name: str, args: tuple[str, ...] = (), *, module: bool = False) -> Target:
        """The target that a command line names: a file, `-` for standard input, or a module.

        >>> Target.of("train.py", ("--epochs", "3")).label
        'train.py'
        """
        if module:
            return cls("module", name, args)
        return cls("stdin" if name == "-" else "file", name, args)

    @property
    def label(self) -> str:
        """Return how the trace names it: the same in whichever folder it is run."""
        return {"file": Path(self.name).name, "module": self.name, "stdin": STDIN, "code": CODE}[self.kind]

    @property
    def words(self) -> str:
        """Return how a command line names it: `-m package.train` for a module."""
        return f"-m {self.name}" if self.kind == "module" else self.name


class Result(Struct, frozen=True):
    """The end of a run: its exit code, the exception in one line, and the script's globals."""

    exit_code: int
    """The script's own, but `FAILED` after an exception."""
    failure: str = ""
    failed_at: Source | None = None
    """The script's line that raised it."""
    details: str = ""
    scope: dict[str, Any] = field(default_factory=dict)


class RecorderLike(Protocol):
    """The methods of a recorder that `record` calls."""

    def start(self) -> None: ...

    def finish(self, scope: dict[str, Any]) -> Trace: ...


Script = tuple[CodeType, dict[str, Any]]
"""The code to execute, and its globals."""
Ended = TypeVar("Ended")
Given = ParamSpec("Given")
Session = Generator[Script, BaseException | None, Ended]
"""The run of a script: it yields the code to execute, so that this is done near the bottom of the stack."""


class _Left(SystemExit):
    """The script ended its process at once, by `os._exit`."""


@contextlib.contextmanager
def _told_of_leaving(session: Session[Ended]) -> Iterator[None]:
    """Within the block, `os._exit` tells the session before it ends the process; in a child that was forked it only
    does that. What waits in `sys.stdout` is not written out, as without the session."""
    leave, process = os._exit, os.getpid()

    def tell(status: int) -> NoReturn:
        if os.getpid() == process:
            os._exit = leave
            with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
                session.send(_Left(operator.index(status)))
        leave(status)

    os._exit = tell
    try:
        yield
    finally:
        os._exit = leave


def drive(session: Session[Ended], scripts: list[Script], *raised: Any) -> Ended | None:
    """Execute what the session has come to, the one item of the list, and tell it how that ended; what it returns.

    The frames of whoever calls this are beneath those of the script, where `traceback.print_stack` shows them. It may
    be put into `sys.excepthook`, and is given what was `raised` then.
    """
    if raised:
        sys.excepthook = _excepthook
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)
    error: BaseException | None = None
    with _told_of_leaving(session):
        try:
            exec(*scripts.pop())
        except BaseException as caught:
            error = caught
    try:
        session.send(error)
    except StopIteration as done:
        ended: Ended = done.value
        return ended
    return None


# Warnings and logging pass over frames of the import system, which they know by the name of the file.
drive.__code__ = drive.__code__.replace(co_filename="<frozen importlib._bootstrap>")


def driven(session: Session[Ended]) -> Ended:
    """Return what a session returns, its script being executed from here."""
    ended: Any
    try:
        script = next(session)
    except StopIteration as done:
        ended = done.value
    else:
        ended = drive(session, [script])
    found: Ended = ended
    return found


def _whole(session: Callable[Given, Session[Ended]]) -> Callable[Given, Ended]:
    """Return a function that makes such a session and returns what it returns."""

    @functools.wraps(session)
    def whole(*args: Given.args, **kwargs: Given.kwargs) -> Ended:
        return driven(session(*args, **kwargs))

    return whole


def running(
    target: Target,
    *,
    before: Callable[[], None] | None = None,
    after: Callable[[Result], None] | None = None,
    until_exit: bool = False,
    served: bool = True,
) -> Session[Result]:
    """A session that runs the target as `__main__`: it yields the script, is sent what that raised, returns its end.

    `import torch` is `served` from the engine of this package, or finds the PyTorch that is installed.

    `before` is called ahead of the script's first line, `after` once it and its threads have ended. Both find
    `sys.argv`, `sys.path[0]`, `__main__` and the served `torch` in place; these are put back on return, or, with
    `until_exit`, when the process ends, after the functions that the script registered with `atexit`.
    Raises `TargetError` for a file or a module that is not there.
    """
    code = read(target)
    with contextlib.ExitStack() as stack:
        if served:
            stack.enter_context(serve())
        main, imports = stack.enter_context(_as_main(target))
        if until_exit:
            _held.append(stack.pop_all())
            atexit.register(_held[-1].close)
        process, handled = os.getpid(), handlers()
        if before is not None:
            before()
        ending = yield from _execute(target, code, main)
        if os.getpid() != process:
            sys.exit(ending.exit_code)  # a child that the script forked; what was recorded is the parent's to tell
        retire(handled)
        imports.script_ended()
        result = replace(ending, scope=main.__dict__)
        if after is not None:
            after(result)
        return result


run = _whole(running)
"""Run the target as `__main__` and return how it ended; what it raises is printed, its own frames only."""


def recording(
    target: Target,
    steps: str = "first,last",
    *,
    recorder: RecorderLike | None = None,
    until_exit: bool = False,
    record: Collection[str] = (),
    watch: Collection[str] = (),
    engine: str = "builtin",
    each: bool = True,
) -> Session[tuple[Result, Trace]]:
    """A session that runs the target under a recorder (see `running`).

    `record` names what is recorded beside the graph (`measures.KINDS`), `watch` what of parameters in each step
    (`watch.KINDS`); `engine` is what `--engine` takes, `each` as of `Recorder`.
    """
    connection = engines.connect(engine)
    if recorder is None:
        from autograph_cli.record.recorder import Recorder  # with the engine, which --help needs not

        recorder = Recorder(steps=steps, script=target.label, record=record, watch=watch, engine=connection, each=each)
    traces: list[Trace] = []
    finish = recorder.finish

    def after(result: Result) -> None:
        told = {name: getattr(result, name) for name in ("failure", "failed_at", "details")}
        traces.append(replace(finish(result.scope), digest=digest, **told))

    if target.kind == "file" and target.source is None:
        target = replace(target, source=read(target))
    digest = store.digest_of(target.source) if target.kind == "file" and target.source is not None else ""
    served = engines.chosen(engine) == "builtin"
    with contextlib.nullcontext() if until_exit else connection.kept():
        result = yield from running(target, before=recorder.start, after=after, until_exit=until_exit, served=served)
    return result, traces[0]


record = _whole(recording)
"""Run the target under a recorder; the trace holds what was recorded, up to the failure if there was one."""


def read(target: Target) -> bytes:
    """The source of a file or of standard input; nothing for a module, which the import system finds.

    Raises `TargetError` for a file that is not there.
    """
    if target.kind == "code" and target.source is not None:
        _show_lines(CODE, target.source)
    if target.source is not None:
        return target.source
    if target.kind == "module":
        return b""
    if target.kind == "stdin":
        source = sys.stdin.buffer.read()
        _show_lines(STDIN, source)
        return source
    linecache.checkcache()  # files may have changed since an earlier run of this process
    try:
        return Path(target.name).read_bytes()
    except OSError as error:
        raise TargetError(f"Cannot read {target.name}: {error.strerror or error}.") from None


def _show_lines(name: str, source: bytes) -> None:
    """Let tracebacks, and the trace, show the lines of what is in no file."""
    text = io.TextIOWrapper(io.BytesIO(source), encoding="utf-8", errors="replace").read()
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


@contextlib.contextmanager
def _as_main(target: Target) -> Iterator[tuple[ModuleType, OwnImports]]:
    """A fresh `__main__`, with `sys.argv` and `sys.path[0]` as the interpreter sets them, and what this package imports
    kept apart from what is found there."""
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    if "__annotations__" in vars(sys.modules["__main__"]):  # some versions of Python begin with them
        main.__annotations__ = {}
    first = {"file": os.path.dirname(os.path.realpath(target.name)), "module": os.getcwd()}.get(target.kind, "")
    main.__loader__ = BuiltinImporter
    if target.kind == "file":
        main.__file__ = os.path.abspath(target.name)
        main.__loader__ = SourceFileLoader("__main__", main.__file__)
    elif target.kind == "stdin":
        main.__file__ = STDIN
    if target.kind in ("file", "stdin"):
        main.__dict__["__cached__"] = None
    previous = sys.modules["__main__"], sys.argv, sys.path[:]
    sys.modules["__main__"] = main
    sys.argv = ["-m" if target.kind == "module" else target.name, *target.args]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[:1] = [first]
    try:
        with OwnImports(first or os.getcwd()) as imports:
            yield main, imports
    finally:
        sys.modules["__main__"], sys.argv, sys.path[:] = previous


def _execute(target: Target, source: bytes, main: ModuleType) -> Session[Result]:
    """Yield how the script ended; Python's own way to end, threads included."""
    known, process = threading.enumerate(), os.getpid()
    try:
        code = _compile(target, source, main)
    except TargetError:
        raise
    except BaseException as failed:
        error: BaseException | None = failed
    else:
        error = yield code, main.__dict__
    if isinstance(error, _Left):  # which waits for no thread
        return replace(_ending(error), failure=f"os._exit({error.code})" if error.code else "")
    code_of_failure = FAILED if os.getpid() == process else 1  # of a process that the script forked, as Python has it
    ended = _ending(error, code_of_failure)
    try:
        _join(known)
        stopped = Result(0)
    except BaseException as other:
        stopped = _ending(other, code_of_failure)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    told = ended if ended.failure else stopped
    return replace(told, exit_code=ended.exit_code or stopped.exit_code)


def _ending(error: BaseException | None, failed: int = FAILED) -> Result:
    """Return how a script ended that raised this, which is printed; `failed` is the exit code after an exception."""
    if error is None:
        return Result(0)
    if isinstance(error, SystemExit):
        code = _exit_code(error.code)
        return Result(code, "" if code == 0 else summary(error))
    if isinstance(error, ModuleNotFoundError) and error.name == "safetensors":
        error.add_note("It runs on the engine, and is not a part of autograph: pip install safetensors")
    print_exception(error)
    code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else failed
    return Result(code, summary(error), line_that_raised(error), details(error))


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    print(code, file=sys.stderr)
    return 1


def _join(known: list[threading.Thread]) -> None:
    """Wait for the script's threads, as the interpreter would at its end."""
    while True:
        # Workers of an executor that was left open are told to stop only when the interpreter ends.
        workers = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", ())
        running = [t for t in threading.enumerate() if not (t.daemon or t in known or t in workers)]
        if not running:
            return
        running[0].join()


def _compile(target: Target, source: bytes, main: ModuleType) -> CodeType:
    if target.kind == "module":
        return _module_code(target.name, main)
    name = {"stdin": STDIN, "code": CODE}.get(target.kind) or str(main.__file__)
    return compile(source, name, "exec", dont_inherit=True)


def _module_code(name: str, main: ModuleType) -> CodeType:
    """The code of a module, of a package's `__main__`; marks `main` as `python -m` does."""
    spec = _find(name)
    if spec.submodule_search_locations is not None:
        if name == "__main__" or name.endswith(".__main__"):
            raise TargetError(f"Cannot run {name}: a package cannot be its own __main__.")
        return _module_code(f"{name}.__main__", main)
    code: CodeType | None = getattr(spec.loader, "get_code", lambda name: None)(spec.name)
    if code is None:
        raise TargetError(f"Cannot run {name}: it has no Python code.")
    main.__spec__, main.__loader__, main.__package__ = spec, spec.loader, spec.parent
    main.__dict__.update(__file__=spec.origin, __cached__=spec.cached)
    sys.argv[0] = spec.origin or name
    return code


def _find(name: str) -> ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise TargetError(f"There is no module named {name}.") from None
        raise
    except ValueError as error:
        raise TargetError(f"Cannot run {name}: {error}.") from None
    if spec is None:
        raise TargetError(f"There is no module named {name}.")
    return spec
