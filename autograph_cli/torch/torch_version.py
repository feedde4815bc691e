"""`torch.__version__` as a text that compares as versions do: 2.13 is later than 2.2."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["TorchVersion"]
_FORM = r"v?(\d+(?:\.\d+)*)(?:[-_.]?((?:a|b|rc|alpha|beta|dev|pre)\d*))?(?:\+(\S*))?$"


def _key(version: Any) -> Any:
    """Return what versions are compared by: numbers, then whether it is final, then the part behind `+`; None if it is
    none."""
    text = ".".join(map(str, version)) if isinstance(version, (tuple, list)) else version
    if not isinstance(text, str):
        return None
    found = re.match(_FORM, text)
    if found is None:
        return None
    release = found[1]
    while release.endswith(".0"):
        release = release[:-2]
    return tuple(map(int, release.split("."))), found[2] is None, found[2] or "", found[3] or ""


def _compare(name: str) -> Callable[[Any, Any], Any]:
    plain = getattr(str, name)

    def method(self: Any, other: Any) -> Any:
        ours, theirs = _key(str(self)), _key(other)
        return plain(self, other) if ours is None or theirs is None else getattr(ours, name)(theirs)

    return method


class TorchVersion(str):
    """A version; compares with texts and with tuples of numbers.

    >>> TorchVersion("2.13.0+cpu") > "2.2", TorchVersion("2.13.0") >= (2, 13)
    (True, True)
    """

    __slots__ = ()
    __lt__, __le__, __gt__, __ge__, __eq__ = map(_compare, ("__lt__", "__le__", "__gt__", "__ge__", "__eq__"))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__
