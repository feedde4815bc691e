"""The numbers of a tensor as a record: all of them if they are few, else what sums them up."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograph_cli.graph import Values

FEW = 16
"""The most numbers that are kept whole."""
BINS = 16
BLOCK = 1 << 13
"""Numbers that are laid out in bins at once, which stay near the processor."""


def summary(raw: Any) -> Values | None:
    """Return what is recorded of the numbers of an array; None for what has none.

    >>> summary(np.array([[1.0, 2.0], [0.5, -0.0]])).whole
    ('[[1, 2],', ' [0.5, 0]]')
    """
    dense = getattr(raw, "dense", None)
    array = dense() if callable(dense) else raw
    if not isinstance(array, (np.ndarray, np.generic)) or array.dtype.kind not in "biufcV":
        return None
    array = np.asarray(array)
    if array.size <= FEW:
        return Values(whole=tuple(_rows(array)), count=array.size)
    with np.errstate(all="ignore"):
        return _of_many(array)


def alike(raw: Any) -> tuple[int, ...]:
    """The dimensions, of the first two of several, along which all parts of an array are equal.

    >>> alike(np.array([[1.0, 2.0], [1.0, 2.0]])), alike(np.zeros((3, 2))), alike(np.zeros(3))
    ((0,), (0, 1), ())
    """
    if not isinstance(raw, np.ndarray) or raw.ndim < 2 or raw.dtype.kind not in "fcV":
        return ()
    turned = [(dim, raw.swapaxes(0, dim)) for dim in (0, 1) if raw.shape[dim] > 1]
    return tuple(dim for dim, parts in turned if (parts[0] == parts[1]).all() and (parts == parts[0]).all())


def is_finite(raw: Any) -> bool:
    """Return whether none of the numbers of an array is NaN or infinite; of what has no numbers here, that is so."""
    if not isinstance(raw, (np.ndarray, np.generic)) or raw.dtype.kind not in "fcV":
        return True
    return bool(np.isfinite(raw).all())


def _of_many(array: Any) -> Values:
    numbers = (np.abs(array) if array.dtype.kind == "c" else array.astype(np.float64)).ravel()
    total = numbers.sum()
    # Most sums are finite, and so are their numbers: to look for others takes longer than all that follows.
    known = numbers if np.isfinite(total) else numbers[~np.isnan(numbers)]
    nans = int(numbers.size - known.size)
    if not known.size:
        return Values(count=numbers.size, nans=nans)
    finite = known if np.isfinite(total) else known[np.isfinite(known)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    roomy = abs(high) * 1e-9 < high - low < np.inf  # else there are no parts from the lowest to the highest
    counts = _counted(finite, low, high) if roomy else ()
    ends = (low, high) if finite.size == known.size else (known.min(), known.max())
    return Values(
        (),
        number_text(ends[0]),
        number_text(known.mean()),
        number_text(ends[1]),
        numbers.size,
        int(known.size - np.count_nonzero(known)),
        nans,
        tuple(map(int, counts)),
        number_text(np.sqrt(np.square(known).sum())),
    )


def _counted(finite: Any, low: float, high: float) -> Any:
    """Return how many are laid out in each of the bins, which are equal parts from the lowest to the highest."""
    counts, scale = np.zeros(BINS, np.intp), BINS / (high - low)
    for at in range(0, finite.size, BLOCK):
        positions = ((finite[at : at + BLOCK] - low) * scale).astype(np.intp)
        counts += np.bincount(np.minimum(positions, BINS - 1), minlength=BINS)
    return counts


def _rows(array: Any) -> list[str]:
    """The numbers in brackets, a line for each row of the last dimension but one."""
    if array.ndim < 2:
        return [_row(array)]
    lines: list[str] = []
    for part in array:
        lines += _rows(part)
    if not lines:
        return ["[]"]
    lines = [f" {line}" for line in lines]
    step = len(lines) // len(array)
    lines = [f"{line}," if number % step == step - 1 else line for number, line in enumerate(lines)]
    return [f"[{lines[0][1:]}", *lines[1:-1], f"{lines[-1][:-1]}]"] if len(lines) > 1 else [f"[{lines[0][1:-1]}]"]


def _row(array: Any) -> str:
    if array.ndim == 0:
        return number_text(array[()])
    return f"[{', '.join(map(number_text, array))}]"


def number_text(number: Any) -> str:
    """A number with four digits that count.

    >>> number_text(0.123456), number_text(np.float32(-0.0)), number_text(np.bool_(True)), number_text(1e-9 + 2j)
    ('0.1235', '0', 'True', '1e-09+2j')
    """
    if isinstance(number, (bool, np.bool_)):
        return str(bool(number))
    if isinstance(number, (complex, np.complexfloating)):
        imaginary = number_text(number.imag)
        return f"{number_text(number.real)}{'' if imaginary[0] == '-' else '+'}{imaginary}j"
    if isinstance(number, (int, np.integer)):
        return str(int(number))
    return f"{float(number) + 0.0:.4g}"
