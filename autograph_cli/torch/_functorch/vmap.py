"""`vmap`: a function of samples as a function of batches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core.operations.operation import operations
from .._core.tape.tensor import Tensor
from .._core.transforms.batching import value_of
from .._core.transforms.interpreter_stack import BatchLevel, running
from .._core.transforms.transforms import Batched, batched
from .._ops.random_numbers.generators import default_generator
from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_unflatten

Dims = Any
"""A dimension (or None) for each tensor: a number, or a tree like that of the tensors or a beginning of it."""


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that calls `func` for each position along the dimensions `in_dims` of its arguments, all at once.

    Results are stacked along `out_dims`. None stands for an argument that all samples share. Arguments by name are
    shared.
    `randomness`: whether random numbers are an error ("error"), "different" or the "same" for each sample;
    `chunk_size`: how many samples are worked out at once. ValueError for dimensions that do not fit, RuntimeError for
    what depends on a sample's values.

    >>> from autograph_cli import torch
    >>> torch.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        size, dims, flat, spec = _inputs(func, in_dims, args)
        if chunk_size is None or chunk_size >= size:
            return _mapped(func, size, dims, flat, spec, out_dims, randomness, kwargs)
        return _in_chunks(func, size, chunk_size, dims, flat, spec, out_dims, randomness, kwargs)

    return run


def _name(func: Any) -> str:
    return str(getattr(func, "__name__", None) or repr(func))


# ---------------------------------------------------------------- inputs


def _inputs(func: Any, in_dims: Dims, args: tuple[Any, ...]) -> tuple[int, list[Any], list[Any], TreeSpec]:
    """The size of the batch, the flat arguments and the dimension of each, and the arguments' tree."""
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially "
            f"nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of "
            f"`inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    dims = [_in_dim(func, in_dims, x, d) for x, d in zip(flat, dims, strict=True)]
    return _size(dims, flat), dims, flat, spec


def _in_dim(func: Any, in_dims: Dims, x: Any, dim: Any) -> int | None:
    """The dimension counted from the front; ValueError where it does not fit the argument."""
    start = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for "
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"{start}an input but in_dim must be either an integer dimension or None.")
    if not isinstance(x, Tensor):
        raise ValueError(
            f"{start}an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, please use "
            "None as the respective in_dim"
        )
    n = x.ndim
    if not -n <= dim < n:
        raise ValueError(
            f"{start}some input, but that input is a Tensor of dimensionality {n} so expected in_dim to satisfy "
            f"-{n} <= in_dim < {n}."
        )
    return dim % n


def _size(dims: list[Any], flat: list[Any]) -> int:
    sizes = [x._ag_raw.shape[d] for x, d in zip(flat, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: at least one of the inputs must have a dimension that is mapped over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return int(sizes[0])


def in_front(x: Any, dim: int) -> Any:
    """The tensor with this dimension moved to the front."""
    return x if dim == 0 else x.movedim(dim, 0)


# ---------------------------------------------------------------- one call


def _mapped(
    func: Any,
    size: int,
    dims: list[Any],
    flat: list[Any],
    spec: TreeSpec,
    out_dims: Dims,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    with running(BatchLevel(size, randomness)) as level:
        given = [x if d is None else batched(level, in_front(x, d), 0) for x, d in zip(flat, dims, strict=True)]
        result = func(*tree_unflatten(given, spec), **kwargs)
        leaves, positions, tree = _outputs(func, out_dims, result)
        return tree_unflatten([_plain(func, level, x, d) for x, d in zip(leaves, positions, strict=True)], tree)


def _outputs(func: Any, out_dims: Dims, result: Any) -> tuple[list[Any], list[Any], TreeSpec]:
    """The results, a dimension for each, and their tree."""
    leaves, spec = tree_flatten(result)
    start = f"vmap({_name(func)}, ..., out_dims={out_dims})"
    if any(d is not None and not isinstance(d, int) for d in tree_flatten(out_dims)[0]):
        raise ValueError(
            f"{start}: `out_dims` must be an int, None or a python collection of ints representing where in the "
            "outputs the vmapped dimension should appear."
        )
    if isinstance(out_dims, int) and len(leaves) == 1:
        return leaves, [out_dims], spec
    if isinstance(result, Tensor) and isinstance(out_dims, (tuple, list)) and len(out_dims) == 1:
        return leaves, [out_dims[0]], spec
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"{start}(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return leaves, dims, spec


def _plain(func: Any, level: BatchLevel, x: Any, dim: int | None) -> Any:
    """A result as a tensor of lower levels, with the batch as its dimension `dim`."""
    if dim is None:
        if isinstance(x, Batched) and x._ag_level is level:
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None"
            )
        return x
    if not isinstance(x, Tensor):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(x)}. Did you mean to "
            "set out_dims= to None for output?"
        )
    value = batch_in_front(level, x)
    return value if dim == 0 else value.movedim(0, dim)


def batch_in_front(level: BatchLevel, x: Tensor) -> Any:
    """The value of `x` for each sample, beneath the wrappers of higher levels if `x` has any."""
    value, batched_here = value_of(level, x)
    return value if batched_here else value.unsqueeze(0).expand(level.size, *x.shape)


# ---------------------------------------------------------------- chunks


def _in_chunks(
    func: Any,
    size: int,
    chunk: int,
    dims: list[Any],
    flat: list[Any],
    spec: TreeSpec,
    out_dims: Dims,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    """Run `chunk` samples at a time; with the same randomness, each chunk draws the same numbers."""
    state = default_generator.get_state()
    parts = []
    for start in range(0, size, chunk):
        n = min(chunk, size - start)
        given = [x if d is None else x.narrow(d, start, n) for x, d in zip(flat, dims, strict=True)]
        if randomness == "same" and start:
            default_generator.set_state(state)
        result = _mapped(func, n, dims, given, spec, out_dims, randomness, kwargs)
        parts.append(_outputs(func, out_dims, result))
    columns = zip(*(leaves for leaves, _, _ in parts), strict=True)
    _, positions, tree = parts[0]
    return tree_unflatten([_joined(list(c), d) for c, d in zip(columns, positions, strict=True)], tree)


def _joined(parts: list[Any], dim: int | None) -> Any:
    if dim is None:
        return parts[0]
    return operations.cat(parts, dim % parts[0].ndim)
