"""Writes, for one operation, the Python code that runs it without loops: a forward function and the node's
backwards.

`dispatch.run` does the same for any operation. The generated code is there for its speed: mul, add, sin and exp with
their nodes take 1.4 to 1.8 us on 0-d tensors, and 6.5 to 6.9 us by `dispatch.run` (on (16,): 1.7 to 2.4 and 6.6 to
7.4); `benchmarks/generated_code.py` measures it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays.unusual import UNUSUAL
from . import device_dispatch, dispatch
from .backward_source import backward_source
from .code_cache import compiled
from .dtype_checks import refusing
from .dtypes import CATEGORY, FLOATING
from .memory_format import arranged, in_float32, settled, strides_of
from .node import INFERENCE, edge_of, extra_of, output_meta
from .overrides import unasked, unknown_operand
from .saved_tensors import SavedList, SavedResult, freed, inference_saved, opened_raw, unpack
from .schema import REQUIRED, Parameter
from .state import next_sequence_nr, process_state, thread_state
from .tensor import Tensor, materialize, new
from .views import make_view
from .wrapped_numbers import wrap_number

if TYPE_CHECKING:
    from .operation import Operation


def install(op: Operation) -> None:
    """Give `op` its kernel, its function and its node's `_run_raw` and `_run_recorded`."""
    op.kernel_function = _bind(op)
    scope = _scope(op)
    written = not op.list_result and op.has_derivative
    simple = written and not op.multiple and not op.takes_lists
    if simple:
        op.function = _evaluate(_forward(op), {**scope}, op.identifier)
    else:
        casts = op.promotes or op.floating or op.view
        source = _forward if written and not casts else _dispatched_forward
        op.function = _late(lambda: source(op), scope, op.identifier)
    op.function.op = op
    op.function.__signature__ = _shown_signature(op)
    if op.promotes and simple:
        op.operator = _evaluate(_forward(op, operator=True), {**scope}, op.identifier, "operator")
    op.bind = _late(
        lambda: f"def run({_signature(op)}):\n    return ({_arguments(op)},)\n", scope, op.identifier, "bind"
    )
    if op.derivatives:
        for mode in ("raw", "recorded"):
            setattr(op.node, f"_run_{mode}", _Late(op, mode))


_FLOATS = frozenset(t.type for t, kind in CATEGORY.items() if kind >= FLOATING)
"""The classes of NumPy's scalars that `floating` operations take as they are."""


def _bind(op: Operation) -> Callable[..., Any]:
    kernel = device_dispatch.kernel_of(op, device_dispatch.kernels())
    if op.refuses:
        kernel = refusing(op.refuses, kernel)
    if op.opmath:
        kernel = in_float32(kernel)
    return arranged(op.memory_format, kernel)


