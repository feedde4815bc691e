"""Derivatives forward: `jvp`, `linearize`."""

from __future__ import annotations

from typing import Any

from .._core.base.state import thread_state
from .._core.operations.operation import operations
from .._core.tape.tensor import Tensor
from .._core.transforms.forward import joined, paired
from .._core.transforms.interpreter_stack import DualLevel, running
from .._core.transforms.reverse import GradCall, fresh, own_leaves, settle
from .._core.transforms.transforms import Dual, dual, zeros_like
from ..autograd.grad_mode import enable_grad
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from ._arguments import Function, apart, check_outputs, chosen, fresh_tree, replaced, settled


def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Return what `func` returns at `primals`, and its derivative along `tangents`; both are tuples, one position an
    argument.

    >>> from autograph_cli import torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    value, slope, aux = pushed(func, primals, tangents, None, strict, has_aux)
    return (value, slope, aux) if has_aux else (value, slope)


def pushed(func: Function, args: Any, tangents: Any, argnums: Any, strict: bool, has_aux: bool) -> tuple[Any, Any, Any]:
    """`jvp` by the arguments `argnums`, or by all: the value, its tangent, and the aux (or None)."""
    name = "jvp(f, primals, tangents)"
    if not isinstance(args, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat, spec = tree_flatten(args if argnums is None else chosen(argnums, args))
    flat_tangents, tangents_spec = tree_flatten(tangents)
    if spec != tangents_spec:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure "
            f"{tangents_spec}"
        )
    _check_tensors(name, "primals", flat)
    _check_tensors(name, "tangents", flat_tangents)
    level = DualLevel()
    with running(level):
        inputs = tree_unflatten([_dual(level, p, t) for p, t in zip(flat, flat_tangents, strict=True)], spec)
        outputs, aux = apart(name, func(*(inputs if argnums is None else replaced(args, argnums, inputs))), has_aux)
        check_outputs(name, "f(*primals)", outputs)
        flat_out, spec_out = tree_flatten(outputs)
        pairs = [unpacked(level, y, strict) for y in flat_out]
        aux = tree_map(lambda x: _value(level, x), aux) if has_aux else None
    value, slope = (tree_unflatten(parts, spec_out) for parts in ([p for p, _ in pairs], [t for _, t in pairs]))
    return value, slope, aux


def _dual(level: DualLevel, primal: Tensor, tangent: Tensor) -> Dual:
    primal, tangent = paired(primal, tangent)
    return dual(level, _alias(primal), tangent)


def _alias(x: Tensor) -> Tensor:
    """As PyTorch's forward mode makes a view of each primal that enters and leaves it."""
    return operations.alias(x)


def _value(level: DualLevel, x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return unpacked(level, x, False)[0]


def _check_tensors(name: str, what: str, flat: list[Any]) -> None:
    if not flat:
        raise RuntimeError(f"{name}: Expected {what} to contain at least one Tensor.")
    for x in flat:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{name}: Expected {what} to only contain Tensors, got {type(x)}")


def unpacked(level: DualLevel, x: Tensor, strict: bool) -> tuple[Tensor, Tensor]:
    """The primal and the tangent, which is zeros where there is none."""
    joined(level, [x])
    if isinstance(x, Dual) and x._ag_level is level:
        return _alias(x._ag_primal), x._ag_tangent
    if strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    return x, zeros_like(x)


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Return what `func` returns at `primals`, and its derivative there: a function of tangents, which does not run
    `func` again.

    >>> from autograph_cli import torch
    >>> y, push = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(2.0))
    tensor(2.)
    """
    with enable_grad():
        inputs = fresh_tree(primals)
        outputs = func(*inputs)
        check_outputs("linearize(f, *primals)", "f(*primals)", outputs)
        flat_in, spec_in = tree_flatten(inputs)
        flat_out, spec_out = tree_flatten(outputs)
        seeds = [fresh(zeros_like(y)) for y in flat_out]
        pairs = [(y, u) for y, u in zip(flat_out, seeds, strict=True) if y.requires_grad]
        transposed = GradCall([y for y, _ in pairs], flat_in, [u for _, u in pairs], True, True).run() if pairs else []
    own = own_leaves([*flat_in, *seeds])

    def push(*tangents: Any) -> Any:
        flat, spec = tree_flatten(tangents)
        if spec != spec_in:
            raise RuntimeError(f"Expected the tangents {spec} to have the same argspec as the primals {spec_in}")
        for i, (t, x) in enumerate(zip(flat, flat_in, strict=True)):
            if t.shape != x.shape:
                raise RuntimeError(
                    f"tangent:{i} with shape {t.shape} in flattened pytree doesn't match the shape {x.shape} of the "
                    "corresponding primal."
                )
        roots = [(g, t) for g, t in zip(transposed, flat, strict=False) if g is not None and g.requires_grad]
        found: list[Any] = [None] * len(seeds)
        if roots:
            found = GradCall([g for g, _ in roots], seeds, [t for _, t in roots], True, thread_state.grad).run()
        cotangents = [zeros_like(y) if g is None else settle(g, own) for g, y in zip(found, flat_out, strict=True)]
        return tree_unflatten(cotangents, spec_out)

    return settled(outputs, own), push
