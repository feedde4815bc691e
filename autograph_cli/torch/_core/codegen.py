"""Writes, for one operation, the Python code that runs it without loops: a forward function and the node's
backwards.

`dispatch.run` does the same for any operation. The generated code is there for its speed: mul, add, sin and exp with
their nodes take 1.4 to 1.8 us on 0-d tensors, and 6.5 to 6.9 us by `dispatch.run` (on (16,): 1.7 to 2.4 and 6.6 to
7.4); `benchmarks/generated_code.py` measures it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays.backends import device_of
from .._arrays.lazy import Lazy
from .._arrays.unusual import UNUSUAL
from .._compiled import compiled as compiled_module
from . import dispatch
from .backward_source import backward_source
from .code_cache import COPIES, compiled
from .dtypes import CATEGORY, FLOATING
from .forward_source import bound_source, dispatched_source, forward_source
from .memory_format import settled, strides_of
from .node import edge_of, output_meta
from .overrides import unasked, unknown_operand
from .saved_tensors import SavedList, SavedResult, expect, freed, opened_raw, unpack
from .schema import REQUIRED, Parameter
from .state import next_sequence_nr, process_state, thread_state
from .tensor import Tensor, materialize, new
from .views import make_view
from .wrapped_numbers import wrap_number

if TYPE_CHECKING:
    from .operation import Operation

    first: Callable[[], Callable[..., Any]]
    """What gives a function its code, in its own globals."""


def install(op: Operation) -> None:
    """Give `op` its function."""
    written = not op.list_result and op.has_derivative
    simple = written and not op.multiple and not op.takes_lists and not op.moves
    casts = op.promotes or op.floating or op.view or op.moves
    source = forward_source if written and (simple or not casts) else dispatched_source
    late = _Signature(op).late
    op.function = late(partial(source, op), quick=True)
    op.function.op = op
    if op.promotes and simple:
        op.operator = late(partial(forward_source, op, operator=True), "operator", quick=True)


def binder(op: Operation) -> Callable[..., tuple[Any, ...]]:
    """What gives all arguments of `op` in order, of a call with some of them left out or given by name."""
    bind: Callable[..., tuple[Any, ...]] = _Signature(op).late(partial(bound_source, op), "bind")
    return bind


def backwards(op: Operation) -> dict[str, Any]:
    """`_ag_run_raw` and `_ag_run_recorded` of the node of `op`."""
    return {f"_ag_run_{mode}": _Late(op, mode) for mode in ("raw", "recorded")} if op.derivatives else {}


_FLOATS = frozenset(t.type for t, kind in CATEGORY.items() if kind >= FLOATING)
"""The classes of NumPy's scalars that `floating` operations take as they are."""


_MODULE = "autograph_cli.torch._core.compiled"


def _scope(op: Operation) -> dict[str, Any]:
    scope: dict[str, Any] = {
        "__name__": _MODULE,
        "process_state": process_state,
        "thread_state": thread_state,
        "OP": op,
        "NODE": op.node,
        "Tensor": Tensor,
        "new": new,
        "ndarray": np.ndarray,
        "UNUSUAL": UNUSUAL,
        "Lazy": Lazy,
        "FLOATS": _FLOATS,
        "kernel": op.kernel_function,
        "dispatch": dispatch.run,
        "operands": dispatch.operands,
        "promote_pair": dispatch.promote_pair,
        "settled": settled,
        "check": op.check,
        "promoted": dispatch.promoted,
        "as_floating": dispatch.as_floating,
        "edge_of": edge_of,
        "next_sequence_nr": next_sequence_nr,
        "SavedResult": SavedResult,
        "SavedList": SavedList,
        "expect": expect,
        "make_view": make_view,
        "strides_of": strides_of,
        "device_of": device_of,
        "materialize": materialize,
        "unpack": unpack,
        "opened_raw": opened_raw,
        "freed": freed,
        "write_out": dispatch.write_out,
        "is_operand": dispatch.is_operand,
        "output_meta": output_meta,
        "CATEGORY": CATEGORY,
        "FLOATING": FLOATING,
        "NUMBERS": dispatch.NUMBERS,
        "wrap_number": wrap_number,
        "unasked": unasked,
        "unknown_operand": unknown_operand,
        "explain": dispatch.explain,
    }
    scope |= {f"default_{p.name}": p.default for p in op.schema.parameters if p.default is not REQUIRED}
    scope |= {f"formula{i}": d.formula for i, d in enumerate(op.derivatives)}
    return scope


def _evaluate(source: str, scope: dict[str, Any], name: str, use: str = "") -> Any:
    exec(compiled(source, f"{name} {use}".strip()), scope)
    made = scope["run"]
    made.__name__ = made.__qualname__ = name
    return made


@functools.cache
def fast_tape() -> Any:
    """The compiled tape (fast_tape.pyx), or None."""
    return compiled_module("_core.fast_tape")


class _Signature:
    """The parameters that all functions of an operation have."""

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.code, self.defaults, self.by_keyword = _taking(op.schema.parameters, not op.view)

    def late(self, source: Callable[..., str], use: str = "", quick: bool = False) -> Any:
        """A function that gets its code, and what that names, when it is first called: to write and to read that of
        all operations would take a third of an import. `quick`: plain tensors are for the compiled tape, if it is
        there."""
        op, before = self.op, self.code

        def first() -> Any:
            scope.update(_scope(op))
            plain = fast_tape().forward_of(op, op.kernel_function) if quick and fast_tape() else None
            if plain is None:
                made = _evaluate(source(), scope, op.identifier, use)
            else:
                scope["plain"] = plain
                made = _evaluate(source(plain=True), scope, op.identifier, use)
            for function in scope[COPIES]:
                if function.__code__ is before:
                    function.__code__ = made.__code__
            return made

        scope: dict[str, Any] = {"__name__": _MODULE, "first": first}
        late = FunctionType(before, scope, op.identifier, self.defaults)
        late.__qualname__ = op.identifier
        late.__kwdefaults__ = {**self.by_keyword}
        scope[COPIES] = [late]
        return late


# The code that a function has until it is called, but for its parameters. (What stood here as text, it would say.)
def _until_called() -> Any:
    return first()(**locals())  # noqa: F821  (each function has its own)


@functools.cache
def _taking(parameters: tuple[Parameter, ...], out: bool) -> tuple[CodeType, tuple[Any, ...] | None, dict[str, Any]]:
    """That code with its parameters, and their defaults: those by position, those by keyword."""
    positional = [p for p in parameters if not p.keyword_only]
    names = *("input" if p.name == "self" else p.name for p in parameters), *(("out",) if out else ())
    code = _until_called.__code__.replace(
        co_varnames=names,
        co_nlocals=len(names),
        co_argcount=len(positional),
        co_kwonlyargcount=len(names) - len(positional),
    )
    given = [p for p in parameters if p.default is not REQUIRED]
    by_keyword = {p.name: p.default for p in given if p.keyword_only} | ({"out": None} if out else {})
    return code, tuple([p.default for p in given if not p.keyword_only]) or None, by_keyword


class _Late:
    """A node method that is compiled when it is first wanted."""

    def __init__(self, op: Operation, mode: str) -> None:
        self.op = op
        self.mode = mode

    def __get__(self, node: Any, owner: Any = None) -> Any:
        source = backward_source(self.op, self.mode)
        method = _evaluate(source, _scope(self.op), f"{self.op.identifier} {self.mode}")
        setattr(self.op.node, f"_ag_run_{self.mode}", method)
        return getattr(node if node is not None else owner, f"_ag_run_{self.mode}")
