"""`torch.futures`: values that are set later, by Python's own futures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent import futures
from types import GenericAlias
from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value that somebody sets once.

    >>> future = Future()
    >>> doubled = future.then(lambda done: done.value() * 2)
    >>> future.set_result(3)
    >>> doubled.wait()
    6
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self, *, devices: Any = None) -> None:
        self._inner: futures.Future[Any] = futures.Future()

    def done(self) -> bool:
        """Return whether there is a result, or an error."""
        return self._inner.done()

    def wait(self) -> Any:
        """The result, as soon as there is one; raises the error that was set instead."""
        return self._inner.result()

    def value(self) -> Any:
        """The result, which must be there."""
        if not self.done():
            raise RuntimeError("Future.value() is called before the future is complete")
        return self._inner.result()

    def set_result(self, result: Any) -> None:
        """Complete it."""
        self._inner.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Complete it by an error."""
        self._inner.set_exception(result)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call `callback(self)` when it is complete."""
        self._inner.add_done_callback(lambda _: callback(self))

    def _following(self) -> Future:
        """Return what `then` completes."""
        return Future()

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return what `callback(self)` gives when this is complete, as another future."""
        result = self._following()

        def run(done: Future) -> None:
            try:
                result.set_result(callback(done))
            except Exception as error:
                result.set_exception(error)

        self.add_done_callback(run)
        return result


def wait_all(futures: list[Future]) -> list[Any]:
    """All results, as soon as they are there."""
    return [future.wait() for future in futures]


def collect_all(futures: Iterable[Future]) -> Future:
    """A future of the list of these futures, complete when all of them are."""
    waiting, result = list(futures), Future()
    left = len(waiting)

    def count(_: Future) -> None:
        nonlocal left
        left -= 1
        if not left:
            result.set_result(waiting)

    for future in waiting:
        future.add_done_callback(count)
    if not waiting:
        result.set_result([])
    return result
