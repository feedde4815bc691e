"""The Python code of an operation's function, as text: what it does with its arguments, its kernel and its node.

`codegen.py` compiles it; `backward_source.py` writes the node's half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .schema import REQUIRED, Parameter

if TYPE_CHECKING:
    from .operation import Operation


def _argument(parameter: Parameter) -> str:
    return "input" if parameter.name == "self" else parameter.name


def signature_text(op: Operation) -> str:
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


def arguments_text(op: Operation) -> str:
    return ", ".join(_argument(p) for p in op.schema.parameters)


def dispatched_source(op: Operation, plain: bool = False) -> str:
    lines = [f"def run({signature_text(op)}):"]
    if not op.view:
        lines += ["    if out is not None:", f"        return write_out(OP, ({arguments_text(op)},), out)"]
    lines += _plain(op) if plain else []
    return "\n".join([*lines, f"    return dispatch(OP, ({arguments_text(op)},))", ""])


def bound_source(op: Operation) -> str:
    """A function that returns all arguments in order, of a call with some of them left out or given by name."""
    return f"def run({signature_text(op)}):\n    return ({arguments_text(op)},)\n"


def forward_source(op: Operation, operator: bool = False, plain: bool = False) -> str:
    """The compiled forward; as an `operator` it answers NotImplemented to what is no operand.

    `plain`: a function of that name is asked first, which runs the operation on plain tensors (see fast_tape.pyx).
    """
    tensors = op.tensors
    every = [_argument(p) for p in op.schema.parameters]
    raws = {p.name: f"raw_{p.name}" for p in tensors}
    call = f"kernel({', '.join(raws.get(p.name, _argument(p)) for p in op.schema.parameters)})"
    lines = [
        f"def run({signature_text(op)}):",
        *_dispatch(op, operator, plain),
        "    try:",
        *_number_operand(op),
        *(f"        {raws[p.name]} = {_fetch(p, '_ag_raw')}" for p in tensors),
        "    except AttributeError:",
        *_unknown(op, every, operator),
        f"        {', '.join(every)}, = operands(OP, ({arguments_text(op)},))",
        *(f"        {raws[p.name]} = {_fetch(p, '_ag_raw')}" for p in tensors),
        *_constants(op),
        *(f"    edge{i} = {_fetch(p, '_ag_edge')}" for i, p in enumerate(op.inputs)),
        *_casts(op, raws),
        *_kernel_call(op, _signed(op, call) if op.sign else call, list(raws.values())),
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


def _constants(op: Operation) -> list[str]:
    """What PyTorch may refuse to differentiate is for full dispatch to look at."""
    named = [_argument(p) for p in op.tensors if p.name in op.constants]
    asked = [f"{name} is not None and {name}._ag_edge is not None" for name in named]
    asked += [] if op.complex_gradient else [f"{_argument(op.tensors[0])}._ag_raw.dtype.kind == 'c'"]
    return [f"    if {' or '.join(asked)}:", f"        return dispatch(OP, ({arguments_text(op)},))"] if asked else []


def _signed(op: Operation, call: str) -> str:
    """The kernel's call as an operator, for the shortest operations."""
    first, second, *others = op.schema.parameters
    plain = " and ".join(f"{_argument(p)} == default_{p.name}" for p in others)
    return f"raw_{first.name} {op.sign} raw_{second.name}" + (f" if {plain} else {call}" if plain else "")


def _made(op: Operation) -> list[tuple[str, str]]:
    """What the compiled forward calls its results, and their raw arrays."""
    return [(f"made{i}", f"raw{i}") for i in range(len(op.schema.outputs))] if op.multiple else [("made", "raw")]


def _new(made: str, raw: str) -> list[str]:
    return [
        f"    {made} = new(Tensor)",
        f"    {made}._ag_raw = {raw}",
        f"    {made}._ag_counter = None",
        f"    {made}._ag_meta = None",
    ]


