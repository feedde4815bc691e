"""The way of an operation to the highest level among its arguments."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ..running import dispatch
from ..running.calling import fast_tape
from . import randomness
from .interpreter_stack import belongs_here, below, born_with, refuse_captured
from .transforms import inplace_name, top_level

if TYPE_CHECKING:
    from ..operations.operation import Operation


def interpret(op: Operation, args: tuple[Any, ...], *, inplace: bool = False) -> Any:
    """`op` by the highest level among its arguments, into the first one if `inplace`; NotImplemented if there is
    none."""
    if inplace:
        refuse_captured(args[0], inplace_name(op))
    if op.random:
        found = randomness.run(op, args, inplace=inplace)
        if found is not NotImplemented:
            return found if inplace else belongs_here(found)
    level = top_level(args)
    if level is None:
        return NotImplemented
    with below(level):
        found = level.inplace(op, args) if inplace else level.run(op, args)
    return found if inplace else born_with(args[0], found) if op.view else belongs_here(found)


def interpret_out(op: Operation, args: tuple[Any, ...], out: Any) -> Any:
    """NotImplemented where no level is among the arguments; else the error that `out=` is not for it."""
    level = top_level((*args, out))
    if level is None:
        return NotImplemented
    raise level.refuse_out(op.name)


if fast_tape() is not None:
    dispatch.Transforms.plain = fast_tape().run
dispatch.Transforms.operation = staticmethod(interpret)
dispatch.Transforms.inplace = staticmethod(functools.partial(interpret, inplace=True))
dispatch.Transforms.out = staticmethod(interpret_out)
