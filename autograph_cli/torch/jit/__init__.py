"""`torch.jit`: nothing is compiled here; functions and modules are handed back as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from .._core.base.user_warnings import warn
from ..nn.modules.module import Module

__all__ = [
    "Attribute", "Final", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "annotate", "export", "ignore",
    "is_scripting", "is_tracing", "load", "optimized_execution", "save", "script", "script_if_tracing", "trace",
    "unused",
]  # fmt: skip
_said: set[str] = set()


def as_it_is(what: str, obj: Any) -> Any:
    """`obj` itself, with a warning once for each `what`."""
    if what not in _said:
        _said.add(what)
        warn(f"{what} does not compile in autograph's engine: the code runs as it is")
    return obj


def script(obj: Any, *args: Any, **options: Any) -> Any:
    """`obj` itself; a warning once says so."""
    return as_it_is("torch.jit.script", obj)


def trace(func: Any, *args: Any, **options: Any) -> Any:
    """`func` itself; a warning once says so."""
    return as_it_is("torch.jit.trace", func)


def script_if_tracing(fn: Any) -> Any:
    """`fn` itself: nothing is ever traced."""
    return fn


def export(fn: Any) -> Any:
    """`fn` itself."""
    return fn


_overload = _overload_method = export


def unused(fn: Any) -> Any:
    """`fn` itself."""
    return fn


def ignore(drop: Any = False, **options: Any) -> Any:
    """The decorated function itself: `@ignore` or `@ignore(drop=True)`."""
    return drop if callable(drop) else lambda fn: fn


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value` itself."""
    return the_value


def Attribute(value: Any, type: Any) -> Any:
    """`value` itself."""
    return value


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block that runs as it is."""
    yield


def _needs_torchscript(*args: Any, **options: Any) -> NoReturn:
    """RuntimeError: there is no TorchScript here."""
    raise RuntimeError("TorchScript files are not available in autograph's engine; use torch.save with a state_dict")


save = load = _needs_torchscript


class ScriptModule(Module):
    """No module is one: RuntimeError when it is made."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _needs_torchscript()


class ScriptFunction:
    """No function is one: RuntimeError when it is made."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _needs_torchscript()


class RecursiveScriptModule(ScriptModule):
    """No module is one: RuntimeError when it is made."""
