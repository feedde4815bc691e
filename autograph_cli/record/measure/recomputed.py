"""Operations and their gradients in float64, from the numbers that they were given: what is rounding, and what not."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autograph_cli.engines.protocol import Measuring
from autograph_cli.graph.numbers import apart, kept, numbers
from autograph_cli.graph.records import Exact, Flow
from autograph_cli.record.measure.finite_difference import Call, CannotCheck, in_float64, mapped, tensors_in

if TYPE_CHECKING:
    from autograph_cli.record.measure.node_checks import Point


def deviation(engine: Measuring, point: Point, made: Sequence[Exact | None], flow: Flow | None) -> list[float | None]:
    """Return the error of an operation's results against float64, and of the gradients that it sent on, relative to the
    largest number; None if it is not known, as of random numbers and of large tensors."""
    torch = engine.namespace
    try:
        with engine.unseen(), warnings.catch_warnings(), torch.enable_grad(), in_float64(torch, point.given.held):
            warnings.simplefilter("ignore")
            call = Call(torch, point.function, point.given, math.inf)
            first, again = _results(call), _results(call)
            if not _same(torch, first, again):
                return [None, None]
            sent = None if flow is None or point.custom else _sent(torch, call, first, flow)
            return [_off(engine, first, made), None if sent is None or flow is None else _off(engine, *sent)]
    except (CannotCheck, RuntimeError, TypeError, ValueError):  # an operation that float64 is not for
        return [None, None]


def _results(call: Call) -> list[Any]:
    args, words = mapped(call.torch, (call.args, call.words), call.fresh)
    return list(tensors_in(call.torch, call.function(*args, **words)))


def _same(torch: Any, first: Sequence[Any], again: Sequence[Any]) -> bool:
    return len(first) == len(again) and all(
        torch.equal(torch.nan_to_num(one.detach()), torch.nan_to_num(other.detach()))
        for one, other in zip(first, again, strict=True)
    )


def _sent(torch: Any, call: Call, results: Sequence[Any], flow: Flow) -> tuple[list[Any], list[Exact | None]] | None:
    """The gradients by what an operation was given, and those that were sent on; None where it is not known which is
    which."""
    pairs = [
        (x, torch.tensor(numbers(given)).reshape(x.shape))
        for x, given in zip(results, flow.given, strict=False)
        if given is not None and given.data and x.requires_grad
    ]
    inputs = [x for x in call.inputs.values() if x.requires_grad]
    sent = [each for each in flow.sent if each is not None]
    if not pairs or len(inputs) != len(sent):
        return None
    outputs, gradients = zip(*pairs, strict=True)
    found = torch.autograd.grad(outputs, inputs, gradients, allow_unused=True)
    return None if any(g is None for g in found) else (list(found), [*sent])


def _off(engine: Any, exact: Sequence[Any], made: Sequence[Exact | None]) -> float | None:
    """The largest relative difference."""
    if len(exact) != len(made):
        return None
    found = []
    for x, each in zip(exact, made, strict=True):
        array = engine.array(x.detach())
        gap = None if each is None or not each.data or array is None else apart(kept_whole(array), each)
        if gap is not None and math.isfinite(gap.relative):
            found.append(gap.relative)
    return max(found, default=None)


def kept_whole(array: Any) -> Exact:
    """All numbers of an array, however many."""
    whole = kept(array)
    return whole if whole.data else Exact("f8", array.size, array.astype("f8").tobytes())
