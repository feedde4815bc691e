"""Random numbers under vmap: an error, the same for each sample, or different ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.state import thread_state
from ..operations.operation import operations, table
from ..running import dispatch
from ..running.inplace import run_inplace
from ..tape.tensor import Tensor, make
from . import batching
from .interpreter_stack import BatchLevel, below
from .transforms import batched

if TYPE_CHECKING:
    from ..operations.operation import Operation

NO_RANDOMNESS = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
NOT_THE_SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)
NOT_DIFFERENT = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
    "If this is necessary for your usage, please file an issue with functorch."
)


def innermost() -> BatchLevel | None:
    """The vmap that says what random numbers are."""
    result = next((level for level in reversed(thread_state.levels) if isinstance(level, BatchLevel)), None)
    if result is not None and result.randomness == "error":
        raise RuntimeError(NO_RANDOMNESS)
    return result


def drawn(shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], Any]) -> Tensor:
    """Random numbers of a shape, where `draw` gives an array of any shape: for each sample, or once for all."""
    level = innermost()
    if level is None:
        return make(draw(shape))
    with below(level):
        if level.randomness == "same":
            return drawn(shape, draw)
        return batched(level, drawn((level.size, *shape), draw), 0)


def drawn_each(draw: Callable[[], Any]) -> Tensor:
    """Random numbers that are drawn as a whole, such as a permutation: sample after sample, or once for all."""
    level = innermost()
    if level is None:
        return make(draw())
    with below(level):
        if level.randomness == "same":
            return drawn_each(draw)
        return batched(level, operations.stack([drawn_each(draw) for _ in range(level.size)], 0), 0)


def run(op: Operation, args: tuple[Any, ...], inplace: bool = False) -> Any:
    """A random operation under a vmap; NotImplemented if a transform within that vmap has to see it first."""
    level = innermost()
    if level is None or any(getattr(x, "_ag_level", level).depth > level.depth for x in args if isinstance(x, Tensor)):
        return NotImplemented
    with below(level):
        call = batching.opened(level, op, args)
        if inplace or op.name.endswith("_"):
            return _inplace(level, call, args[0])
        if level.randomness == "same":
            if any(call.marks):
                raise RuntimeError(NOT_THE_SAME)
            return _lower(op, tuple(call.args))
        full = call.every(lambda t, mark: batching.expanded(t, mark, call.size))
        rank = max(call.ranks())
        full = [batching.raised(t, True, rank) if isinstance(t, Tensor) else t for t in full]
        return batched(level, _lower(op, tuple(full)), 0)


def _lower(op: Operation, args: tuple[Any, ...]) -> Any:
    return dispatch.run(op, args)


def _inplace(level: BatchLevel, call: Any, target: Tensor) -> Tensor:
    value = call.args[0]
    others = any(call.marks[1:])
    if level.randomness == "same":
        if others:
            raise RuntimeError(NOT_THE_SAME)
        if not call.marks[0]:
            run_inplace(call.op, tuple(call.args))
            return target
        once = run_inplace(call.op, (operations.zeros_of(value._ag_raw.shape[1:], value), *call.args[1:]))
        run_inplace(table["copy"], (value, once))
        return target
    if not call.marks[0]:
        raise RuntimeError(batching.refusal(call.op, value, ()) if others else NOT_DIFFERENT)
    run_inplace(call.op, (value, *batching.aligned(call)[1:]))
    return target
