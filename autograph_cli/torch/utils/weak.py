"""`torch.utils.weak`: dictionaries whose keys are tensors (or anything else), told apart by identity and held
weakly."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that is equal to others of the same object, whatever `==` of the object says."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, others = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or others is None else mine is others


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary that asks keys for their identity only, and forgets an entry with its key.

    >>> from autograph_cli import torch
    >>> key = torch.ones(2)
    >>> notes = WeakIdKeyDictionary({key: "a"})
    >>> notes[key], torch.ones(2) in notes, len(notes)
    ('a', False, 1)
    >>> del key
    >>> len(notes)
    0
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        data = self.data
        self._forget = lambda reference: data.pop(reference, None)
        self.update(dict or {})

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __iter__(self) -> Iterator[Any]:
        return (key for key in [reference() for reference in self.data] if key is not None)

    def __len__(self) -> int:
        return len(self.data)

    def keyrefs(self) -> list[Any]:
        """The weak references to all keys."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary with the same keys and values."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        return type(self)({key: copy.deepcopy(value, memo) for key, value in self.items()}, self.ref_type)

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        result = self.copy()
        result.update(other)
        return result

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MutableMapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: called, it gives the tensor, or None when that is gone."""

    __slots__ = ("ref",)

    def __init__(self, tensor: Any) -> None:
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Any:
        return self.ref()
