"""The data that a script brings with it, noted as its tensors are met: numbers where they are the same in each run,
else how they were drawn."""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from autograph_cli.engines.held import Drawn
from autograph_cli.record.log.events import LEAF, Event

DATA = "data"
"""The word that asks for them, among those of what is recorded."""
Facts = tuple[tuple[str, str], ...]
_FEW_VALUES = ("bernoulli", "randint", "randint_like", "multinomial", "poisson", "binomial", "geometric", "random")
"""Draws whose numbers may be all the same by chance."""
FEW = 16
"""The most numbers that are written out; of more, a summary."""


class Data:
    """The facts on the data of leaves and inputs, by the event's number."""

    def __init__(self) -> None:
        self.facts: dict[int, Facts] = {}
        self.parameters: dict[int, weakref.ref[Any]] = {}
        """The parameters that were made, by the id of their memory."""
        self.older: dict[int, weakref.ref[Any]] = {}
        """The tensors that were there before, by id: whether their numbers are the same in each run is not known."""
        self.on = True
        """True while numbers are noted. Of later data only the way they were drawn is noted, for steps change the
        numbers."""

    def note(self, event: Event, drawn: Drawn | None, read: Callable[[Any], Any], *, computed: bool) -> None:
        """Note what is told of a tensor that is met: of one that is older, or that a backward call may have `computed`,
        no more than of a parameter."""
        if self.on:
            tensor = event.ref()
            older = self.older.get(id(tensor))
            unknown = computed or event.kind == LEAF or (older is not None and older() is tensor)
            self.facts[event.number] = _facts_of(read(tensor), drawn, parameter=unknown)
        elif drawn is not None and drawn.by is not None:
            self.facts[event.number] = _drawn(drawn.op, drawn.by)


def _facts_of(array: Any, drawn: Drawn | None, *, parameter: bool) -> Facts:
    """Return what is told of the numbers of a tensor: of a parameter only how they were drawn, if not all are one."""
    by = None if drawn is None else drawn.by
    if not isinstance(array, (np.ndarray, np.generic)):
        array = None  # on the device meta, or of a batch
    by_chance = drawn is not None and by is not None and drawn.op in _FEW_VALUES
    if not by_chance and array is not None and array.size > (by is not None) and (one := _only(array)) is not None:
        return (("values", one),)
    if drawn is not None and by is not None:
        return _drawn(drawn.op, by)
    if array is None or not array.size or (parameter and drawn is None):
        return ()
    return (("values", _summary(array)),)


def _drawn(op: str, by: Facts) -> Facts:
    return (("drawn", op), *((name.rstrip("_") if name == "from_" else name, _short(value)) for name, value in by))


def _short(text: str) -> str:
    """A number to six digits."""
    try:
        return text if text.lstrip("-").isdigit() else f"{float(text):.6g}"
    except ValueError:
        return text


def _only(array: Any) -> str | None:
    """The one number that all of them are; None if they differ, and for a single number that may be anything."""
    first = array.flat[0]
    return _number(first) if bool((array == first).all()) else None


def _summary(array: Any) -> str:
    if array.size <= FEW:
        return _listed(array.tolist())
    if array.dtype.kind not in "fc":
        return f"crc {zlib.crc32(np.ascontiguousarray(array).tobytes()):08x}"
    numbers = array.ravel()
    numbers = (numbers.real + 2 * numbers.imag if array.dtype.kind == "c" else numbers).astype(np.float64)
    finite = np.where(np.isfinite(numbers), numbers, 0)
    ramp = finite @ np.linspace(0, 1, finite.size) / finite.size
    sums = f"mean {finite.mean():.5g}, norm {np.sqrt(finite @ finite):.5g}, ramp {ramp:.5g}"
    odd = len(numbers) - int(np.isfinite(numbers).sum())
    return f"{sums}, {odd} not finite" if odd else sums


def _listed(items: Any) -> str:
    return f"[{', '.join(map(_listed, items))}]" if isinstance(items, list) else _number(items)


def _number(item: Any) -> str:
    item = getattr(item, "item", lambda: item)()
    return f"{item:.6g}" if isinstance(item, float) else str(item)
