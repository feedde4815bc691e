"""Facts on all nodes of a name: how they are called, their formulas, and the types of their outputs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from msgspec import Struct

from autograph_cli.engines.operations import facts_of, source_of
from autograph_cli.engines.pytorch.private import FACTORIES, is_within_transform
from autograph_cli.engines.pytorch.saved import plain as as_plain, shape_of, sides
from autograph_cli.engines.values import shown
from autograph_cli.graph import TensorType

_NO_DERIVATIVE = "NotImplemented"
"""The name of the nodes of all operations that have no derivative."""
Like = tuple[tuple[Any, tuple[int, ...], Any], ...]
"""The dtype, shape and device of each output."""


class NodeType(Struct, frozen=True):
    """A type of node: its name, how PyTorch dispatches the operation, and whether that changed what it was given."""

    name: str
    operation: str = ""
    in_place: bool = False
    function: Any = None
    """The class of a custom Function."""

    @classmethod
    def of(cls, node: Any, operation: str = "", in_place: bool = False) -> NodeType:
        """The type of a node; `operation` made it, if that is known."""
        return _node_type(node.name(), operation, in_place, getattr(node, "_forward_cls", None))


Fact = TypeVar("Fact")


def once(fact: Callable[[Any], Fact]) -> Callable[[Any], Fact]:
    """Work out a fact on an operation at its first call; a cache by the operation itself would run PyTorch's own Python
    to hash it, at each call."""
    known: dict[int, tuple[Any, Fact]] = {}

    @functools.wraps(fact)
    def found(operation: Any) -> Fact:
        held = known.get(id(operation))
        if held is None:
            held = known[id(operation)] = operation, fact(operation)  # it is kept, so that its id stays its own
        return held[1]

    return found


@once
def dispatched(operation: Any) -> str:
    """Return what an operation is called where it is dispatched."""
    return str(operation._schema.name.partition("::")[2])


@once
def called(operation: Any) -> str:
    """Return what an operation without a node is called: as its nodes tell it, `softmax` and not `_softmax`."""
    name = dispatched(operation)
    plain = name.removeprefix("_")
    facts = facts_of(f"{plain.title().replace('_', '')}Backward0")
    return plain if facts is not None and facts.operation == plain else name


@once
def changes_argument(operation: Any) -> bool:
    """Return whether an operation changes one of its arguments."""
    return bool(operation._schema.is_mutable)


@once
def writes_out(operation: Any) -> bool:
    """Return whether an operation puts its results into tensors that it is given for them (`out=`)."""
    return any(argument.is_out for argument in operation._schema.arguments)


@once
def is_factory(operation: Any) -> bool:
    """Return whether an operation makes a tensor out of none, but for its size and type."""
    name = dispatched(operation)
    return name in FACTORIES or name.endswith("_like") or name.startswith("new_")


@functools.cache
def is_random(name: str) -> bool:
    """Return whether operations of this name draw random numbers."""
    packet = getattr(torch.ops.aten, name, None) if name else None
    overloads = () if packet is None else packet.overloads()
    return any(torch.Tag.nondeterministic_seeded in getattr(packet, each).tags for each in overloads)


def draws(node_type: NodeType | None) -> bool:
    """Return whether an operation that left no node draws random numbers."""
    return node_type is not None and is_random(node_type.operation.rstrip("_"))


COPY_SLICES = "torch::autograd::CopySlices"
"""The name of the nodes of changes of views."""


def hides_changes(node: Any) -> bool:
    """Return whether what the backward of a node changes in place is its own: of PyTorch's nodes, but those of
    changes."""
    return node is not None and not hasattr(node, "_forward_cls") and node.name() != COPY_SLICES


@functools.lru_cache(4096)
def _node_type(name: str, operation: str, in_place: bool, function: Any) -> NodeType:
    return NodeType(name.rpartition("::")[2], operation, in_place, function)


@functools.cache
def names_of(node_type: NodeType) -> tuple[str, str]:
    """The name of nodes of this type, and that of their operation.

    >>> names_of(NodeType("LinalgVectorNormBackward0"))
    ('LinalgVectorNormBackward0', 'linalg_vector_norm')
    """
    facts = None if node_type.name == _NO_DERIVATIVE else facts_of(node_type.name)
    if facts is not None:
        operation = facts.operation
    elif node_type.operation:  # as of a change of a view, which has the name of what changed it
        operation = node_type.operation
    elif re.fullmatch(r"\w+?Backward\d+", node_type.name):
        operation = _spelled(node_type.name)
    else:
        operation = node_type.name.removesuffix("Backward")
    return node_type.name, f"{operation.rstrip('_')}_" if node_type.in_place else operation


def _spelled(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.partition("Backward")[0]).lower()


def arguments(node_type: NodeType, plain: Any) -> list[tuple[str, str]]:
    """Return what an operation was given that is no tensor and no default, by name."""
    return [(name, shown(as_plain(value))) for name, value in plain]


def formula_of(node_type: NodeType) -> tuple[str, ...]:
    """The lines that tell how nodes of this type compute their gradients, where the table has them."""
    if node_type.function is not None:
        return source_of(node_type.function.backward)
    facts = facts_of(node_type.name)
    return () if facts is None else facts.formula


def like_of(node: Any) -> Like:
    """Return what the outputs of a node are."""
    return tuple([(like.dtype, shape_of(like), like.device) for like in node._input_metadata])


def like_applied(result: Any, node: Any) -> Like:
    """Return what the outputs of a custom Function are; of those without a gradient its node does not tell."""
    outputs = result if isinstance(result, tuple) else (result,)
    if len(outputs) != len(known := like_of(node)):  # it changed a view, and the node is of its base
        return known
    return tuple(
        (x.dtype, shape_of(x), x.device) if isinstance(x, torch.Tensor) and not x.requires_grad else like
        for x, like in zip(outputs, known, strict=True)
    )


def like_all(result: Any, node: Any) -> Like | None:
    """Return what the results of an operation are where its node does not tell, or takes longer: one, or several as the
    table has them, some of which have no history."""
    if isinstance(result, torch.Tensor):
        plain = result.__class__ is torch.Tensor and not is_within_transform()
        return ((result.dtype, shape_of(result), result.device),) if plain or result.is_nested else None
    facts = facts_of(node.name())
    if facts is None or not isinstance(result, tuple) or not 1 < facts.outputs <= len(result):
        return None
    like = like_of(node)
    more = result[len(like) : facts.outputs]
    return like + tuple([(x.dtype, shape_of(x), x.device) for x in more if x is not None])


def types(node_type: NodeType | None, like: Like) -> list[TensorType]:
    """The same as records of the graph."""
    try:
        return [_type(*each) for each in like]
    except TypeError:  # a size that stands for any has no hash
        return [_type(dtype, sides(shape), device) for dtype, shape, device in like]


@functools.lru_cache(1024)
def _type(dtype: Any, shape: tuple[Any, ...], device: Any) -> TensorType:
    return TensorType(str(dtype).removeprefix("torch."), sides(shape), str(device))


def flops(operation: Any, args: Any, outputs: Any) -> int:
    """The floating-point operations of an operation, as PyTorch's counter has them; attention on the CPU, which it
    leaves out, as that of the other kernels."""
    rule = _flop_rules().get(operation.overloadpacket)
    return 0 if rule is None else int(rule(*args, out_val=outputs))


@functools.cache
def _flop_rules() -> dict[Any, Any]:
    from torch.utils.flop_counter import flop_registry  # it imports much

    rules = dict(flop_registry)
    flash = "_scaled_dot_product_flash_attention"
    for end in ("", "_backward"):
        alike, on_cpu = getattr(torch.ops.aten, f"{flash}{end}"), getattr(torch.ops.aten, f"{flash}_for_cpu{end}", None)
        if on_cpu is not None:
            rules.setdefault(on_cpu, rules[alike])
    return rules
