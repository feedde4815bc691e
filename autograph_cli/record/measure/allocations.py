"""The memory that tensors are in: when it was first seen, and when it was let go."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from autograph_cli.engines.protocol import TensorFacts
from autograph_cli.graph import Allocation


@dataclass(slots=True, eq=False)
class Held:
    """One piece of memory, as long as a step that is kept may show it."""

    bytes: int
    began: int
    what: str
    number: int | None = None
    """The event that it is of."""
    device: str = "cpu"
    ended: int | None = None


class Allocations:
    """Sees memory, by weak references that tell when it is let go."""

    def __init__(self, engine: TensorFacts, clock: Callable[[], int]) -> None:
        self._engine, self._clock = engine, clock
        self._alive: dict[int, tuple[Any, Held]] = {}
        """By the id of what owns the memory: the reference, and what is known."""
        self._ended: list[Held] = []

    def see(self, tensors: Iterable[Any], what: str, number: int | None = None) -> list[Held]:
        """Return what is new of the memory that these tensors are in; a gradient is that of the node that it comes to
        last."""
        found = []
        for tensor in tensors:
            memory = None if tensor is None else self._engine.memory(tensor)
            if memory is None:
                continue
            owner, size = memory
            known = self._alive.get(id(owner))
            if known is not None:
                if known[1].what == what == "gradient" and number is not None:
                    known[1].number = number
                continue
            held = Held(size, self._clock(), what, number, device=self._engine.device(tensor))
            self._alive[id(owner)] = weakref.ref(owner, self._letting_go(id(owner), held)), held
            found.append(held)
        return found

    def name(self, tensor: Any, number: int) -> None:
        """Say which event the memory of a tensor is of, that nobody was seen to make."""
        memory = None if tensor is None else self._engine.memory(tensor)
        known = None if memory is None else self._alive.get(id(memory[0]))
        if known is not None and known[1].what == "given":
            known[1].number = number

    def _letting_go(self, key: int, held: Held) -> Any:
        alive, ended, clock = self._alive, self._ended, self._clock

        def gone(_: Any) -> None:
            held.ended = clock()
            ended.append(held)
            del alive[key]

        return gone

    def since(self, began: int) -> list[Held]:
        """All that was there at this time or came later; what ended before is forgotten."""
        self._ended[:] = [held for held in self._ended if held.ended is None or held.ended > began]
        return sorted([*self._ended, *[held for _, held in self._alive.copy().values()]], key=lambda held: held.began)


def placed(held: Iterable[Held], began: int, ended: int, ids: dict[int, int]) -> tuple[Allocation, ...]:
    """The records of what was held in a step between these times; `ids` are the nodes of its events."""
    return tuple(
        Allocation(
            each.bytes,
            0 if each.what == "given" else max(each.began - began, 0),
            None if each.ended is None or each.ended > ended else each.ended - began,
            None if each.number is None else ids.get(each.number),
            "given" if each.began < began and each.what == "result" else each.what,
            sys.intern(each.device),  # as the default is, which a trace leaves out
        )
        for each in held
    )
