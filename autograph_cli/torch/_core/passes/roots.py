"""The start of a backward pass: the roots, their edges and their gradients."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..._arrays.dispatched import Dispatched
from ..base import dtypes
from ..base.errors import refused
from ..base.size import Size
from ..operations.operation import operations
from ..operations.registry import functions
from ..running.device_dispatch import filled
from ..running.gradients import output_meta_at
from ..tape.node import Edge, Node, device_of_like, edge_of, output_meta, shape_dtype
from ..tape.tensor import Tensor, make


class GradientEdge(NamedTuple):
    """A gradient's position in the graph: a node and the number of its output."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def sequence(x: Any) -> list[Any]:
    """One tensor or edge as a list of one, many as a list."""
    if isinstance(x, (Tensor, GradientEdge)):
        return [x]
    return list(x)


def root_edge(root: Any) -> Edge | None:
    """Return where a backward pass from `root`, a tensor or an edge, begins."""
    if isinstance(root, GradientEdge):
        return root.node, root.output_nr
    if not isinstance(root, Tensor):
        raise AssertionError("Expected output to be a torch.Tensor")
    return edge_of(root)


def gradients_for(given: Any, count: int) -> list[Any]:
    """The gradients given for `count` roots, None where there is none; RuntimeError where they are not as many."""
    if given is None:
        return [None] * count
    grads = [given] if isinstance(given, Tensor) else list(given)
    if len(grads) != count:
        raise RuntimeError(f"got {count} tensors and {len(grads)} gradients")
    return grads


def root_gradients(roots: list[Any], grads: list[Any], _argument: str) -> list[Tensor]:
    """A gradient for each root: the given one, checked, or ones for a scalar."""
    result = [_root_gradient(i, root, g) for i, (root, g) in enumerate(zip(roots, grads, strict=True))]
    for i, root in enumerate(roots):
        if root_edge(root) is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
    return result


def _root_gradient(i: int, root: Any, g: Any) -> Any:
    like = _root_meta(root)
    shape, kind = shape_dtype(like)
    if g is None:
        if isinstance(root, Tensor) and not root.requires_grad:
            return None
        if math.prod(shape) != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if dtypes.CATEGORY[kind] == dtypes.COMPLEX:
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {dtypes.FROM_NUMPY[kind]}"
            )
        if isinstance(root, Tensor) and root._ag_raw.__class__ is Dispatched:
            return functions["ones_like"](make(root._ag_raw))
        return make(filled(like, 1))
    if not isinstance(g, Tensor):
        raise refused(TypeError, f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._ag_raw.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {Size(g._ag_raw.shape)} and output[{i}] has "
            f"a shape of {Size(shape)}."
        )
    given, expected = g.device, device_of_like(like)
    if given is not expected and given != expected:
        raise RuntimeError(f"invalid gradient at index {i} - expected device {expected} but got {given}")
    if (dtypes.CATEGORY[g._ag_raw.dtype] == dtypes.COMPLEX) != (dtypes.CATEGORY[kind] == dtypes.COMPLEX):
        raise RuntimeError(
            f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {dtypes.FROM_NUMPY[kind]}."
        )
    return g if g._ag_raw.dtype == kind else operations._to_copy(g, kind)


def _root_meta(root: Any) -> Any:
    """Return what a gradient of a root must look like."""
    if isinstance(root, GradientEdge):
        return output_meta_at((root.node, root.output_nr))
    if not isinstance(root, Tensor):
        raise AssertionError("Expected output to be a torch.Tensor")
    return output_meta(root._ag_raw)


def root_shape(root: Any) -> tuple[int, ...]:
    """The shape of a root."""
    return shape_dtype(_root_meta(root))[0]
