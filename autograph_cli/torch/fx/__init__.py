"""`torch.fx`: the names that libraries import and annotate with; whatever would trace is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .. import _missing

__all__ = [
    "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "map_arg",
    "replace_pattern", "symbolic_trace", "wrap",
]  # fmt: skip


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(_missing.refusal(f"torch.fx.{name}", ()))


class _Refused:
    """A class that may be named and derived from; NotImplementedError where one is made."""

    not_rebuilt = True

    def __init__(self, *args: Any, **options: Any) -> None:
        _refuse(next(kind.__name__ for kind in type(self).__mro__ if kind.__module__ in (__name__, "torch.fx")))


def _refused(name: str) -> Callable[..., NoReturn]:
    def run(*args: Any, **options: Any) -> NoReturn:
        _refuse(name)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = "NotImplementedError: nothing is traced."
    run.not_rebuilt = True  # type: ignore[attr-defined]
    return run


class CodeGen(_Refused):
    """The writer of a traced module's code."""


class Graph(_Refused):
    """A traced function."""


class GraphModule(_Refused):
    """A traced module."""


class Interpreter(_Refused):
    """The class that runs a traced module node by node."""


class Transformer(Interpreter):
    """The class that turns a traced module into another."""


class Node(_Refused):
    """A call in a traced function."""


class Proxy(_Refused):
    """A value that is not known while a function is traced."""


class Tracer(_Refused):
    """The class that traces."""


map_arg, replace_pattern, symbolic_trace = map(_refused, ("map_arg", "replace_pattern", "symbolic_trace"))


def wrap(fn_or_name: Any) -> Any:
    """A mark for functions that tracing would leave alone; what it is given, as nothing is traced."""
    return fn_or_name
