"""`gradcheck` in forward mode: each tangent beside a finite difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays.cuda import moved, on_host
from .._core.tape.tensor import Tensor, make
from .._core.transforms.forward import joined, paired
from .._core.transforms.interpreter_stack import DualLevel, running
from .._core.transforms.reverse import split
from .._core.transforms.transforms import dual
from .._functorch.vmap import vmap
from .small_steps import BATCHED, Directions, GradcheckError, as_tuple, mismatch, unit_steps

if TYPE_CHECKING:
    from .gradcheck import _Check


def run(check: _Check, batched: bool) -> None:
    """Compare `J t` for each unit tangent (in fast mode, one direction) of each input; GradcheckError where they
    differ."""

    for j, x in enumerate(check.wanted):
        directions = Directions() if check.fast else None
        steps = unit_steps(x) if directions is None else directions.steps(x)
        moves = [(index, move) for index, several in steps for move in several]
        numerical = [check._difference(x, index, move, lambda: values(check)) for index, move in moves]
        tangents = [tangent(x, index, move) for index, move in moves]
        analytical = [[on_host(pushed._ag_raw).reshape(-1) for pushed in push(check, j, t)] for t in tangents]
        for i in range(len(numerical[0]) if numerical else 0):
            a, n = (np.array([row[i] for row in rows]) for rows in (analytical, numerical))
            if not np.allclose(a, n, rtol=check.rtol, atol=check.atol):
                raise GradcheckError(mismatch(i, j, a, n, False))
        if batched and tangents:
            together = vmap(lambda t, j=j: push(check, j, t))(
                make(moved(np.stack([on_host(t._ag_raw) for t in tangents]), x.device))
            )
            for i, pushed in enumerate(together):
                if not np.allclose(
                    on_host(pushed._ag_raw).reshape(len(tangents), -1),
                    [row[i] for row in analytical],
                    check.rtol,
                    check.atol,
                ):
                    raise GradcheckError(f"For output {i} and input {j}: {BATCHED}")


def floating(outputs: Any) -> tuple[Tensor, ...]:
    """The outputs that can have tangents."""

    return tuple(o for o in as_tuple(outputs) if o.dtype.is_floating_point or o.dtype.is_complex)


def values(check: _Check) -> list[Any]:
    """The raw values of these outputs now."""
    return [np.array(on_host(o._ag_raw)) for o in floating(check.func(*check.inputs))]


def tangent(x: Tensor, index: Any, move: Any) -> Tensor:
    """A tangent that is `move` at one element, and 0 elsewhere."""
    raw = np.zeros(x._ag_raw.shape, x._ag_raw.dtype)
    raw[index] = move
    return make(moved(raw[()], x.device))


def push(check: _Check, j: int, t: Tensor) -> tuple[Tensor, ...]:
    """The tangents of all outputs along a tangent of one input."""
    with running(DualLevel(by_hand=True)) as level:
        chosen = check.wanted[j]
        outputs = floating(check.func(*(dual(level, *paired(x, t)) if x is chosen else x for x in check.inputs)))
        pairs = [split(level, y) for y in joined(level, outputs)]
    return tuple(
        make(moved(np.zeros(p._ag_raw.shape, p._ag_raw.dtype)[()], p.device)) if s is None else s for p, s in pairs
    )
