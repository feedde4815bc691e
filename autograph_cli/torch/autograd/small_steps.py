"""Shared parts of checks by small steps: the steps, directions, and the error."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays.cuda import moved as on_device
from .._core.base import dtypes
from .._core.tape.tensor import Tensor, make

BATCHED = (
    "a batch of gradients (or tangents), computed at once by vmap, differs from the same computed one by one. To leave "
    "this check out: check_batched_grad=False (check_batched_forward_grad=False)."
)


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck`."""


GradcheckError.__module__ = f"{__package__}.gradcheck"


def as_tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else tuple(x) if isinstance(x, list) else (x,)


def holds_complex(x: Tensor) -> bool:
    return bool(dtypes.CATEGORY[x._ag_raw.dtype] == dtypes.COMPLEX)


def unit_steps(x: Tensor) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Every element's index and the unit steps from it: one, and one along the imaginary axis."""
    moves = (1, 1j) if holds_complex(x) else (1,)
    for index in itertools.product(*map(range, x._ag_raw.shape)):
        yield index, moves


def moved(x: Tensor, kept: Any, index: Any, by: Any) -> None:
    """Move an element of `x` (all, where the index is `...`) away from its kept value, in its own memory."""
    if isinstance(kept, np.generic):
        x._ag_raw = kept.dtype.type(kept + by)
    else:
        x._ag_raw[index] = kept[index] + (on_device(by, x.device) if isinstance(by, np.ndarray) else by)


def put_back(x: Tensor, kept: Any) -> None:
    if isinstance(kept, np.generic):
        x._ag_raw = kept
    else:
        x._ag_raw[...] = kept


def mismatch(output: int, position: int, analytical: Any, numerical: Any, fast: bool) -> str:
    shown = (numerical, analytical) if fast else (make(numerical), make(analytical))
    return (
        f"Jacobian mismatch for output {output} with respect to input {position},\n"
        f"numerical:{shown[0]}\nanalytical:{shown[1]}\n"
    )


class Directions:
    """Fast mode: a Jacobian is compared by one number, its product with a random direction on either side."""

    def __init__(self) -> None:
        self._draw = np.random.default_rng(0)
        self._of_input: dict[int, Any] = {}
        self._of_output: dict[int, Any] = {}

    def _unit(self, size: int) -> Any:
        drawn = self._draw.random(size)
        return drawn / np.linalg.norm(drawn) if size else drawn

    def steps(self, x: Tensor) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        direction = self._of_input.setdefault(id(x), self._unit(x._ag_raw.size)).reshape(x._ag_raw.shape)
        yield ..., ((direction, 1j * direction) if holds_complex(x) else (direction,))

    def project(self, x: Tensor, analytical: Any, numerical: Any) -> tuple[Any, Any, float]:
        """Both sides as numbers, and how much larger than one element they may be."""
        size = analytical.shape[1]
        across = self._of_output.setdefault(size, self._unit(size))
        along = self._of_input[id(x)]
        # The two real directions of a complex input give the same combination that the gradient has.
        return (along @ analytical @ across)[()], (numerical[0] @ across)[()], float(along.sum() * across.sum())
