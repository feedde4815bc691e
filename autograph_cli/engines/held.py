"""Records of tensors that may die, by id: a leaf or a tensor without gradient that was told of, and what was made from
nothing."""

from __future__ import annotations

import weakref
from typing import Any, Protocol, TypeVar

from msgspec import Struct


class Held(Struct, frozen=True, eq=False, gc=False):
    """A leaf, or a tensor without gradient, that was told of, and the output that it is known by."""

    ref: weakref.ref[Any]
    number: int
    nr: int = 0


class Drawn(Struct, frozen=True, eq=False, gc=False):
    """A tensor that was made from nothing, and the operation (`zeros`, `randn`) that made it."""

    ref: weakref.ref[Any]
    op: str
    sites: tuple[Any, ...] = ()
    """The places of the script that made its numbers, and that changed them after that."""
    by: tuple[tuple[str, str], ...] | None = None
    """The arguments that random numbers were drawn by, as `(("p", "0.2"),)`; None where they are the same in each run.
    """


class OfTensor(Protocol):
    """A record that holds its tensor weakly."""

    @property
    def ref(self) -> weakref.ref[Any]:
        """The tensor."""


T = TypeVar("T", bound=OfTensor)


class ById(dict[int, T]):
    """A record of each tensor, by the tensor's id, which Python gives again once the tensor is gone."""

    def of(self, tensor: Any) -> T | None:
        """Return the record of a tensor, if there is one."""
        found = self.get(id(tensor))
        return found if found is not None and found.ref() is tensor else None

    def sweep(self) -> None:
        """Forget the tensors that are gone."""
        for name, held in [*self.items()]:
            if held.ref() is None and self.get(name) is held:
                del self[name]
