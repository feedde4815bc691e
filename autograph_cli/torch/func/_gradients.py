"""Derivatives backward: `grad`, `grad_and_value`, `vjp`."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._core.base.state import thread_state
from .._core.tape.tensor import Tensor
from .._core.transforms.forward import outside_inference
from .._core.transforms.interpreter_stack import BatchLevel, GradLevel, running
from .._core.transforms.reverse import GradCall, ones_like, own_leaves, reaches_other, settle
from .._core.transforms.transforms import plain_parts, zeros_like
from ..autograd.grad_mode import enable_grad
from ..autograd.graph import disable_saved_tensors_hooks
from ..utils._pytree import tree_flatten, tree_unflatten, treespec_pprint
from ._arguments import Function, apart, check_outputs, chosen, fresh_tree, replaced, settled

NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with "
    "your use case."
)


def grad(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """A function that computes the gradient of `func`, which returns a scalar, by its arguments `argnums`.

    With `has_aux`, `func` returns (scalar, aux) and the new function (gradient, aux).

    >>> from autograph_cli import torch
    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(0.5))
    tensor(-0.4794)
    """

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        found = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (found[0], found[1][1]) if has_aux else found[0]

    return run


def grad_and_value(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """A function that computes a tuple of the gradient of `func` and what `func` returns.

    >>> from autograph_cli import torch
    >>> torch.func.grad_and_value(lambda x: x**2)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return run


def _grad_and_value(func: Function, argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with _recorded():
        inputs = fresh_tree(chosen(argnums, args))
        output, aux = apart("grad_and_value(f)(*args)", func(*replaced(args, argnums, inputs), **kwargs), has_aux)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
        if output.ndim:
            raise RuntimeError(
                f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} "
                "dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        if output.dtype.is_complex:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
    leaves, spec = tree_flatten(inputs)
    own = own_leaves(leaves)
    with outside_inference(), enable_grad():
        goes_on = _is_differentiated() or any(reaches_other(x, own) for x in _plain_in((output, aux)))
        found = _pullback([output], leaves, [ones_like(output)], goes_on, create_graph=True)
    gradient = tree_unflatten([settle(g, own) for g in found], spec)
    value = settle(output, own)
    return gradient, (value, settled(aux, own)) if has_aux else value


def _is_differentiated() -> bool:
    """Return whether a transform around this one differentiates what it computes."""
    return any(not isinstance(level, BatchLevel) for level in thread_state.levels)


def _plain_in(tree: Any) -> Iterator[Tensor]:
    """Yield the tensors in a tree, without their wrappers."""
    for x in tree_flatten(tree)[0]:
        if isinstance(x, Tensor):
            yield from plain_parts(x)


@contextmanager
def _recorded() -> Iterator[None]:
    """Inside the block the function runs of which the derivative is wanted, whatever the modes around it."""
    with outside_inference(), running(GradLevel()), enable_grad(), disable_saved_tensors_hooks(NO_HOOKS):
        yield


def _pullback(
    outputs: list[Any], inputs: list[Tensor], cotangents: list[Any], retain_graph: bool, create_graph: bool
) -> list[Tensor]:
    """The gradient of each input, zeros where the outputs do not depend on it."""
    pairs = [(y, v) for y, v in zip(outputs, cotangents, strict=True) if y.requires_grad]
    found: list[Any] = [None] * len(inputs)
    if pairs:
        roots, seeds = zip(*pairs, strict=True)
        found = GradCall(roots, inputs, seeds, retain_graph, create_graph).run()
    return [zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Return what `func` returns, and a function from cotangents of it to a tuple of cotangents of `primals`.

    >>> from autograph_cli import torch
    >>> y, pull = torch.func.vjp(torch.square, torch.tensor([1.0, 2.0]))
    >>> pull(torch.ones(2))
    (tensor([2., 4.]),)
    """
    value, pull, aux = pullback(func, primals, None, has_aux)
    return (value, pull, aux) if has_aux else (value, pull)


def pullback(func: Function, args: tuple[Any, ...], argnums: Any, has_aux: bool) -> tuple[Any, Function, Any]:
    """`vjp` by the arguments `argnums`, or by all: the value, the function of cotangents, and the aux (or None)."""
    with _recorded():
        inputs = fresh_tree(args if argnums is None else chosen(argnums, args))
        given = inputs if argnums is None else replaced(args, argnums, inputs)
        outputs, aux = apart("vjp(f, *primals)", func(*given), has_aux)
    flat_in, spec_in = tree_flatten(inputs)
    flat_out, spec_out = tree_flatten(outputs)
    if not flat_out:
        raise RuntimeError(
            f"vjp(f, *primals): Expected f to be a function that has non-empty output (got output = {flat_out})"
        )
    check_outputs("vjp(f, *primals)", "f(*primals)", outputs)
    own = own_leaves(flat_in)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        flat, spec = tree_flatten(cotangents)
        if spec != spec_out:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {treespec_pprint(spec)}, primal output: {treespec_pprint(spec_out)}"
            )
        seeds = [_fitting(i, v, y) for i, (v, y) in enumerate(zip(flat, flat_out, strict=True))]
        with outside_inference():
            creates = thread_state.grad if create_graph is None else create_graph
            found = _pullback(flat_out, flat_in, seeds, True, creates)
        return tree_unflatten([settle(g, own) for g in found], spec_in)

    return settled(outputs, own), pull, settled(aux, own) if has_aux else None


def _fitting(i: int, v: Any, y: Tensor) -> Any:
    """A cotangent, checked, in the dtype of its output."""
    if v.shape != y.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {v.shape} and output[{i}] has a shape of {y.shape}."
        )
    return v if v.dtype is y.dtype else v.to(y.dtype)
