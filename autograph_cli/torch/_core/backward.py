"""The two entrances, `backward` and `grad`; the pass itself stands in backward_pass.py."""

from __future__ import annotations

from typing import Any

from .base.errors import refused
from .base.size import Size
from .base.state import BackwardCall, thread_state
from .base.user_warnings import warn_once
from .passes.backward_pass import run
from .passes.roots import GradientEdge, gradients_for, root_edge, root_gradients, root_shape, sequence
from .running.device_dispatch import filled
from .tape.node import output_meta
from .tape.tensor import Tensor, make
from .transforms.interpreter_stack import BatchLevel, in_function, running
from .transforms.reverse import GradCall, backward_parts, in_front
from .transforms.transforms import Batched, batched


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves (of `inputs` only, if given).

    >>> from autograph_cli import torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if in_function():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
    roots = sequence(tensors)
    targets = None if inputs is None else sequence(inputs)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    grads = root_gradients(roots, gradients_for(grad_tensors, len(roots)), "grad_tensors")
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph and targets is None:
        warn_once(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
            "after use to break the cycle and avoid the leak."
        )
    if thread_state.levels:
        roots, grads = backward_parts(roots, grads)
    run(BackwardCall("backward", roots, targets, keep, create_graph), grads)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` by `inputs`, as a tuple; of a dict of inputs, as a dict.

    >>> from autograph_cli import torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> torch.autograd.grad(x**3, x)
    (tensor(12.),)
    """
    if materialize_grads and allow_unused is False:
        raise refused(
            ValueError,
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.",
        )
    if isinstance(inputs, dict):
        options = (grad_outputs, retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched)
        found = grad(outputs, list(inputs.values()), *options, materialize_grads)
        return dict(zip(inputs, found, strict=True))
    roots, targets = sequence(outputs), sequence(inputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    for x in targets:
        if not isinstance(x, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")
    if is_grads_batched:
        return _grad_batched(
            roots,
            targets,
            gradients_for(grad_outputs, len(roots)),
            retain_graph,
            create_graph,
            allow_unused,
            materialize_grads,
        )
    keep = create_graph if retain_graph is None else retain_graph
    if thread_state.levels:
        _check_followed(roots)
    grads = root_gradients(roots, gradients_for(grad_outputs, len(roots)), "grad_outputs")
    found = GradCall(roots, targets, grads, keep, create_graph).run()
    return tuple(
        [
            _of_unused(i, target, allow_unused, materialize_grads, create_graph) if g is None else g
            for i, (g, target) in enumerate(zip(found, targets, strict=True))
        ]
    )


def _of_unused(
    number: int, target: Any, allow_unused: bool | None, materialize_grads: bool, create_graph: bool
) -> Tensor | None:
    """The gradient by an input that has none: zeros, or None; RuntimeError where neither is allowed."""
    if materialize_grads:
        if not isinstance(target, Tensor):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        return make(filled(output_meta(target._ag_raw), 0)).requires_grad_(create_graph)
    if not allow_unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {number} appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        )
    return None


def _check_followed(roots: list[Any]) -> None:
    """As in PyTorch, a vmap has no graph: what it has batched is followed by a `grad` inside of it only."""
    innermost = thread_state.levels[-1]
    for i, root in enumerate(roots):
        if isinstance(root, Batched) and root._ag_level is innermost:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")


def _grad_batched(
    roots: list[Any],
    targets: list[Any],
    grads: list[Any],
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple[Any, ...]:
    """A `grad` call for each row of the gradients, all at once: a vmap over them."""
    level = BatchLevel(_rows(roots, grads))
    with running(level):
        rows = [batched(level, g, 0) for g in grads]
        found = grad(roots, targets, rows, retain_graph, create_graph, True, allow_unused, False, materialize_grads)
        return tuple(None if g is None else in_front(level, g) for g in found)


def _rows(roots: list[Any], grads: list[Any]) -> int:
    """The number of rows, which all gradients have."""
    sizes = []
    for i, (root, g) in enumerate(zip(roots, grads, strict=True)):
        edge = root_edge(root)
        if g is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        shape = root_shape(root) if edge is not None else g._ag_raw.shape[1:]
        if g._ag_raw.shape[1:] != shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {Size(g._ag_raw.shape[2:])} and "
                f"output[{i}] has a shape of {Size(shape)}. If you only want some tensors in `grad_output` to be "
                "considered batched, consider using vmap."
            )
        sizes.append(g._ag_raw.shape[0])
    if len(set(sizes)) > 1:
        raise refused(
            ValueError,
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension",
        )
    return sizes[0] if sizes else 0
