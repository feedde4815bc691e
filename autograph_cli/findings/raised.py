"""Further errors that autograd raises: which call, which tensor, and what to do instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from autograph_cli.findings.calls import (
    LEARN,
    argument,
    assignment,
    called,
    failed_calls,
    failed_script,
    plain_grad,
    script_parts,
)
from autograph_cli.findings.failures import failing
from autograph_cli.findings.functions import function_text
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.unconnected import cuts_above
from autograph_cli.findings.ways import shape_of
from autograph_cli.graph import Edge, Node, Source
from autograph_cli.graph.cuts import LISTED, where
from autograph_cli.graph.records import PACKED


def _line(seen: Seen, line: int) -> Source | None:
    there = failed_script(seen)
    return None if there is None else Source(there[0], line, there[1].line(line))


@failing("One of the differentiated Tensors does not require grad")
def _asked_by_constant(seen: Seen) -> Iterator[Found]:
    calls = failed_calls(seen, "grad")
    asked = argument(calls[0], 1, "inputs") if calls else []
    roots = [ast.unparse(part) for part in argument(calls[0], 0, "outputs")] if calls else []
    without = [part for part in asked if not _requires(seen, ast.unparse(part))]
    facts: list[str] = []
    remedy = ""
    for name in map(ast.unparse, without):
        made = assignment(seen, name)
        by = plain_grad(made)
        if by is not None and made is not None:
            facts.append(f"{name} is made by grad at {line_of(_line(seen, made.lineno))}, without create_graph")
            remedy = _WITH_GRAPH
            if roots and roots == [ast.unparse(part) for part in argument(by, 0, "outputs")]:
                facts.append(f"{name} is computed from {roots[0]}: inputs and outputs are the other way round")
                remedy = f"{_WITH_GRAPH} Then differentiate {name}, outputs={name}, by what it hangs on."
        elif made is not None:
            cuts = [f"{file}:{one.line} `{one.text}`: {one.causes[0].words}" for file, one in cuts_above(seen, name)]
            facts += cuts[:1] or [f"{name} is made at {line_of(_line(seen, made.lineno))}, without requires_grad"]
            remedy = remedy or f"Say {name}.requires_grad_() before it is used, so that the graph of the result has it."
    names = ", ".join(map(ast.unparse, without)) or "what grad differentiates by"
    yield Found(f"{names} requires no gradient, so nothing can be differentiated by it", seen.trace.failed_at,
                tuple(facts[:LISTED]), (), remedy)  # fmt: skip


def _requires(seen: Seen, name: str) -> bool:
    """Return whether the graph has a tensor of this name that requires a gradient."""
    kinds = {node.kind for node in seen.graph for output in node.outputs if name in output.names}
    return bool(kinds & {"leaf", "operation"})


_UNDERIVED = re.compile(r"derivative for '?(?:aten::)?([\w:. ]+?)'? is not implemented")
_ENDINGS = re.compile(r"(_for_cpu|_for_cuda|_backward|_forward|_\dd)+$")


@failing("is not implemented")
def _no_derivative(seen: Seen) -> Iterator[Found]:
    match = _UNDERIVED.search(seen.trace.failure)
    if match is None:
        return
    name = match[1].partition(":")[0]
    stem = _stem(name)
    twice = "backward" in name
    made = [node for node in seen.graph if node.op and (_stem(node.op) == stem or _stem(node.op).startswith(stem))]
    made = [node for node in made if not node.order] or made
    at = made[-1].source if made and made[-1].source is not None else seen.trace.failed_at
    plain = stem.replace("scaled_dot_product_flash_attention", "scaled_dot_product_attention")
    what = "second derivative" if twice else "derivative"
    said = f"{plain} at {line_of(at)} has no {what}"
    facts = [f"it is asked for at {line_of(seen.trace.failed_at)}"] if at != seen.trace.failed_at else []
    remedy = next((words for known, words in _INSTEAD.items() if stem.startswith(known)), "")
    yield Found(said, at, tuple(facts), tuple(node.id for node in made[-1:]), remedy, _ONCE if twice else "")


def _stem(op: str) -> str:
    return _ENDINGS.sub("", op.strip("_"))


@failing("CheckpointError")
def _recomputed(seen: Seen) -> Iterator[Found]:
    text = seen.trace.details
    position, shapes = re.search(r"position (\d+)", text), re.findall(r"'shape': torch.Size\(\[([\d, ]*)\]\)", text)
    counts = re.findall(r"during (forward|recomputation): (\d+)", text)
    kept = [node for node in seen.graph for saved in node.saved if saved.value == PACKED]
    facts = [f"{count} tensors were saved in {'the ' * (when == 'forward')}{when}" for when, count in counts]
    source, node = seen.trace.failed_at, None
    if position is not None and len(shapes) > 1:
        facts.append(
            f"what is saved there had the shape [{shapes[0]}], and has [{shapes[1]}] when it is computed again"
        )
        node = kept[int(position[1])] if int(position[1]) < len(kept) else None
        shape = tuple(int(side) for side in shapes[0].split(",") if side.strip())
        node = node if node is not None and shape in _shapes(seen, node) else None
    if node is not None and position is not None:
        source, said = node.source, f"position {position[1]} is {where(node)}, which is not computed again as it was"
    elif counts:
        last = kept[int(counts[-1][1]) : int(counts[0][1])] if len(kept) >= int(counts[0][1]) else []
        facts += [f"the first that is not saved again may be that of {where(one)}" for one in last[:1]]
        said = "a checkpoint saved another number of tensors when it was computed again"
    else:
        said = "a checkpoint was not computed again as it was"
    places = _places(seen, lambda part: _is_call(part, ("checkpoint",)))
    facts += [f"{line_of(place)} makes it: {place.text}" for place in places[:LISTED]]
    yield Found(said, source, tuple(facts), () if node is None else (node.id,))


def _shapes(seen: Seen, node: Node) -> set[tuple[int, ...]]:
    """The shapes of what an operation was given and made."""
    edges = [*node.args, *(Edge(node.id, nr) for nr in range(len(node.outputs)))]
    return {shape_of(seen, edge) for edge in edges}


@failing("BackwardHookFunction")
def _hooked_and_changed(seen: Seen) -> Iterator[Found]:
    hooks = _places(seen, lambda part: _is_call(part, _FULL_HOOKS))
    changes = [place for place in _places(seen, _changes) if seen.trace.failed_at == place]
    changes = changes or _places(seen, lambda part: _has_flag(part, "inplace"))
    changes = changes or [place for place in [seen.trace.failed_at] if place is not None]
    words = f"the result of a module with a full backward hook ({', '.join(map(line_of, hooks[:3]))})"
    said = f"{words} is changed in place ({', '.join(map(line_of, changes[:3]))})"
    texts = tuple(place.text for place in (*hooks, *changes))
    yield Found(said, next(iter(changes), None), texts[:LISTED])


_FULL_HOOKS = ("register_full_backward_hook", "register_full_backward_pre_hook")


def _places(seen: Seen, wanted: Callable[[ast.AST], bool]) -> list[Source]:
    return list(dict.fromkeys(line for line, part in script_parts(seen, ast.stmt, ast.expr) if wanted(part)))


def _is_call(part: ast.AST, names: Sequence[str]) -> bool:
    return isinstance(part, ast.Call) and called(part) in names


def _has_flag(part: ast.AST, name: str) -> bool:
    words = part.keywords if isinstance(part, ast.Call) else []
    return any(word.arg == name and isinstance(word.value, ast.Constant) and word.value.value for word in words)


def _changes(part: ast.AST) -> bool:
    """Return whether it is `y += 1`, `y[0] = 1` or `y.mul_(2)`."""
    if isinstance(part, ast.Assign):
        return isinstance(part.targets[0], ast.Subscript)
    method = called(part) if isinstance(part, ast.Call) else ""
    return isinstance(part, ast.AugAssign) or (method.endswith("_") and not method.endswith("__"))


@failing("Expected to have finished reduction in the prior iteration")
def _unreduced(seen: Seen) -> Iterator[Found]:
    replaced = list(_replaced_after_wrapping(seen))
    yield from replaced or _never_used(seen)


def _replaced_after_wrapping(seen: Seen) -> Iterator[Found]:
    """Parameters that DDP waits for, of whose names others get a gradient."""
    match = re.search(r"did not receive grad for rank \d+: ([a-zA-Z_][\w., ]*)", seen.trace.details)
    reached = [name for number in seen.reached for name in seen.graph[number].outputs[0].names]
    waiting = match[1].strip().split(", ") if match else []
    names = [each for each in waiting if any(name == each or name.endswith(f".{each}") for name in reached)]
    own = {part for name in names for part in name.split(".")}
    places = _places(seen, lambda part: isinstance(part, ast.Assign) and _attribute(part.targets[0]) in own)
    if names and len(names) == len(waiting):
        shown = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
        said = f"{shown} took the place of what DistributedDataParallel was made with and waits for"
        fact = f"backward gives the {names[0]} that is there now a gradient, and the one that was there none"
        yield Found(said, next(iter(places), seen.trace.failed_at), (fact,), (), _BEFORE, _MADE_WITH)


def _attribute(target: ast.expr) -> str:
    """The attribute that is set of anything but `self`; empty for all else."""
    own = not isinstance(target, ast.Attribute) or (isinstance(target.value, ast.Name) and target.value.id == "self")
    return "" if own or not isinstance(target, ast.Attribute) else target.attr


_BEFORE = "Put each module and parameter in its place before the model is wrapped."
_MADE_WITH = (
    "It exchanges the gradients of the parameters that it was made with: what takes their place is unknown to it."
)


def _never_used(seen: Seen) -> Iterator[Found]:
    used = {edge.node for node in seen.graph if node.kind == "operation" for edge in node.args}
    silent = [node for node in seen.graph if node.kind == "leaf" and node.id not in seen.reached and node.module]
    names = [node.outputs[0].names[0] for node in silent if node.outputs[0].names]
    unused = [node for node in silent if node.id not in used]
    takers = [(user, Edge(node.id)) for node in unused for user in seen.users.get(Edge(node.id), ())]
    facts = [f"{where(user)} takes {seen.name(edge)} where no gradients are recorded" for user, edge in takers]
    match = re.search(r"for rank \d+: ([\d ]+)", seen.trace.details)
    if match is not None:
        facts.append(f"by their numbers in parameters(): {', '.join(match[1].split())}")
    wrapped = _places(seen, lambda part: _is_call(part, ("DistributedDataParallel", "DDP")))
    if not names and match is not None:
        names = _by_number(seen, [int(number) for number in match[1].split()])
    listed = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
    said = f"{listed or 'some parameters'} got no gradient in the step before, and DDP waits for all of them"
    source = takers[0][0].source if takers else next(iter(wrapped), seen.trace.failed_at)
    yield Found(said, source, tuple(dict.fromkeys(facts))[:LISTED], tuple(node.id for node in silent))


def _by_number(seen: Seen, numbers: Sequence[int]) -> list[str]:
    """The attributes of the model that no module call of the step belongs to, if there are any."""
    paths = {call.path.rpartition(".")[2] for call in seen.graph.calls}
    made = []
    for _, part in script_parts(seen, ast.Assign):
        values = part.value.elts if isinstance(part.value, ast.Tuple) else [part.value]
        targets = part.targets[0].elts if isinstance(part.targets[0], ast.Tuple) else part.targets
        for target, value in zip(targets, values, strict=False):
            if isinstance(value, ast.Call) and isinstance(target, ast.Attribute) and called(value).startswith(LEARN):
                made.append(target.attr)
    return [f"self.{name}" for name in dict.fromkeys(made) if name not in paths][: len(numbers)]


@failing("nference tensor", "inference tensor")
def _inference(seen: Seen) -> Iterator[Found]:
    at = seen.trace.failed_at
    places = _places(seen, lambda part: _is_inference(part))
    said = (
        f"a tensor that was made in inference mode ({', '.join(map(line_of, places[:3]))}) is used where gradients are"
    )
    said += f" recorded ({line_of(at)})"
    yield Found(said, at, tuple(place.text for place in places[:LISTED]))


def _is_inference(part: ast.AST) -> bool:
    return isinstance(part, ast.Call) and called(part) == "inference_mode"


_TYPES = re.compile(r"\b(Double|Float|Half|BFloat16|Long|Int|Short|Byte|Bool|ComplexFloat|float64|float32|int64)\b")
_MISFITS = (
    "must have the same dtype", "can't be cast to the desired output type", "Found dtype", "expected scalar type",
    "expected target dtype", "to be on the same device", "is not on the expected device",
    "Only Tensors of floating point and complex dtype can require gradients",
)  # fmt: skip


@failing(*_MISFITS)
def _misfit(seen: Seen) -> Iterator[Found]:
    at, there = seen.trace.failed_at, failed_script(seen)
    names = (
        set().union(*(one.uses for one in there[1].bindings if one.line <= there[2] <= one.last_line))
        if there
        else set()
    )
    known = {
        name: str(output.type)
        for node in seen.graph
        for output in node.outputs
        for name in output.names
        if name in names or name.partition(".")[0] in names
    }
    facts = [f"{name} is {type_}" for name, type_ in known.items()]
    by_device = "device" in seen.trace.failure
    kinds = list(dict.fromkeys(_TYPES.findall(seen.trace.failure)))
    devices = re.findall(r"\b(cpu|cuda:?\d*|meta|mps)\b", seen.trace.failure)
    if "require gradients" in seen.trace.failure:
        said, remedy = "whole numbers can require no gradient", _AS_FLOAT
    elif by_device:
        said, remedy = f"tensors of two devices go together: {' and '.join(dict.fromkeys(devices))}", _ONE_DEVICE
    else:
        said, remedy = f"tensors of two types go together: {' and '.join(kinds)}", _cast(seen, kinds)
    yield Found(said, at, tuple(facts[:LISTED]), (), remedy)


def _cast(seen: Seen, kinds: Sequence[str]) -> str:
    if "expected target dtype" in seen.trace.failure:
        return "Give the classes as whole numbers, target.long(), or probabilities in the shape of the scores."
    if "Long" in kinds:
        return "Make the whole numbers floating point first, target.float(), or write the result out of place."
    return "Bring both to one type: NumPy's float64 with x.float(), or the model with model.double()."


@failing("returned an incorrect number of gradients", "returned an invalid gradient at index")
def _wrong_gradients(seen: Seen) -> Iterator[Found]:
    match = re.search(r"[Ff]unction (\w+?)Backward returned an (.*)$", seen.trace.failure)
    text = None if match is None else function_text(dict(seen.scripts), match[1])
    if match is None:
        return
    returns = [] if text is None else text.returns(0, 99)
    source = text.source(returns[0]) if text is not None and returns else seen.trace.failed_at
    yield Found(f"the backward of {match[1]} returned an {match[2]}", source)


@failing("can't optimize a non-leaf", "deepcopy protocol", "only change requires_grad flags of leaf")
def _no_leaf(seen: Seen) -> Iterator[Found]:
    at = seen.trace.failed_at
    made = [(name, node) for node in seen.graph if node.kind == "operation" for o in node.outputs for name in o.names]
    text = at.text if at is not None else ""
    names = [each for each in made if re.search(rf"(?<![\w.]){re.escape(each[0])}(?!\w)", text)]
    copied = {ast.unparse(call.args[0]) for call in failed_calls(seen, "deepcopy") if call.args}
    names = names or [each for each in made if any(re.match(rf"{re.escape(one)}[.\[]", each[0]) for one in copied)]
    facts = [f"{name} is the result of {where(node)}" for name, node in names[:LISTED]]
    what = names[0][0] if names else "the tensor"
    inside = names and what not in text
    remedy = f"Keep no computed tensor in it: {what}.detach(), or copy its state_dict()." if inside else ""
    yield Found(f"{what} is no leaf: it was computed, and is not a parameter of its own", at, tuple(facts), (), remedy)


@failing("Can't call numpy() on Tensor that requires grad")
def _numpy(seen: Seen) -> Iterator[Found]:
    at = seen.trace.failed_at
    yield Found(f"NumPy is given a tensor that requires a gradient: {at.text if at else ''}", at)


@failing("optimizer got an empty parameter list")
def _no_parameters(seen: Seen) -> Iterator[Found]:
    listed = _places(seen, _lists_modules)
    facts = tuple(f"{line_of(place)} keeps modules in a plain list: {place.text}" for place in listed[:LISTED])
    remedy = "Keep them in nn.ModuleList or nn.ModuleDict, which register them." if listed else ""
    source = next(iter(listed), seen.trace.failed_at)
    said = f"the optimizer at {line_of(seen.trace.failed_at)} is given no parameter"
    yield Found(said, source, facts, (), remedy)


def _lists_modules(part: ast.AST) -> bool:
    """Return whether it is `self.layers = [nn.Linear(...), ...]`."""
    target = part.targets[0] if isinstance(part, ast.Assign) else None
    if not isinstance(part, ast.Assign) or not isinstance(target, ast.Attribute):
        return False
    listed = isinstance(part.value, (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Tuple))
    return listed and any(isinstance(inner, ast.Call) for inner in ast.walk(part.value))


@failing("is a view and is being modified inplace")
def _view_changed(seen: Seen) -> Iterator[Found]:
    if "BackwardHookFunction" in seen.trace.failure:
        return
    at = seen.trace.failed_at
    match = re.search(r"of (\w+?)(?:Backward\d*)? is a view", seen.trace.failure)
    op = match[1].lower() if match else ""
    made = [node for node in seen.graph if op and node.op.replace("_", "") == op]
    facts = tuple(f"it is a part of what {where(node)} made" for node in made[-1:])
    yield Found(f"a part of several views is changed in place: {at.text if at else ''}", at, facts)


@failing("all elements of input should be between 0 and 1")
def _no_probabilities(seen: Seen) -> Iterator[Found]:
    calls = failed_calls(seen, "binary_cross_entropy", "BCELoss", "loss", "criterion", "loss_fn")
    given = ast.unparse(calls[0].args[0]) if calls and calls[0].args else "what it is given"
    yield Found(f"binary_cross_entropy is given {given}, which is not between 0 and 1", seen.trace.failed_at)


_WITH_GRAPH = "Make the first derivative with create_graph=True."
_ONCE = "Its backward is a function of its own, whose derivative nobody wrote: it can be differentiated once."
_AS_FLOAT = "Make it of floating point, torch.tensor([1.0, 2.0]) or dtype=torch.float32."
_ONE_DEVICE = "Bring both to one device with .to(device): the model once, and each batch."
_INSTEAD = {
    "scaled_dot_product": "Use the kernel that is made of operations: with torch.nn.attention.sdpa_kernel("
    "torch.nn.attention.SDPBackend.MATH): around the call.",
    "cdist": "Write it with operations: (a[:, None] - b).pow(2).sum(-1).add(1e-12).sqrt().",
    "cudnn_rnn": "Use the cell, or with torch.backends.cudnn.flags(enabled=False): around the call.",
    "thnn_fused": "Use the cell of operations: nn.RNNCell and its like on the CPU.",
    "ctc_loss": "Leave the second derivative out, or penalize the weights or scores instead of its gradient.",
    "grid_sampler": "Interpolate with operations: floor, index and weights.",
    "embedding_bag": "Use mode='sum' or 'mean', or nn.Embedding and a reduction.",
}
"""Replacements for operations, by the beginning of their names."""
RULES = (
    Rule("AG009", "grad is asked for by what requires no gradient",
        "A derivative is taken along the graph, and this tensor is in none.",
        "Have it require a gradient before the result is computed from it.",
        _asked_by_constant),
    Rule("AG010", "an operation has no derivative",
        "Nobody wrote its derivative.",
        "Write it from operations that have one, or as a torch.autograd.Function with a backward of operations.",
        _no_derivative),
    Rule("AG011", "a checkpoint is not computed again as it was",
        "A checkpoint runs its function again in backward, and what that saves is to be the same: it depends on what "
        "has changed since, such as a counter, a mode, autocast, random numbers, or an input changed in place.",
        "Give all that it depends on as arguments, and change nothing that it reads; debug=True tells both runs.",
        _recomputed),
    Rule("AG012", "a full backward hook and an in-place change",
        "A full backward hook puts a function of its own around the inputs and results of a module, which in-place "
        "changes would undo.",
        "Leave the change out of place (inplace=False, y = y + 1), or register a hook on the tensor.",
        _hooked_and_changed),
    Rule("AG013", "DistributedDataParallel waits for a gradient",
        "It exchanges the gradients of all parameters that it was made with, and a parameter that does not go into the "
        "loss never has one.",
        "Use them, take them out of the model or freeze them before wrapping, or pass find_unused_parameters=True.",
        _unreduced),
    Rule("AG014", "a tensor of inference mode is recorded",
        "A tensor made in inference mode has no version counter, so no node can save it.",
        "Use torch.no_grad() instead of inference_mode, or clone it outside: x = x.clone().",
        _inference),
    Rule("AG015", "types or devices do not go together",
        "An operation takes tensors of one type and one device.",
        "Bring both to one type and device.",
        _misfit),
    Rule("AG016", "a backward returns what does not fit",
        "Backward returns one gradient for each argument of forward, in the shape of that, or None.",
        "Return as many as forward has arguments, each of its shape: expand or sum what was reduced or broadcast.",
        _wrong_gradients),
    Rule("AG017", "a leaf is asked for",
        "Only a leaf, made and not computed, can be optimized, copied deep, or change its requires_grad.",
        "Take detach() of it, or make the leaf after all computation: torch.randn(3).mul(0.1).requires_grad_().",
        _no_leaf),
    Rule("AG018", "NumPy is given what requires a gradient",
        "NumPy records nothing, so the gradient would be lost there.",
        "Say x.detach().numpy() where no gradient is meant, as for pictures; else compute with torch.",
        _numpy),
    Rule("AG019", "an optimizer without parameters",
        "Only what is registered is found by parameters(); and a generator can be read once.",
        "Look at list(model.parameters()): assign modules and nn.Parameter to attributes, and make the list once.",
        _no_parameters),
    Rule("AG020", "one of several views is changed in place",
        "Functions such as unbind, split and chunk make several views, of which none can be changed alone.",
        "Write it out of place (x = x + 1), take the part by its index, or clone it.",
        _view_changed),
    Rule("AG021", "binary_cross_entropy of scores",
        "It takes the logarithm of probabilities, which are between 0 and 1.",
        "Use binary_cross_entropy_with_logits on the scores, or torch.sigmoid before it.",
        _no_probabilities),
)  # fmt: skip
