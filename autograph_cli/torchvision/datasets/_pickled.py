"""The pickles of CIFAR: a dict of lists, text and one array; nothing of them is run."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from autograph_cli.torch._saving.reading import RestrictedMachine
from autograph_cli.torch._saving.storages import MOST_DIMS


class _Kind:
    """A dtype in a pickle: bytes only."""

    __slots__ = ()

    def __init__(self, name: Any, *rest: Any) -> None:
        if not isinstance(name, (str, bytes)) or _text(name) != "u1":
            raise ValueError("an array of other numbers than bytes does not belong here")

    def __setstate__(self, state: Any) -> None:
        """The rest says nothing of bytes."""


class _Array:
    """An array in a pickle, empty until its state comes."""

    __slots__ = ("array",)

    def __init__(self, *shape: Any) -> None:
        self.array: Any = np.empty(0, np.uint8)

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5 or not isinstance(state[2], _Kind) or state[3]:
            raise ValueError("an array is not written like this")
        data = state[4].encode("latin1") if isinstance(state[4], str) else state[4]
        shape = state[1]
        if not (isinstance(data, bytes) and isinstance(shape, tuple) and len(shape) <= MOST_DIMS):
            raise ValueError("an array is not written like this")
        if not all(type(n) is int and 0 <= n < 1 << 62 for n in shape):
            raise ValueError("an array is not written like this")
        self.array = np.frombuffer(data, np.uint8).reshape(shape)


def _make(kind: Any, shape: Any, code: Any) -> _Array:
    if kind is not _Array:
        raise ValueError("only arrays are made here")
    return _Array()


def _refused(*reference: Any) -> Any:
    raise ValueError("there are no storages here")


_KNOWN: dict[str, Any] = {
    **{f"numpy.{core}.multiarray._reconstruct": _make for core in ("core", "_core")},
    "numpy.ndarray": _Array,
    "numpy.dtype": _Kind,
}


class _Machine(RestrictedMachine):
    """Knows text and bytes as Python 2 wrote them, too."""

    advice = ""
    steps = {
        **RestrictedMachine.steps,
        **dict.fromkeys(("BINSTRING", "BINBYTES", "SHORT_BINBYTES"), RestrictedMachine.push),
    }


def read_pickle(data: bytes) -> dict[str, Any]:
    """The dict in a pickle of bytes arrays, lists, numbers and text, its keys and text as `str`; ValueError for
    anything else.

    >>> import pickle
    >>> read_pickle(pickle.dumps({b"labels": [3, 7]}, protocol=2))
    {'labels': [3, 7]}
    """
    try:
        found = _Machine(_refused, _KNOWN).run(data)
    except pickle.UnpicklingError as error:
        raise ValueError(str(error)) from None
    if not isinstance(found, dict):
        raise ValueError(f"a dict was expected, not {type(found).__name__}")
    return {_text(name): _plain(value) for name, value in found.items()}


def _text(x: Any) -> Any:
    return x.decode("latin1") if isinstance(x, bytes) else x


def _plain(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.array
    return [_text(part) for part in value] if isinstance(value, list) else _text(value)
