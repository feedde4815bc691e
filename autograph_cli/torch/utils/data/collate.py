"""How samples become a batch."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ..._core.dtypes import float64
from ..._core.registry import functions
from ..._core.tensor import Tensor

_TEXT = (str, bytes)


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
    first = batch[0]
    if isinstance(first, Tensor):
        return functions["stack"](list(batch), 0)
    for kinds, join in _LEAVES:
        if isinstance(first, kinds):
            return join(batch)
    if isinstance(first, Mapping):
        return _rebuilt(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, Sequence):
        return _collate_sequences(first, batch)
    raise TypeError(_REFUSAL.format(type(first)))


_REFUSAL = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _collate_arrays(batch: Any) -> Any:
    dtype = batch[0].dtype
    if dtype.kind in "SUO":
        raise TypeError(_REFUSAL.format(dtype))
    if isinstance(batch[0], np.generic):
        return functions["as_tensor"](np.asarray(batch))
    return functions["stack"]([functions["as_tensor"](array) for array in batch], 0)


_LEAVES: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    ((np.ndarray, np.generic), _collate_arrays),
    (float, lambda batch: functions["tensor"](batch, dtype=float64)),
    (int, lambda batch: functions["tensor"](batch)),
    (_TEXT, lambda batch: batch),
)


def _collate_sequences(first: Any, batch: Any) -> Any:
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(samples) for samples in zip(*batch, strict=False)))
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    parts = [default_collate(samples) for samples in zip(*batch, strict=True)]
    return parts if isinstance(first, tuple) else _relisted(first, parts)


def _rebuilt(like: Any, entries: dict[Any, Any]) -> Any:
    """A mapping of the class of `like`, or a dict where that cannot be made."""
    if type(like) is dict:
        return entries
    with contextlib.suppress(TypeError):
        if isinstance(like, MutableMapping):
            made = copy.copy(like)
            made.update(entries)
            return made
        return type(like)(entries)
    return entries


def _relisted(like: Any, parts: list[Any]) -> Any:
    """A sequence of the class of `like`, or a list where that cannot be made."""
    if type(like) is list:
        return parts
    with contextlib.suppress(TypeError):
        if isinstance(like, MutableSequence):
            made = copy.copy(like)
            for i, part in enumerate(parts):
                made[i] = part
            return made
        return type(like)(parts)
    return parts
