"""`torch.func`: derivatives of functions as functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import _missing
from ._core.forward import joined, paired
from ._core.reverse import GradCall, fresh, ones_like, own_leaves, settle
from ._core.state import L
from ._core.tensor import Tensor
from ._core.transforms import Dual, DualLevel, dual, running, zeros_like
from ._core.vmap import vmap
from .autograd.grad_mode import enable_grad
from .nn.utils.stateless import functional_call
from .utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten, treespec_pprint

__all__ = ["functional_call", "grad", "grad_and_value", "jvp", "vjp", "vmap"]

Function = Callable[..., Any]


def __getattr__(name: str) -> Any:
    raise _missing.error(__name__, name, globals())


# ---------------------------------------------------------------- what the transforms share


def _slice(argnums: Any, args: tuple[Any, ...]) -> Any:
    """The arguments that are differentiated by: one, or a tuple."""
    if not isinstance(argnums, (int, tuple)) or isinstance(argnums, bool):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if isinstance(argnums, int):
        return args[_place(argnums, len(args))]
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    places = tuple(_place(n, len(args)) for n in argnums)
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(args[n] for n in places)


def _place(argnum: int, count: int) -> int:
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def _replaced(args: tuple[Any, ...], argnums: Any, new: Any) -> tuple[Any, ...]:
    """The arguments with others in the places `argnums`."""
    pairs = [(argnums, new)] if isinstance(argnums, int) else list(zip(argnums, new, strict=True))
    found = list(args)
    for place, x in pairs:
        found[place % len(args)] = x
    return tuple(found)


def _fresh(tree: Any) -> Any:
    def one(x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        return fresh(x)

    return tree_map(one, tree)


def _aux(name: str, output: Any, has_aux: bool) -> tuple[Any, Any]:
    """What a function returned, as (output, aux)."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def _check_outputs(name: str, call: str, tree: Any) -> None:
    for leaf in tree_leaves(tree):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{name}: expected {call} to return only tensors, got unsupported type {type(leaf)}")


def _settled(tree: Any, own: set[Any]) -> Any:
    def one(x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
        return settle(x, own)

    return tree_map(one, tree)


# ---------------------------------------------------------------- reverse mode


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
    with enable_grad():
        inputs = _fresh(_slice(argnums, args))
        output, aux = _aux("grad_and_value(f)(*args)", func(*_replaced(args, argnums, inputs), **kwargs), has_aux)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
        if output.ndim:
            raise RuntimeError(
                f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. "
                "Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        if output.dtype.is_complex:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
        leaves, spec = tree_flatten(inputs)
        found = _pullback([output], leaves, [ones_like(output)], create_graph=True)
    own = own_leaves(leaves)
    gradient = tree_unflatten([settle(g, own) for g in found], spec)
    value = settle(output, own)
    return gradient, (value, _settled(aux, own)) if has_aux else value


def _pullback(outputs: list[Any], inputs: list[Tensor], cotangents: list[Any], create_graph: bool) -> list[Tensor]:
    """The gradient of each input, zeros where the outputs do not depend on it."""
    pairs = [(y, v) for y, v in zip(outputs, cotangents, strict=True) if y.requires_grad]
    found: list[Any] = [None] * len(inputs)
    if pairs:
        roots, seeds = zip(*pairs, strict=True)
        found = GradCall(roots, inputs, seeds, True, create_graph).run()
    return [zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """What `func` returns, and a function from cotangents of it to a tuple of cotangents of `primals`.

    >>> from autograph_cli import torch
    >>> y, pull = torch.func.vjp(torch.square, torch.tensor([1.0, 2.0]))
    >>> pull(torch.ones(2))
    (tensor([2., 4.]),)
    """
    with enable_grad():
        inputs = _fresh(primals)
        outputs, aux = _aux("vjp(f, *primals)", func(*inputs), has_aux)
    _check_outputs("vjp(f, *primals)", "f(*primals)", outputs)
    flat_in, spec_in = tree_flatten(inputs)
    flat_out, spec_out = tree_flatten(outputs)
    own = own_leaves(flat_in)

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        flat, spec = tree_flatten(cotangents)
        if spec != spec_out:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {treespec_pprint(spec)}, primal output: {treespec_pprint(spec_out)}"
            )
        for i, (v, y) in enumerate(zip(flat, flat_out, strict=True)):
            if v.shape != y.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {v.shape} and output[{i}] has a shape of {y.shape}."
                )
        found = _pullback(flat_out, flat_in, flat, L.grad if create_graph is None else create_graph)
        found = [settle(g, own) for g in found]
        return tree_unflatten(found, spec_in)

    value = _settled(outputs, own)
    return (value, pull, _settled(aux, own)) if has_aux else (value, pull)


# ---------------------------------------------------------------- forward mode


def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """What `func` returns at `primals`, and its derivative along `tangents`; both are tuples, one place an argument.

    >>> from autograph_cli import torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat, spec = tree_flatten(primals)
    flat_tangents, tangents_spec = tree_flatten(tangents)
    if spec != tangents_spec:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {tangents_spec}"
        )
    _check_tensors(name, "primals", flat)
    _check_tensors(name, "tangents", flat_tangents)
    level = DualLevel()
    with running(level):
        inputs = [dual(level, *paired(p, t)) for p, t in zip(flat, flat_tangents, strict=True)]
        outputs, aux = _aux(name, func(*tree_unflatten(inputs, spec)), has_aux)
        _check_outputs(name, "f(*primals)", outputs)
        flat_out, spec_out = tree_flatten(outputs)
        pairs = [unpacked(level, y, strict) for y in flat_out]
        aux = tree_map(lambda x: unpacked(level, x, False)[0], aux) if has_aux else None
    value, slope = (tree_unflatten(parts, spec_out) for parts in ([p for p, _ in pairs], [t for _, t in pairs]))
    return (value, slope, aux) if has_aux else (value, slope)


def _check_tensors(name: str, what: str, flat: list[Any]) -> None:
    if not flat:
        raise RuntimeError(f"{name}: Expected {what} to contain at least one Tensor.")
    for x in flat:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{name}: Expected {what} to only contain Tensors, got {type(x)}")


def unpacked(level: DualLevel, x: Tensor, strict: bool) -> tuple[Tensor, Tensor]:
    """The primal and the tangent, which is zeros where there is none."""
    joined(level, [x])
    if isinstance(x, Dual) and x._level is level:
        return x._primal, x._tangent
    if strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
            "strict=True."
        )
    return x, zeros_like(x)
