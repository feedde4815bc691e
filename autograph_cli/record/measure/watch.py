"""A few numbers of each parameter in each step: of its gradient, its values, and its update."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograph_cli.engines.protocol import key_of
from autograph_cli.graph.records import Number
from autograph_cli.graph.trace import Watched
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import BackwardEvent
from autograph_cli.record.names.variables import tensors_in

KINDS = ("gradients", "values", "updates")
"""The kinds of numbers that can be watched."""
MOST = 2_000
"""Steps whose numbers are kept of one parameter; of a longer run every second one, then every fourth, and so on."""
_DIGITS = 6


@dataclass(slots=True)
class _Parameter:
    """The numbers seen of one parameter."""

    ref: weakref.ref[Any]
    name: str
    rows: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)
    step: int = 0
    """The last step that it was in, if that is one whose numbers are kept."""
    before: Any = None
    """Its values then, for the update that follows."""


class Watch:
    """Follows parameters from step to step: by their names, for a script may make a new tensor for each step."""

    def __init__(self, log: EventLog, kinds: Collection[str]) -> None:
        self._log, self._engine, self._kinds = log, log.engine, frozenset(kinds)
        self._known: dict[str | int, _Parameter] = {}
        """By name, or by the id of what has none."""
        self._every = 1

    def begins(self) -> None:
        """A backward pass is about to end the step: its leaves have been updated since their last one."""
        for name, _, leaf in self._leaves():
            known = self._known.get(name or id(leaf))
            if known is not None:
                self._updated(known, leaf)

    def ends(self, entry: BackwardEvent, found: Sequence[Any] | None, step: int) -> None:
        """Look at the leaves to which a backward call gave a gradient; a `grad` call has `found` them."""
        if step % self._every:
            return
        captured = {key_of(x): g for x, g in zip(entry.inputs or (), found or (), strict=False) if x is not None}
        for name, key, leaf in self._leaves():
            grad = captured.get(key) if entry.call == "grad" else leaf.grad if key in entry.ran else None
            if grad is None:
                continue
            known = self._known.setdefault(name or id(leaf), _Parameter(weakref.ref(leaf), name))
            known.ref = weakref.ref(leaf)
            self._look(known, leaf, grad, step)
        if any(len(rows) > MOST for known in self._known.values() for rows in known.rows.values()):
            self._thin()

    def _leaves(self) -> Iterator[tuple[str, int, Any]]:
        """The name, the key and the tensor of each leaf of the step that is there."""
        for key, ref in [*self._log.step.leaves.items()]:
            leaf = ref()
            if leaf is not None:
                yield next(iter(self._log.names_of(key)), ""), key, leaf

    def finish(self, scope: Mapping[str, Any]) -> None:
        """The script is over; its variables may hold a new tensor by a name that is known."""
        named = [
            pair for name, value in list(scope.items()) for pair in tensors_in(name, value, cls=self._engine.tensor)
        ]
        now = dict(named)
        for known in self._known.values():
            leaf = now.get(known.name, known.ref())
            if leaf is not None:
                self._updated(known, leaf)

    def watched(self) -> tuple[Watched, ...]:
        """All that was seen, by parameter in the order in which they were met; what has no name is numbered."""
        return tuple(
            Watched(
                known.name or f"parameter {number}", kind, tuple([tuple(map(Number, row)) for row in known.rows[kind]])
            )
            for number, known in enumerate(self._known.values())
            for kind in KINDS
            if known.rows.get(kind)
        )

    def _look(self, known: _Parameter, leaf: Any, grad: Any, step: int) -> None:
        values = np.asarray(self._engine.array(leaf))
        if values.dtype.kind not in "fcV":
            return
        if "gradients" in self._kinds and grad is not None:
            known.rows.setdefault("gradients", []).append((step, *_numbers(self._engine.array(grad))))
        if "values" in self._kinds:
            known.rows.setdefault("values", []).append((step, *_numbers(values)))
        if "updates" in self._kinds:
            known.step, known.before = step, np.array(values, copy=True)

    def _updated(self, known: _Parameter, leaf: Any) -> None:
        """Note how a parameter has changed since the last step that it was in."""
        if known.before is None:
            return
        before, known.before = known.before, None
        now = np.asarray(self._engine.array(leaf))
        if now.shape != before.shape:
            return
        with np.errstate(all="ignore"):
            change = _wide(now) - _wide(before)
            norm = _norm(np.abs(_wide(before)))
            ratio = _norm(np.abs(change)) / norm if norm else 0.0
        known.rows.setdefault("updates", []).append((known.step, *_numbers(change), _rounded(ratio)))

    def _thin(self) -> None:
        self._every *= 2
        for known in self._known.values():
            for kind, rows in known.rows.items():
                known.rows[kind] = [row for row in rows if not row[0] % self._every]


def _wide(array: Any) -> Any:
    """The numbers in double precision."""
    return np.asarray(array).astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _norm(sizes: Any) -> float:
    """The root of the sum of squares; BLAS, by which NumPy takes it, would wake its threads for each parameter."""
    return float(np.sqrt(np.square(sizes).sum()))


def _numbers(array: Any) -> tuple[float, ...]:
    """The norm, the mean, the largest absolute number and the share of zeros."""
    numbers = _wide(np.asarray(array)).ravel()
    if not numbers.size:
        return (0.0, 0.0, 0.0, 0.0)
    with np.errstate(all="ignore"):
        sizes = np.abs(numbers)
        found = _norm(sizes), numbers.mean().real, sizes.max(), np.count_nonzero(sizes == 0) / sizes.size
    return tuple(map(_rounded, found))


def _rounded(number: Any) -> float:
    return float(f"{float(number):.{_DIGITS}g}")