def _scope(op: Operation) -> dict[str, Any]:
    scope: dict[str, Any] = {
        "__name__": "autograph_cli.torch._core.compiled",
        "process_state": process_state,
        "thread_state": thread_state,
        "OP": op,
        "NODE": op.node,
        "Tensor": Tensor,
        "new": new,
        "ndarray": np.ndarray,
        "UNUSUAL": UNUSUAL,
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
        "expect": _expect,
        "make_view": make_view,
        "strides_of": strides_of,
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


def _expect(node: Any, index: int, tensor: Tensor) -> None:
    """Remember that a tensor was saved at a version other than 0."""
    if tensor._counter is INFERENCE:
        raise inference_saved()
    if tensor._counter and tensor._counter[0]:
        extra = extra_of(node)
        extra.versions = {} if extra.versions is None else extra.versions
        extra.versions[index] = tensor._counter[0]


def _evaluate(source: str, scope: dict[str, Any], name: str, use: str = "") -> Any:
    exec(compiled(source, f"{name} {use}".strip()), scope)
    made = scope["run"]
    made.__name__ = made.__qualname__ = name
    return made


def _late(source: Callable[[], str], scope: dict[str, Any], name: str, use: str = "") -> Any:
    """A function that is compiled when it is first called; for what is not hot, for it costs one call more."""
    made: Callable[..., Any] | None = None

    def late(*args: Any, **kwargs: Any) -> Any:
        nonlocal made
        if made is None:
            made = _evaluate(source(), {**scope}, name, use)
        return made(*args, **kwargs)

    late.__name__ = late.__qualname__ = name
    return late


# ---------------------------------------------------------------- forward


def _argument(parameter: Parameter) -> str:
    return "input" if parameter.name == "self" else parameter.name


def _signature(op: Operation) -> str:
    parts, starred = [], False
    for parameter in op.schema.parameters:
        if parameter.keyword_only and not starred:
            parts.append("*")
            starred = True
        default = "" if parameter.default is REQUIRED else f"=default_{parameter.name}"
        parts.append(_argument(parameter) + default)
    if not op.view:
        parts += ["out=None"] if starred else ["*", "out=None"]
    return ", ".join(parts)


def _shown_signature(op: Operation) -> inspect.Signature:
    """What `help` shows, before the function is compiled too."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    empty = inspect.Parameter.empty
    parameters = [
        inspect.Parameter(_argument(p), kinds[p.keyword_only], default=empty if p.default is REQUIRED else p.default)
        for p in op.schema.parameters
    ]
    return inspect.Signature(parameters if op.view else [*parameters, inspect.Parameter("out", kinds[1], default=None)])


def _arguments(op: Operation) -> str:
    return ", ".join(_argument(p) for p in op.schema.parameters)


def _dispatched_forward(op: Operation) -> str:
    lines = [f"def run({_signature(op)}):"]
    if not op.view:
        lines += ["    if out is not None:", f"        return write_out(OP, ({_arguments(op)},), out)"]
    return "\n".join([*lines, f"    return dispatch(OP, ({_arguments(op)},))", ""])


def _forward(op: Operation, operator: bool = False) -> str:
    """The compiled forward; as an `operator` it answers NotImplemented to what is no operand."""
    tensors = op.tensors
    every = [_argument(p) for p in op.schema.parameters]
    raws = {p.name: f"raw_{p.name}" for p in tensors}
    call = f"kernel({', '.join(raws.get(p.name, _argument(p)) for p in op.schema.parameters)})"
    lines = [
        f"def run({_signature(op)}):",
        *_dispatch(op, operator),
        "    try:",
        *_number_operand(op),
        *(f"        {raws[p.name]} = {_fetch(p, '_raw')}" for p in tensors),
        "    except AttributeError:",
        *_unknown(op, every, operator),
        f"        {', '.join(every)}, = operands(OP, ({_arguments(op)},))",
        *(f"        {raws[p.name]} = {_fetch(p, '_raw')}" for p in tensors),
        *(f"    edge{i} = {_fetch(p, '_edge')}" for i, p in enumerate(op.inputs)),
        *_casts(op, raws),
        *_kernel_call(op, op.inline.format(**raws, kernel=call) if op.inline else call, list(raws.values())),
        *_laid_out(op, raws),
        *(line for made, raw in _made(op) for line in _new(made, raw)),
    ]
    no_edge = " and ".join(_absent(p, f"edge{i}") for i, p in enumerate(op.inputs)) or "True"
    finish = [_view_made(op, every[0], "None")] if op.view else []
    lines += [
        f"    if {no_edge} or process_state.without_grad and not thread_state.grad:",
        f"        {_without_edge(op)}",
    ]
    lines += [f"        {line}" for line in (*finish, *_untracked(op, every))] + [f"        return {_returned(op)}"]
    if op.inputs:
        lines += _record(op, every)
    return "\n".join(lines) + "\n"


def _made(op: Operation) -> list[tuple[str, str]]:
    """What the compiled forward calls its results, and their raw arrays."""
    return [(f"made{i}", f"raw{i}") for i in range(len(op.schema.outputs))] if op.multiple else [("made", "raw")]


def _new(made: str, raw: str) -> list[str]:
    return [
        f"    {made} = new(Tensor)",
        f"    {made}._raw = {raw}",
        f"    {made}._counter = None",
        f"    {made}._meta = None",
    ]


def _without_edge(op: Operation) -> str:
    return f"{' = '.join(f'{made}._edge' for made, _ in _made(op))} = None"


def _untracked(op: Operation, every: list[str]) -> list[str]:
    """Tells the observer of what left no node."""
    made = "".join(f"{made}, " for made, _ in _made(op))
    told = f"process_state.observer.untracked(OP.name, OP, ({', '.join(every)},), ({made}))"
    return ["if process_state.observer is not None:", f"    {told}"]


def _returned(op: Operation) -> str:
    return f"({''.join(f'{made}, ' for made, _ in _made(op))})" if op.multiple else "made"


def _laid_out(op: Operation, raws: dict[str, str]) -> list[str]:
    """What comes of operands that are not contiguous is laid out as in PyTorch; that NumPy's results do where they are
    is
    known."""
    if not op.elementwise:
        return []
    every = ", ".join(raws.values())
    return [
        f"    if raw.__class__ is ndarray and raw.ndim > 1 and not {next(iter(raws.values()))}.flags.c_contiguous:",
        f"        raw = settled(raw, {every})",
    ]


def _number_operand(op: Operation) -> list[str]:
    """A Python number beside a tensor becomes one at once: `x * 2` is too common for the way over an exception."""
    if not (op.promotes and not op.strict and len(op.tensors) == 2):
        return []
    first, second = (_argument(p) for p in op.tensors)
    check = [f"            if {second}.__class__ is bool:", f"                check({first}._raw, {second})"]
    return [
        f"        if {second}.__class__ is not Tensor and {second}.__class__ in NUMBERS:",
        *(check if op.check else []),
        f"            {second} = wrap_number({second}, {first}{', True' if op.promotes == 'floating' else ''})",
    ]


def _kernel_call(op: Operation, call: str, raws: list[str]) -> list[str]:
    return [
        "    try:",
        f"        {', '.join(raw for _, raw in _made(op))} = {call}",
        "    except Exception:",
        f"        explain(OP, ({_arguments(op)},), ({', '.join(raws)},))",
        "        raise",
    ]


def _dispatch(op: Operation, operator: bool) -> list[str]:
    lines = ["    if process_state.special:"]
    if operator:
        lines += _unknown(op, ["input", "other"], operator)
    lines += [f"        return dispatch(OP, ({_arguments(op)},))"]
    if not op.view:
        lines = ["    if out is not None:", f"        return write_out(OP, ({_arguments(op)},), out)", *lines]
    return lines


def _unknown(op: Operation, every: list[str], operator: bool) -> list[str]:
    """What is done about arguments that are no tensors, where that is unusual."""
    if operator:
        return [
            "        if not is_operand(other) or not isinstance(input, Tensor):",
            "            return unknown_operand(OP, input, other)",
        ]
    asked = f"        asked = unasked('torch.{op.name}', ({', '.join(every)},), {{}})"
    return [asked, "        if asked is not None:", f"            return asked({', '.join(every[: len(op.tensors)])})"]


def _fetch(parameter: Parameter, what: str) -> str:
    name = _argument(parameter)
    if parameter.is_list:
        one = f"None if t is None else t.{what}" if parameter.type.startswith("Tensor?") else f"t.{what}"
        return f"[{one} for t in {name}]"
    return f"None if {name} is None else {name}.{what}" if parameter.type == "Tensor?" else f"{name}.{what}"


def _view_made(op: Operation, source: str, edge: str) -> str:
    return f"make_view(made, {source}, {edge}{', op=OP' if op.rereads else ''})"


def _absent(parameter: Parameter, edge: str) -> str:
    return f"not any({edge})" if parameter.is_list else f"{edge} is None"


def _asks(parameter: Parameter) -> str:
    name = _argument(parameter)
    if parameter.is_list:
        return f"any(t is not None and t.requires_grad for t in {name})"
    return f"{name} is not None and {name}.requires_grad"


def _casts(op: Operation, raws: dict[str, str]) -> list[str]:
    """Arrays of other classes than NumPy's go through full dispatch; the others are cast where the operation asks for
    it."""
    names = [raws[p.name] for p in op.tensors]
    hand_on = f"return dispatch(OP, ({_arguments(op)},))"
    lines = []
    if op.promotes and len(names) == 2:
        a, b = names
        promote = [*([f"check({a}, {b})"] if op.check else []), f"{a}, {b} = promote_pair({a}, {b})"]
        # Two NumPy scalars of one class have one dtype; asking a class is cheaper than asking a dtype.
        lines += [
            f"    if {a}.__class__ is not {b}.__class__:",
            f"        if {a}.__class__ in UNUSUAL or {b}.__class__ in UNUSUAL:",
            f"            {hand_on}",
            *(f"        {line}" for line in promote),
            f"    elif {a}.__class__ is ndarray:",
            f"        if {a}.dtype is not {b}.dtype:",
            *(f"            {line}" for line in promote),
            f"    elif {a}.__class__ in UNUSUAL:",
            f"        {hand_on}",
        ]
    elif op.floating and len(names) == 1:
        # What is inside a graph is floating; a view of integers has an edge, too.
        ask = "edge0.__class__ is not tuple and " if op.inputs else ""
        cast = [f"if {ask}{names[0]}.dtype.kind in 'biu':", f"    {names[0]} = as_floating({names[0]})"]
        lines += [
            f"    if {names[0]}.__class__ is ndarray:",
            *(f"        {line}" for line in cast),
            f"    elif {names[0]}.__class__ not in FLOATS:",
            f"        if {names[0]}.__class__ in UNUSUAL:",
            f"            {hand_on}",
            *(f"        {line}" for line in cast),
        ]
    elif not (op.view and len(names) == 1):
        lines += [f"    if {' or '.join(map(_is_unusual, op.tensors, names))}:", f"        {hand_on}"]
    if op.promotes and len(names) != 2:
        every = ", ".join(raws.get(p.name, _argument(p)) for p in op.schema.parameters)
        lines += [f"    {every} = promoted(OP, None, [{every}])"]
    if op.floating and len(names) > 1:
        test = "edge0.__class__ is not tuple" if op.inputs else "True"
        lines += [f"    if {test} and {names[0]}.dtype.kind in 'biu':", f"        {names[0]} = as_floating({names[0]})"]
    if op.view:
        unusual = [f"        if {names[0]}.__class__ in UNUSUAL:", f"            {hand_on}"]
        lines += [f"    if {names[0]}.__class__ is not ndarray:", *unusual, f"        {names[0]} = materialize(input)"]
    return lines


def _is_unusual(parameter: Parameter, raw: str) -> str:
    if parameter.is_list:
        return f"not UNUSUAL.isdisjoint([r.__class__ for r in {raw}])"
    return f"{raw}.__class__ is not ndarray and {raw}.__class__ in UNUSUAL"


def _record(op: Operation, every: list[str]) -> list[str]:
    edges = [f"edge{i}" for i in range(len(op.inputs))]
    # As in PyTorch before the edges: the history of a view that is worked out anew has a later number.
    lines = ["    number = next_sequence_nr()"]
    for edge, parameter in zip(edges, op.inputs, strict=True):
        name = _argument(parameter)
        lines += (
            [f"    {edge} = [e if e is None or e.__class__ is tuple else edge_of(t) for e, t in zip({edge}, {name})]"]
            if parameter.is_list
            else [
                f"    if {edge}.__class__ is not tuple and {edge} is not None:",
                f"        {edge} = edge_of({name})",
            ]
        )
    none = " and ".join(map(_absent, op.inputs, edges))
    asked = " or ".join(map(_asks, op.inputs))
    hang = _view_made(op, every[0], "None") if op.view else "None"
    lines += [
        f"    if {none} and not ({asked}):",
        f"        {_without_edge(op)}",
        f"        {hang}",
        *(f"        {line}" for line in _untracked(op, every)),
        f"        return {_returned(op)}",
    ]
    for name, (made, raw) in zip(op.schema.outputs, _made(op), strict=True):
        if name in op.saved_names:
            # As `SavedResult(raw, counter)` does, without the call.
            lines += [f"    {made}._counter = [0]", f"    saved_{made} = new(SavedResult)"]
            lines += [f"    saved_{made}._raw = {raw}", f"    saved_{made}._counter = {made}._counter"]
    lines += [
        "    node = NODE()",
        f"    node._edges = {_edges(op, edges)}",
        "    node._extra = None",
        f"    node._output_meta = {_output_meta(op)}",
        "    node._seq = number",
        f"    node._saved = ({''.join(f'{_saved(op, n)}, ' for n in op.saved_names)})",
        *_expectations(op),
        *_edges_of_results(op),
        *([f"    {_view_made(op, every[0], 'made._edge')}"] if op.view else []),
        "    if process_state.observer is not None:",
        f"        process_state.observer.created(node, ({', '.join(every)},), "
        f"({''.join(f'{made}, ' for made, _ in _made(op))}))",
        f"    return {_returned(op)}",
    ]
    return lines


def _edges_of_results(op: Operation) -> list[str]:
    if not op.multiple:
        return ["    made._edge = (node, 0)"]
    return [
        f"    {made}._edge = "
        + ("None" if name in op.nondifferentiable else f"(node, {i}) if CATEGORY[{raw}.dtype] >= FLOATING else None")
        for i, (name, (made, raw)) in enumerate(zip(op.schema.outputs, _made(op), strict=True))
    ]


def _edges(op: Operation, edges: list[str]) -> str:
    every = f"({', '.join(f'*{e}' if p.is_list else e for p, e in zip(op.inputs, edges, strict=True))},)"
    # PyTorch's node for a derivative that does not exist has only the edges that need one.
    return every if op.has_derivative else f"tuple(edge for edge in {every} if edge is not None)"


def _output_meta(op: Operation) -> str:
    if op.multiple:
        return f"[{', '.join(f'output_meta({raw})' for _, raw in _made(op))}]"
    if op.view:
        return "(raw.shape, raw.dtype)"
    made = "(raw.shape, raw.dtype) if raw.__class__ is ndarray else raw.__class__"
    if op.floating and len(op.tensors) == 1 and len(op.schema.parameters) == 1:
        # A function of one tensor, element by element: the result is like its input.
        return f"edge0[0]._output_meta if edge0 is not None and not edge0[0]._multiple else {made}"
    return made


def _saved(op: Operation, name: str) -> str:
    parameter = next((p for p in op.schema.parameters if p.name == name), None)
    if name in op.schema.outputs:
        made, _ = _made(op)[op.schema.outputs.index(name)]
        return f"saved_{made} if {_wanted(op, name)} else None"
    if parameter is not None and parameter.is_list:
        return f"SavedList({_argument(parameter)})"
    if parameter is not None and parameter.is_tensor:
        return f"{_argument(parameter)} if {_wanted(op, name)} else None"
    if parameter is not None:
        return _argument(parameter)
    head, _, tail = name.rpartition("_")
    shown = "input" if head == "self" else head
    if head == "result":
        return {"sizes": "raw.shape", "dtype": "raw.dtype"}[tail]
    each = any(p.name == head and p.is_list for p in op.tensors)
    one = "t" if each else shown
    value = {"sizes": f"{one}._raw.shape", "dtype": f"{one}._raw.dtype", "strides": f"strides_of({one}._raw)"}[tail]
    guard = op.saving[op.saved_names.index(name)][0]
    if guard is not None:
        value = f"{value} if edge{guard} is not None else ()"
    if each:
        return f"tuple([{value} for t in {shown}])"
    return (
        f"None if {shown} is None else {value}"
        if any(p.name == head and p.type == "Tensor?" for p in op.tensors)
        else value
    )


def _wanted(op: Operation, name: str) -> str:
    guard = op.required_edges[name]
    return "True" if guard is None else f"edge{guard} is not None"


def _expectations(op: Operation) -> list[str]:
    lines = []
    for index, name in enumerate(op.saved_names):
        parameter = next((p for p in op.tensors if p.name == name and p.is_tensor), None)
        if parameter is not None:
            shown = _argument(parameter)
            guard = f"{shown} is not None and " if parameter.type == "Tensor?" else ""
            lines += [f"    if {guard}{shown}._counter is not None:", f"        expect(node, {index}, {shown})"]
    return lines


# ---------------------------------------------------------------- backward


class _Late:
    """A node method that is compiled when it is first wanted."""

    def __init__(self, op: Operation, mode: str) -> None:
        self.op = op
        self.mode = mode

    def __get__(self, node: Any, owner: Any = None) -> Any:
        source = backward_source(self.op, self.mode)
        method = _evaluate(source, _scope(self.op), f"{self.op.identifier} {self.mode}")
        setattr(self.op.node, f"_run_{self.mode}", method)
        return getattr(node if node is not None else owner, f"_run_{self.mode}")
