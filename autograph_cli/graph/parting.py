"""One place at which the numbers of two recorded steps part."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autograph_cli.graph.numbers import SAME, Apart
from autograph_cli.graph.source import Source

Kind = Literal["state", "operation", "part", "formula", "hook", "cut", "seed", "graph"]


class Parting(Struct, frozen=True):
    """One place at which numbers part that hang on nothing that parted before."""

    kind: Kind
    """`state`: a leaf or an input. `operation`: an operation on the same numbers. `part`: several operations, of which
    not each has a like. `formula`: the backward of a node. `hook`: a hook of a tensor. `cut`: a gradient that goes on
    in one graph only. `seed`: what a backward call was given. `graph`: a call of which one run alone keeps a graph."""
    time: float
    old: int | None = None
    new: int | None = None
    apart: Apart = SAME
    eps: float = 0.0
    nr: int = 0
    """The output, or the position in `next`."""
    pass_id: int | None = None
    olds: tuple[int, ...] = ()
    """The operations of a `part` in the old graph."""
    news: tuple[int, ...] = ()
    """The operations of a `part` in the new graph."""
    later: bool = False
    """For a `part`: true if it begins later in the old graph, which may have nothing of it."""
    ends: int | None = None
    """For a `cut`: the node that ends the history, in the graph in which no gradient goes on."""
    lost: bool = False
    """For a `cut`: true if the new graph is the one in which no gradient goes on."""
    hooks: tuple[Source, ...] = ()
    """For a `hook`: the lines that registered those that the tensor has in one run only."""

    @property
    def backward(self) -> bool:
        """Return whether it is in a backward call."""
        return self.pass_id is not None
