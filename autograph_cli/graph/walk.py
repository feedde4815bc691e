"""The walk over whatever leads on to something: nodes, edges, events."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def reached(starts: Iterable[T], following: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Yield what can be reached from `starts`, these included, each once; a caller that knows enough may stop.

    >>> sorted(reached([1], lambda n: [n + 1, n + 2] if n < 4 else []))
    [1, 2, 3, 4, 5]
    """
    stack = list(dict.fromkeys(starts))
    met = set(stack)
    while stack:
        one = stack.pop()
        yield one
        for other in following(one):
            if other not in met:
                met.add(other)
                stack.append(other)
