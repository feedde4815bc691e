"""The names of PyTorch that are not public and that have to do with `torch.compile`: the frames that it looks at, the
passes that it compiles, and the graphs that it makes."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.fx import graph as fx_graph

from autograph_cli.engines import protocol


def uncounted(function: Any) -> Any:
    """Let warnings, logging and a compiler of frames pass over a function that stands between those of the script and
    of PyTorch."""
    protocol.uncounted(function)
    _pass_over(function.__code__)
    return function


_frames: Any = torch._C._dynamo.eval_frame
compiling_frames: Callable[[Any], Any] = _frames.set_eval_frame
"""Takes what compiles the frames of this thread from now on, None for nothing, and returns what did."""


def _pass_over(code: Any) -> None:
    """Let `torch.compile` leave this code as it is, and look at what it calls."""
    if hasattr(_frames, "skip_code"):  # before 2.7
        _frames.skip_code(code)
    else:
        action = _frames._FrameAction
        _frames.set_code_exec_strategy(code, _frames._FrameExecStrategy(action.SKIP, action.DEFAULT))


def pass_over_ours() -> None:
    """Let `torch.compile` leave the functions of this package as they are, where it looks at each frame that runs."""
    package = __name__.partition(".")[0]
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}.") and not name.startswith(f"{package}.torch") and name not in _passed_over:
            _passed_over.add(name)
            defined = [value for value in vars(module).values() if getattr(value, "__module__", None) == name]
            for code in set(_codes(defined)):
                _pass_over(code)


_passed_over: set[str] = set()


def _codes(values: Iterable[Any]) -> Iterator[types.CodeType]:
    """The code of functions, of those that stand in them, and of the methods of classes."""
    for value in values:
        if isinstance(value, types.CodeType):
            yield value
            yield from _codes(value.co_consts)
        elif isinstance(value, types.FunctionType):
            yield from _codes((value.__code__,))
        elif isinstance(value, property):
            yield from _codes((value.fget, value.fset))
        elif isinstance(value, (staticmethod, classmethod)):
            yield from _codes((value.__func__,))
        elif isinstance(value, type):
            yield from _codes(vars(value).values())
        if (wrapped := getattr(value, "__wrapped__", None)) is not None:
            yield from _codes((wrapped,))


def compiles_passes() -> bool:
    """Return whether a compiler takes the place of a backward pass, so that a hook of a node would be compiled with
    it."""
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")  # which another thread may be importing
    return bool(getattr(compiled, "compiled_autograd_enabled", False))


def passes_uncompiled() -> contextlib.AbstractContextManager[None]:
    """Within the block, backward passes run as they are."""
    return sys.modules["torch._dynamo.compiled_autograd"]._disable() if compiles_passes() else contextlib.nullcontext()


_CAUSES = {"generic_jump": "a branch that depends on the numbers of a tensor"}
"""The words for reasons that PyTorch gives by a name of its own."""


def graph_breaks() -> list[tuple[str, str, int, str]]:
    """The places where `torch.compile` has ended a graph so far: the reason, the file, the line and the function."""
    reasons = getattr(sys.modules.get("torch._dynamo.utils"), "graph_break_reasons", ())
    placed = [(str(each.reason).strip().partition("\n")[0], each.user_stack[-1]) for each in reasons if each.user_stack]
    return [(_CAUSES.get(why.partition(" ")[0], why), at.filename, at.lineno, at.name) for why, at in placed]


_COMPILERS = (
    "torch._functorch._aot_autograd.graph_compile",
    "torch._functorch._aot_autograd.jit_compile_runtime_wrappers",
)
"""The modules in which AOTAutograd logs the graphs that it made, of this PyTorch and of older ones."""
_CACHES = (
    ("torch._functorch._aot_autograd.aot_autograd_result", "GenericAOTAutogradResult"),
    ("torch._functorch._aot_autograd.autograd_cache", "GenericAOTAutogradCacheEntry"),
    ("torch._functorch._aot_autograd.autograd_cache", "AOTAutogradCacheEntry"),
)
"""The classes of the entries of its caches."""
_NUMBER = "_aot_id"
_KINDS = {"Forward graph": "forward", "Backward graph": "backward"}
_MARK = "autograph"
_OURS = os.sep + __name__.partition(".")[0] + os.sep
_FRAME = re.compile(rf'^ *File "[^"]*{re.escape(_OURS)}.*\n(?:(?! *File ").*\n?)*', re.M)
"""A frame of this package, with its lines."""


def watch_compiler(told: Callable[[int, str, str], None]) -> None:
    """Call this with the number of a compiled function, `forward` or `backward`, and that graph as Python, from now on;
    never where this PyTorch has no such names."""
    logs = next((found for name in _COMPILERS if (found := _module(name, "lazy_format_graph_code"))), None)
    if logs is None or hasattr(logs.lazy_format_graph_code, "tells"):
        return
    format_graph = logs.lazy_format_graph_code

    def formatted(kind: str, graph: Any, number: Any = None, *args: Any, **kwargs: Any) -> Any:
        if kind in _KINDS:
            graph.meta[_MARK] = number, _KINDS[kind]
            for node in graph.graph.nodes:
                if _OURS in (node.meta.get("stack_trace") or ""):  # a call of a module that is followed
                    node.meta["stack_trace"] = _FRAME.sub("", node.meta["stack_trace"])
            told(number, _KINDS[kind], graph.print_readable(print_output=False, include_device=True))
        return format_graph(kind, graph, number, *args, **kwargs)

    formatted.tells = told  # type: ignore[attr-defined]
    logs.lazy_format_graph_code = formatted
    entry = next((getattr(found, cls) for name, cls in _CACHES if (found := _module(name, cls))), None)
    if entry is not None and hasattr(entry, "wrap_post_compile"):
        entry.wrap_post_compile = _reading_cache(entry.wrap_post_compile, told)


_USERS = ("torch._functorch.aot_autograd", "torch._dynamo.backends.common", "functorch.compile")
"""The modules that have the function through which backends come to AOTAutograd."""


Observed = Callable[[Any, Any, Any, int, str], Any]
_observed: list[Observed] = []
"""The function that is called with each compiler, if there is one."""


def observe_compilers(observed: Observed | None) -> None:
    """Call this with each compiler of a backend, the graph, its inputs, and of the graph its number and `forward` or
    `backward`, in place of the compiler, from now on: it returns what the compiler makes of the graph. None ends it."""
    _observed[:] = [] if observed is None else [observed]
    for name in _USERS if _observed else ():
        user = _module(name, "aot_module_simplified")
        if user is not None and not hasattr(user.aot_module_simplified, "observes"):
            user.aot_module_simplified = _with_compilers(user.aot_module_simplified)


def _with_compilers(simplified: Any) -> Any:
    signature = inspect.signature(simplified)

    @functools.wraps(simplified)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name in ("fw_compiler", "bw_compiler") if _observed else ():
            if bound.arguments.get(name) is not None:
                bound.arguments[name] = functools.partial(_compiled, bound.arguments[name])
        return simplified(*bound.args, **bound.kwargs)

    wrapped.observes = True  # type: ignore[attr-defined]
    return wrapped


def _compiled(compiler: Any, graph: Any, inputs: Any) -> Any:
    """The result of a compiler."""
    number, kind = graph.meta.get(_MARK, (-1, ""))
    return _observed[0](compiler, graph, inputs, number, kind) if kind and _observed else compiler(graph, inputs)


def unreported() -> contextlib.AbstractContextManager[Any]:
    """Within the block, what compilers tell AOTAutograd of the graph that they compile is dropped."""
    context = _module("torch._guards", "TracingContext")
    return contextlib.nullcontext() if context is None else context.TracingContext.report_output_strides()


def _reading_cache(wrap: Any, told: Callable[[int, str, str], None]) -> Any:
    """Return what is called where a function comes from the cache, and tells of it."""

    @functools.wraps(wrap)
    def wrapped(entry: Any, args: Any, config: Any, *more: Any, **kwargs: Any) -> Any:
        for kind in _KINDS.values():
            text = getattr(entry, f"aot_{kind}_graph_str", None)
            if text:
                told(config.aot_id, kind, text)
        return wrap(entry, args, config, *more, **kwargs)

    return wrapped


def _module(name: str, attribute: str) -> Any:
    """A module of PyTorch's, if it is there and has this."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        return None
    return found if hasattr(found, attribute) else None


def compiled_number(node: Any) -> int:
    """The number by which AOTAutograd knows the function that a node is of; -1 for any other node."""
    return int(getattr(getattr(node, "_forward_cls", None), _NUMBER, -1))


def is_compiled(function: Any) -> bool:
    """Return whether a Function was made by AOTAutograd."""
    return hasattr(function, _NUMBER)


@functools.cache
def dtype_names() -> dict[str, str]:
    """Return what the short names of dtypes stand for, which graphs are written with."""
    return {short: str(dtype).removeprefix("torch.") for dtype, short in fx_graph.dtype_abbrs.items()}