def _without_edge(op: Operation) -> str:
    return f"{' = '.join(f'{made}._ag_edge' for made, _ in _made(op))} = None"


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
    check = [f"            if {second}.__class__ is bool:", f"                check({first}._ag_raw, {second})"]
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
        f"        explain(OP, ({arguments_text(op)},), ({', '.join(raws)},))",
        "        raise",
    ]


def _plain(op: Operation) -> list[str]:
    return [f"    made = plain({arguments_text(op)})", "    if made is not None:", "        return made"]


def _dispatch(op: Operation, operator: bool, plain: bool) -> list[str]:
    lines = [*(_plain(op) if plain else ()), "    if process_state.special:"]
    if operator:
        lines += _unknown(op, ["input", "other"], operator)
    lines += [f"        return dispatch(OP, ({arguments_text(op)},))"]
    if not op.view:
        lines = ["    if out is not None:", f"        return write_out(OP, ({arguments_text(op)},), out)", *lines]
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
    hand_on = f"return dispatch(OP, ({arguments_text(op)},))"
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
            lines += [f"    {made}._ag_counter = [0]", f"    saved_{made} = new(SavedResult)"]
            lines += [f"    saved_{made}._ag_raw = {raw}", f"    saved_{made}._ag_counter = {made}._ag_counter"]
    lines += [
        "    node = NODE()",
        f"    node._ag_edges = {_edges(op, edges)}",
        "    node._ag_extra = None",
        f"    node._ag_output_meta = {_output_meta(op)}",
        "    node._ag_seq = number",
        f"    node._ag_saved = ({''.join(f'{_saved(op, n)}, ' for n in op.saved_names)})",
        *_expectations(op),
        *_edges_of_results(op),
        *([f"    {_view_made(op, every[0], 'made._ag_edge')}"] if op.view else []),
        "    if process_state.observer is not None:",
        f"        process_state.observer.created(node, ({', '.join(every)},), "
        f"({''.join(f'{made}, ' for made, _ in _made(op))}))",
        f"    return {_returned(op)}",
    ]
    return lines


def _edges_of_results(op: Operation) -> list[str]:
    if not op.multiple:
        return ["    made._ag_edge = (node, 0)"]
    return [
        f"    {made}._ag_edge = "
        + (
            "None"
            if name in op.nondifferentiable
            else f"((node, {i}) if CATEGORY[{raw}.dtype] >= FLOATING else None){_or_none(op, i)}"
        )
        for i, (name, (made, raw)) in enumerate(zip(op.schema.outputs, _made(op), strict=True))
    ]


def _or_none(op: Operation, i: int) -> str:
    """What follows the text of something of output `i`: None in its place where `dispatch.defined` says no."""
    return "" if op.output_mask is None else f" if output_mask[{i}] or raw{i}.size else None"


def _edges(op: Operation, edges: list[str]) -> str:
    every = f"({', '.join(f'*{e}' if p.is_list else e for p, e in zip(op.inputs, edges, strict=True))},)"
    # PyTorch's node for a derivative that does not exist has only the edges that need one.
    return every if op.has_derivative else f"tuple(edge for edge in {every} if edge is not None)"


def _output_meta(op: Operation) -> str:
    if op.multiple:
        return f"[{', '.join(f'output_meta({raw}){_or_none(op, i)}' for i, (_, raw) in enumerate(_made(op)))}]"
    if op.view:
        return "(raw.shape, raw.dtype)"
    made = "(raw.shape, raw.dtype) if raw.__class__ is ndarray else raw.__class__"
    if op.floating and len(op.tensors) == 1 and len(op.schema.parameters) == 1:
        # A function of one tensor, element by element: the result is like its input.
        return f"edge0[0]._ag_output_meta if edge0 is not None and not edge0[0]._ag_multiple else {made}"
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
    value = {
        "sizes": f"{one}._ag_raw.shape",
        "dtype": f"{one}._ag_raw.dtype",
        "strides": f"strides_of({one}._ag_raw)",
        "device": f"device_of({one}._ag_raw)",
    }[tail]
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
            lines += [f"    if {guard}{shown}._ag_counter is not None:", f"        expect(node, {index}, {shown})"]
    return lines
