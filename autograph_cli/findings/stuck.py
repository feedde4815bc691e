"""Parameters that training leaves where they are: units that stay alike, and gradients of nothing but zeros."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from autograph_cli.findings.calls import called, made_at, parts_of, script_parts
from autograph_cli.findings.linear import Layer, layer_of
from autograph_cli.findings.numbers import RULES as NUMBERS, gradient_of, largest, over_one, value_of
from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.ways import PRODUCTS, behind_moves, moves, plain_op, shape_of
from autograph_cli.graph import Edge, Node, Source, Step, Values
from autograph_cli.graph.cuts import LISTED, where
from autograph_cli.record.names.bindings import Script

_TURNS = ("t", "transpose", "permute", "swapaxes")
_FILLS = ("zeros_", "ones_", "constant_", "fill_", "zero_")
_EVEN = ("zeros", "ones", "full")
_DIFFERENCES = ("sub", "rsub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_STEPWISE = frozenset(("round", "sign", "sgn", "floor", "ceil", "trunc", "heaviside", "fix"))
"""Functions whose derivative is zero wherever there is one."""
_FLAT = frozenset(
    "relu threshold clamp clamp_min clamp_max hardtanh hardsigmoid hardswish hardshrink sigmoid tanh softmax _softmax "
    "log_softmax elu gelu silu erf softshrink celu".split()
)
"""Activations that are flat somewhere, or nearly so: far from zero, the derivative is rounded to zero."""
_LIMITS = ("clamp", "hardtanh", "relu", "threshold")
_SMALLEST = {"float16": 6.1e-5}
"""The smallest normal numbers of these types: smaller ones lose digits, and then become zero."""


def _first(seen: Seen) -> Seen | None:
    """The first kept step, where this is the last, and at least one update was between them."""
    first: Step = seen.of_kind[0]
    apart = seen.is_last_of_kind and seen.step.number > first.number and bool(seen.graph.passes)
    return Seen(seen.trace, first, seen.scripts) if apart else None


def _named_leaves(seen: Seen) -> dict[str, Edge]:
    """The leaves that a backward pass reached, by name."""
    nodes = [seen.graph[number] for number in sorted(seen.differentiated)]
    nodes = [node for node in nodes if node.kind == "leaf" and node.outputs[0].names]
    return {seen.name(Edge(node.id)): Edge(node.id) for node in nodes}


def _alike(seen: Seen) -> Iterator[Found]:
    before = _first(seen)
    if before is None:
        return
    now, then = _same_units(seen), _same_units(before)
    both = {name: layer for name, layer in now.items() if name in then and _is_moved(seen, before, layer, then[name])}
    if not both:
        return
    names = list(both)
    listed = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
    facts = [
        f"the {layer.made} units of {name} are equal, number by number, in step {before.step.nth} and in step "
        f"{seen.step.nth}"
        for name, layer in list(both.items())[:LISTED]
    ]
    nodes = tuple(layer.leaf.node for layer in both.values())
    yield Found(f"all units of {listed} are alike, and stay so", _set(seen, names[0]), tuple(facts), nodes)


def _same_units(seen: Seen) -> dict[str, Layer]:
    """The layers whose weights are the same for each of several units, by the name of these."""
    found: dict[str, Layer] = {}
    for node in seen.graph:
        layer = layer_of(seen, node)
        values = None if layer is None else value_of(seen, layer.leaf)
        if layer is not None and values is not None and layer.made > 1 and _units(seen, layer) in values.alike:
            found.setdefault(seen.name(layer.leaf), layer)
    return {name: layer for name, layer in found.items() if not name.startswith("%")}


def _units(seen: Seen, layer: Layer) -> int:
    """The dimension of the weights along which its units lie."""
    shape = shape_of(seen, layer.leaf)
    if layer.node.op == "convolution":
        return 0
    if shape.count(layer.made) == 1:
        return shape.index(layer.made)
    turns, edge = 0, layer.node.args[-1]
    while moves(seen.graph[edge.node]):
        turns += seen.graph[edge.node].op in _TURNS
        edge = seen.graph[edge.node].args[0]
    return 0 if turns % 2 else len(shape) - 1


def _is_moved(seen: Seen, before: Seen, now: Layer, then: Layer) -> bool:
    """Return whether the weights were changed between, or would have been, but for a gradient of zeros."""
    values = value_of(seen, now.leaf), value_of(before, then.leaf)
    return values[0] != values[1] or largest(gradient_of(seen, now.leaf)) == 0


def _set(seen: Seen, name: str) -> Source | None:
    """The line that makes a parameter of one value, or gives all numbers of parameters one, if there is one alone; else
    where the parameter is made."""
    own = name.rpartition(".")[2].partition("[")[0]
    for line, made in script_parts(seen, ast.Assign):
        names = [ast.unparse(target).rpartition(".")[2] for target in made.targets]
        if own in names and any(called(call) in _EVEN for call in parts_of(made.value, ast.Call)):
            return line
    lines = {
        line
        for line, part in script_parts(seen, ast.Call)
        if getattr(part.func, "attr", "") in _FILLS
        if "grad" not in ast.unparse(part.func) and "bias" not in ast.unparse(part)
    }
    return lines.pop() if len(lines) == 1 else made_at(seen, name)


def _zeros(seen: Seen) -> Iterator[Found]:
    before = _first(seen)
    if before is None or seen.trace.total_steps < FEWEST or _is_told(seen):
        return
    then = _named_leaves(before)
    silent = {
        name: edge
        for name, edge in _named_leaves(seen).items()
        if name in then and _is_zero(seen, edge) and _is_zero(before, then[name])
    }
    by_node: dict[int, list[str]] = {}
    for name, edge in silent.items():
        for node in _stopping(seen, edge):
            by_node.setdefault(node.id, []).append(name)
    for number, names in by_node.items():
        node = seen.graph[number]
        reason, remedy = _why(seen, node)
        if not reason:
            continue
        listed = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
        said = f"the gradient of {listed} is exactly zero in each step, as that which {where(node)} passes on"
        facts = [f"the gradient that came to it goes up to {largest(gradient_of(seen, Edge(number))):.2g}"]
        facts += [f"given {seen.shown(edge)}, {_range(value_of(seen, edge))}" for edge in node.args]
        yield Found(said, node.source, tuple(dict.fromkeys(facts)), (number,), remedy, reason, about=tuple(names))


FEWEST = 3
"""The fewest steps: the first gradients of a layer that begins with zeros may be zero."""


def _is_told(seen: Seen) -> bool:
    """Return whether units that are off or alike are told already."""
    dead = next(rule for rule in NUMBERS if rule.code == "AG305")
    return any(True for _ in _alike(seen)) or any(True for _ in dead.find(seen))


def _is_zero(seen: Seen, edge: Edge) -> bool:
    return largest(gradient_of(seen, edge)) == 0


def _range(values: Values | None) -> str:
    if values is None:
        return "whose numbers are not known"
    return " ".join(line.strip() for line in values.whole) if values.whole else f"{values.low} to {values.high}"


def _stopping(seen: Seen, leaf: Edge) -> list[Node]:
    """The nodes on the way from a leaf to the loss that were given a gradient and passed on zeros; none where some way
    does not end so."""
    found: dict[int, Node] = {}
    met, stack = {leaf}, [leaf]
    while stack:
        edge = stack.pop()
        users = [user for user in seen.graph if edge in user.next and user.id in seen.reached and not user.order]
        for user in users:
            sizes = [largest(gradient_of(seen, Edge(user.id, nr))) for nr in range(len(user.outputs))]
            if any(sizes):
                found[user.id] = user
            elif 0 not in sizes:
                return []
            else:
                after = {Edge(user.id, nr) for nr in range(len(user.outputs))} - met
                met |= after
                stack += after
    return list(found.values())


def _why(seen: Seen, node: Node) -> tuple[str, str]:
    """Return why an operation passes on zeros, and what to change; empty where the numbers do not tell."""
    op, made = plain_op(node), node.outputs[0].type
    came = largest(gradient_of(seen, Edge(node.id))) or 0.0
    passed = [largest(gradient_of(seen, edge)) for edge in node.next if edge is not None]
    if op == "normal":
        return "Numbers that are drawn have no derivative by the mean and deviation that they are drawn with.", _DRAWN
    if op in _STEPWISE:
        return "It is a function of steps: its derivative is zero wherever there is one.", _STRAIGHT
    if came < _SMALLEST.get(made.dtype, 0.0):
        return f"Such gradients are at the end of {made.dtype}: what is smaller is rounded to zero.", _SCALE
    if op in PRODUCTS or op == "mul":
        zeros = [edge for edge in node.args if largest(value_of(seen, edge)) == 0]
        leaves = [edge for edge in zeros if seen.graph[behind_moves(seen, edge).node].kind == "leaf"]
        if zeros and not leaves and _drops_out(seen, node):
            return "All that it is given is dropped: p is the part that dropout drops, and not what it keeps.", _KEEP
        if not leaves:
            return "", ""
        return f"{seen.name(behind_moves(seen, leaves[0]))}, by which it multiplies, is zero in each step.", _NOT_ZERO
    if op in _DIFFERENCES and not any(passed) and len({repr(value_of(seen, edge)) for edge in node.args}) == 1:
        return "The two that it compares are the same, number by number, in each step.", _OTHERS
    if op in _FLAT and not any(passed) and not over_one(seen, node):
        if op.startswith(_LIMITS) and seen.graph[behind_moves(seen, node.args[0]).node].kind == "leaf":
            return (
                "It is outside of these limits, where the result is the same whatever it is: it never comes back.",
                _INSIDE,
            )
        return "All that it is given is where it is flat, so what is before it gets no gradient, and stays.", _STEEP
    if node.is_custom and not any(passed):
        return f"The backward of {node.op} was given a gradient, and returned zeros.", _CUSTOM
    return "", ""


def _drops_out(seen: Seen, node: Node) -> bool:
    inside = any("Dropout" in call.cls for call in seen.graph.calls if node.module and call.path == node.module)
    return inside or (node.source is not None and "dropout" in node.source.text)


def _lost(seen: Seen) -> Iterator[Found]:
    before = _first(seen)
    if before is None or not _steps(seen.scripts):
        return
    then = _named_leaves(before)
    still = [
        (name, edge)
        for name, edge in _named_leaves(seen).items()
        if seen.graph[edge.node].outputs[0].type.dtype in _DIGITS
        and name in then
        and value_of(seen, edge) == value_of(before, then[name]) is not None
        and largest(gradient_of(seen, edge))
        and largest(gradient_of(before, then[name]))
    ]
    if still:
        names = [name for name, _ in still]
        dtype = seen.graph[still[0][1].node].outputs[0].type.dtype
        listed = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
        facts = [
            f"{name} is the same in step {before.step.nth} and in step {seen.step.nth}, and its gradient goes up "
            f"to {largest(gradient_of(seen, edge)):.2g}"
            for name, edge in still[:LISTED]
        ]
        reason = f"{dtype} has {_DIGITS[dtype]} bits: an update that is less than a part in {2 ** _DIGITS[dtype]} of a "
        reason += "number is lost when it is added to it."
        nodes, said = (
            tuple(edge.node for _, edge in still),
            f"no number of {listed} changes, though there is a gradient",
        )
        yield Found(said, _stepped(seen.scripts), tuple(facts), nodes, "", reason, covers=tuple(names))


_DIGITS = {"float16": 11, "bfloat16": 8}


def _calls_of_step(scripts: Mapping[str, Script]) -> Iterable[tuple[str, int]]:
    for file, script in scripts.items():
        for part in ast.walk(script.tree):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "step":
                yield file, part.lineno


def _steps(scripts: Mapping[str, Script]) -> bool:
    """Return whether a script calls `step` of something."""
    return any(True for _ in _calls_of_step(scripts))


def _stepped(scripts: Mapping[str, Script]) -> Source | None:
    file, line = next(iter(_calls_of_step(scripts)))
    return Source(file, line, scripts[file].line(line))


_DRAWN = (
    "Draw from a normal distribution of mean 0, and move it, as rsample() does: mean + std * torch.randn_like(std)."
)
_STRAIGHT = "Put something smooth in its place, or pass the gradient straight through: x + (x.round() - x).detach()."
_SCALE = "Scale the loss (torch.amp.GradScaler), or compute this in bfloat16 or float32."
_KEEP = "Give it the part that is to be dropped, 1 - keep_prob."
_OTHERS = "Compare with what is made otherwise: of a copy (copy.deepcopy), or of other data."
_NOT_ZERO = "Begin with other values: small random ones."
_STEEP = "Bring what it is given nearer to zero: smaller weights or data, normalization, other initial biases."
_INSIDE = (
    "Begin within the limits, and keep it there after each step, under no_grad (x.clamp_(0, 1)); or let it be any "
    "number, and map that by sigmoid or softplus."
)
_CUSTOM = "Return the gradient times the derivative; torch.autograd.gradcheck compares it with finite differences."
_VALUES = ("values",)
RULES = (
    Rule("AG308", "units that stay alike",
        "Units that begin alike get the same gradient, and so stay alike: the layer can do no more than one unit.",
        "Begin with random weights: leave the initial values of the layer as they are, or use "
        "nn.init.xavier_uniform_ or kaiming_normal_.",
        _alike, _VALUES),
    Rule("AG309", "a gradient is zero in each step",
        "Nothing before this operation is ever changed.",
        "Use another operation here, or other values.",
        _zeros, _VALUES),
    Rule("AG310", "updates are lost to rounding",
        "A change that is less than the last bit of a number is lost.",
        "Keep the parameters in float32 and compute in half with torch.autocast, or use a larger learning rate.",
        _lost, _VALUES),
)  # fmt: skip
