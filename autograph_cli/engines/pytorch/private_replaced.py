"""The functions of PyTorch that others stand in the place of while an engine listens.

What they were is noted when this is imported, and put back in the end.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.autograd import Variable, function as functions, graph as graphs
from torch.nn.modules import module as modules

from autograph_cli.engines.pytorch.private_compiler import uncounted


def replace_run_backward(function: Callable[..., Any]) -> None:
    """Let them go through this."""
    graphs._engine_run_backward = torch.autograd._engine_run_backward = function


_own_apply = vars(functions.Function)["apply"]
_applies_in_c = not isinstance(_own_apply, classmethod)
"""From 2.15 on, `Function.apply` is not written in Python."""


@uncounted
def apply_function(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what `Function.apply` comes down to: makes the node, and runs `forward`."""
    if _applies_in_c:
        return _own_apply.__get__(None, cls)(*args, **kwargs)
    return super(functions._SingleLevelFunction, cls).apply(*args, **kwargs)


def replace_apply(function: Any) -> None:
    """Let `Function.apply` come down to this class method; None: to its own."""
    if _applies_in_c:
        functions.Function.apply = _own_apply if function is None else classmethod(function)
    elif function is not None:
        functions._SingleLevelFunction.apply = classmethod(function)
    elif "apply" in vars(functions._SingleLevelFunction):
        del functions._SingleLevelFunction.apply


Aliased = Callable[[str, Any, Any], None]
"""Told the operation, the tensor, and the alias of it that was made."""
_HOOKS, _ALIASES = ("register_hook", "retain_grad"), {"detach": "detach", "as_subclass": "alias"}
PARAMETER = "parameter"
"""The alias that is no operation: a parameter of a tensor."""
_own_parameter = vars(torch.nn.Parameter)["__new__"]
own_methods = {name: vars(torch.Tensor).get(name) for name in (*_HOOKS, *_ALIASES)}


def watch_methods(hooked: Callable[[], None] | None, aliased: Aliased | None) -> None:
    """Call these whenever a tensor is given a hook, and whenever one of `private._FRESH` was called as a method or by
    `Variable`, or a parameter was made; None ends it."""
    for name, own in own_methods.items():
        if hooked is not None and aliased is not None:
            method = own or getattr(torch._C.TensorBase, name)
            notices = name in _HOOKS
            setattr(
                torch.Tensor, name, _noticing(method, hooked) if notices else _telling(method, _ALIASES[name], aliased)
            )
        elif own is not None:
            setattr(torch.Tensor, name, own)
        elif name in vars(torch.Tensor):
            delattr(torch.Tensor, name)
    if aliased is not None:
        own_variable = torch._C._LegacyVariableBase.__new__
        Variable.__new__ = staticmethod(functools.partial(_make, own_variable, "detach", aliased))
        torch.nn.Parameter.__new__ = staticmethod(functools.partial(_make, _own_parameter.__func__, PARAMETER, aliased))
        return
    if "__new__" in vars(Variable):
        del Variable.__new__
    torch.nn.Parameter.__new__ = _own_parameter


@uncounted
def _make(create: Any, alias: str, aliased: Aliased, cls: type, *args: Any, **kwargs: Any) -> Any:
    """Return what `Variable(x)` or `Parameter(x)` comes down to, and tell of it as an alias of the tensor given."""
    result = create(cls, *args, **kwargs)
    given = next((x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)), None)
    if given is not None:
        aliased(alias, given, result)
    return result


def _noticing(method: Any, noticed: Callable[[], None]) -> Any:
    @functools.wraps(method)
    @uncounted
    def hooked(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        noticed()
        return method(tensor, *args, **kwargs)

    return hooked


def _telling(method: Any, operation: str, told: Aliased) -> Any:
    @functools.wraps(method)
    @uncounted
    def alias(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        result = method(tensor, *args, **kwargs)
        told(operation, tensor, result)
        return result

    return alias


_delayed_error = torch._C._functions.DelayedError


def replace_delayed_error(made: Callable[[Any, Any], None] | None) -> None:
    """Call this with the arguments and results of nodes that refuse to be differentiated; None ends it."""

    def delayed_error(*about: Any) -> Any:
        error = _delayed_error(*about)

        @uncounted
        def apply(*args: Any) -> Any:
            results = error(*args)
            made(args, results)  # type: ignore[misc]
            return results

        return apply

    torch._C._functions.DelayedError = _delayed_error if made is None else delayed_error


_APART = {
    "torch.autograd.gradcheck": ("gradcheck", "gradgradcheck"),
    "torch.jit._trace": ("trace", "trace_module", "_get_trace_graph"),
}
"""The functions that run the script's own as something else: to check it, or to write it down."""
_CARRYING = {"torch.distributed": ("_broadcast_coalesced",)}
"""The functions that bring tensors to all ranks unchanged, by memory of their own; a PyTorch without ranks has none."""


def _functions(table: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str, Any]]:
    found = [(module, name, vars(sys.modules[module]).get(name)) for module in table for name in table[module]]
    return [each for each in found if each[2] is not None]


_apart, _carrying = _functions(_APART), _functions(_CARRYING)
Around = Callable[[], contextlib.AbstractContextManager[None]]


def replace_apart(apart: Around | None, carrying: Around | None) -> None:
    """Let what runs apart from the script, and what carries tensors to ranks, run within such blocks; None: as it
    is."""
    for those, around in ((_apart, apart), (_carrying, carrying)):
        for module, name, function in those:
            made = (
                function if around is None else functools.wraps(function)(functools.partial(_within, around, function))
            )
            for owner in (module, module.rpartition(".")[0]):
                if getattr(sys.modules[owner], name, None) is not None:
                    setattr(sys.modules[owner], name, made)


@uncounted
def _within(around: Around, function: Any, *args: Any, **kw: Any) -> Any:
    with around():
        return function(*args, **kw)


call_module = modules.Module._call_impl
"""The function that every call of a module comes down to."""


def replace_call(function: Any) -> None:
    """Let calls of modules come down to this."""
    modules.Module._call_impl = function
