"""Collation: samples become a batch."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ...._core.base.dtypes import float64
from ...._core.operations.registry import functions
from ...._core.tape.tensor import Tensor

_TEXT = (str, bytes)
Joins = dict[Any, Callable[..., Any]]
"""By class, or several: what makes a batch of samples of it."""


def default_convert(data: Any) -> Any:
    """NumPy's arrays as tensors, in whatever containers; everything else as it is."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else functions["as_tensor"](data)
    if isinstance(data, Mapping):
        return _rebuilt(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple):
        parts = [default_convert(x) for x in data]
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    if isinstance(data, Sequence) and not isinstance(data, _TEXT):
        return _relisted(data, [default_convert(x) for x in data])
    return data


def default_collate(batch: Any) -> Any:
    """Tensors stacked, numbers as one tensor, containers part by part, text as a list.

    TypeError for samples of another class, RuntimeError where they are of different sizes.

    >>> default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
    {'x': tensor([1., 2.], dtype=torch.float64), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """Containers part by part; other samples by the function of their class, which is called as `join(batch,
    collate_fn_map=...)`.

    >>> collate([{"x": 1}, {"x": 2}], collate_fn_map={int: lambda batch, *, collate_fn_map=None: sum(batch)})
    {'x': 3}
    """
    first = batch[0]
    join = _join_of(type(first), collate_fn_map or {})
    if join is not None:
        return join(batch, collate_fn_map=collate_fn_map)

    def joined(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _rebuilt(first, {key: joined([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(joined(samples) for samples in zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [joined(samples) for samples in zip(*batch, strict=True)]
        return parts if isinstance(first, tuple) else _relisted(first, parts)
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def _join_of(kind: type, joins: Joins) -> Callable[..., Any] | None:
    """The function of a class, or of the first one that it is derived from."""
    if kind in joins:
        return joins[kind]
    return next((join for known, join in joins.items() if issubclass(kind, known)), None)


default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def collate_tensor_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """Tensors, stacked."""
    return functions["stack"](list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """NumPy's arrays as tensors, by the map's own function for these."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([functions["as_tensor"](array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """NumPy's numbers as one tensor."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return functions["as_tensor"](np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """Numbers as one tensor of float64."""
    return functions["tensor"](batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """Integers as one tensor."""
    return functions["tensor"](batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Joins | None = None) -> Any:
    """Text as it is."""
    return batch


default_collate_fn_map: Joins = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _rebuilt(like: Any, entries: dict[Any, Any]) -> Any:
    """A mapping of the class of `like`, or a dict where that cannot be made."""
    if type(like) is dict:
        return entries
    with contextlib.suppress(TypeError):
        if isinstance(like, MutableMapping):
            result = copy.copy(like)
            result.update(entries)
            return result
        return type(like)(entries)
    return entries


def _relisted(like: Any, parts: list[Any]) -> Any:
    """A sequence of the class of `like`, or a list where that cannot be made."""
    if type(like) is list:
        return parts
    with contextlib.suppress(TypeError):
        if isinstance(like, MutableSequence):
            result = copy.copy(like)
            for i, part in enumerate(parts):
                result[i] = part
            return result
        return type(like)(parts)
    return parts
