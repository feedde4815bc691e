"""Shared parts of the transforms of functions: arguments by number, trees of tensors, checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tape.tensor import Tensor
from .._core.transforms.forward import ordinary
from .._core.transforms.reverse import fresh, settle
from ..utils._pytree import tree_leaves, tree_map

Function = Callable[..., Any]


def chosen(argnums: Any, args: tuple[Any, ...]) -> Any:
    """The arguments that are differentiated by: one, or a tuple."""
    if not isinstance(argnums, (int, tuple)) or isinstance(argnums, bool):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if isinstance(argnums, int):
        return args[position(argnums, len(args))]
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    positions = tuple(position(n, len(args)) for n in argnums)
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(args[n] for n in positions)


def position(argnum: int, count: int) -> int:
    """Return which positional argument `argnum` is, counted from 0; RuntimeError for one that is not there."""
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def replaced(args: tuple[Any, ...], argnums: Any, new: Any) -> tuple[Any, ...]:
    """The arguments with others in the positions `argnums`."""
    pairs = [(argnums, new)] if isinstance(argnums, int) else list(zip(argnums, new, strict=True))
    found = list(args)
    for position, x in pairs:
        found[position % len(args)] = x
    return tuple(found)


def fresh_tree(tree: Any) -> Any:
    """The tree with a fresh alias of each tensor; ValueError for a leaf that is none."""

    def one(x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        return fresh(ordinary(x))

    return tree_map(one, tree)


def apart(name: str, output: Any, has_aux: bool) -> tuple[Any, Any]:
    """Return what a function returned, as (output, aux)."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def check_outputs(name: str, call: str, tree: Any) -> None:
    """RuntimeError where a leaf of the outputs is no tensor."""
    for leaf in tree_leaves(tree):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{name}: expected {call} to return only tensors, got unsupported type {type(leaf)}")


def settled(tree: Any, own: set[Any]) -> Any:
    """The tree with each tensor as a transform's result: out of the graph, unless it leads to more than what is
    `own`."""

    def one(x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
        return settle(x, own)

    return tree_map(one, tree)
