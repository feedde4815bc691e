"""Fetching of a batch, here or in a worker, and the way of an exception to the caller."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable
from typing import Any


class MapFetcher:
    """Fetches samples by index."""

    def __init__(self, dataset: Any, batches: bool, collate: Callable[[Any], Any], drop_last: bool) -> None:
        self._dataset, self._batches, self._collate = dataset, batches, collate

    def fetch(self, indices: Any) -> Any:
        """One batch, or one sample where there are no batches."""
        dataset = self._dataset
        if not self._batches:
            return self._collate(dataset[indices])
        many = getattr(dataset, "__getitems__", None)
        return self._collate(many(indices) if many else [dataset[i] for i in indices])


class StreamFetcher:
    """Fetches the next samples; StopIteration at the end."""

    def __init__(self, dataset: Any, batches: bool, collate: Callable[[Any], Any], drop_last: bool) -> None:
        self._samples, self._batches, self._collate = iter(dataset), batches, collate
        self._drop_last = drop_last

    def fetch(self, positions: Any) -> Any:
        """Return as many samples as there are positions, or one if there are no batches."""
        if not self._batches:
            return self._collate(next(self._samples))
        batch = list(itertools.islice(self._samples, len(positions)))
        if not batch or (self._drop_last and len(batch) < len(positions)):
            raise StopIteration
        return self._collate(batch)


FETCHERS: dict[bool, Any] = {False: MapFetcher, True: StreamFetcher}
"""By whether the dataset can only be iterated."""


class Failure:
    """An exception of a worker, as text that reaches the reader whatever its class."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind = type(error)
        self.text = f"Caught {self.kind.__name__} {where}.\nOriginal {traceback.format_exc()}"

    def reraise(self) -> None:
        """Raise it here: an exception of the same class, or RuntimeError if that cannot be made from text."""
        text: Any = self.text
        if self.kind is KeyError:
            text = _Verbatim(text)
        try:
            error: BaseException = self.kind(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


class _Verbatim(str):
    """Text that a KeyError shows as it is."""

    def __repr__(self) -> str:
        return str(self)
