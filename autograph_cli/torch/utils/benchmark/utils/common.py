"""Measurements of a timer, and their text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

_UNITS = (("ns", 1e-9, "nanosecond"), ("us", 1e-6, "microsecond"), ("ms", 1e-3, "millisecond"), ("s", 1.0, "second"))


@dataclass(frozen=True)
class TaskSpec:
    """The measured task."""

    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement, with the sub-label."""
        name = self.label if self.label is not None else self.stmt
        return f"{name}: {self.sub_label}" if self.sub_label else name


@dataclass
class Measurement:
    """Seconds that runs of a statement took; each of `raw_times` is that of `number_per_run` runs."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Seconds of one run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of `times`."""
        return float(np.median(self.times))

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        return float(np.mean(self.times))

    @property
    def iqr(self) -> float:
        """Return how far the middle half of the times is apart."""
        return float(np.subtract(*np.percentile(self.times, (75, 25))))

    @property
    def significant_figures(self) -> int:
        """Return how many digits of the median the spread of the times leaves standing, 4 at most."""
        spread = max(self.iqr, self.median * 1e-4, 1e-12) / math.sqrt(len(self.times))
        return max(1, min(4, math.floor(math.log10(self.median / spread)))) if self.median else 1

    @property
    def has_warnings(self) -> bool:
        """Return whether the times are too far apart to be trusted."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Return whether the middle half of the times is within this part of the median."""
        return self.iqr / self.median < threshold if self.median else False

    @property
    def title(self) -> str:
        """Return what was measured, in words."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The sub-label, or else the statement."""
        return self.task_spec.sub_label or self.task_spec.stmt

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count = len(self.times)
        lines = [f"<{type(self).__module__}.{type(self).__name__} object at {id(self):#x}>", self.title]
        lines += [f"setup: {self.task_spec.setup}"] if self.task_spec.setup not in ("", "pass") else []
        lines += [f"  Median: {self.median / scale:.2f} {unit}"] if count > 1 else []
        low, high = np.percentile(self.times, (25, 75)) / scale
        lines += [f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})"] if count > 3 else []
        lines += [f"  {self.mean / scale:.2f} {unit}"] if count == 1 else []
        runs = f"{self.number_per_run} runs {'per measurement,' if count > 1 else ','}"
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        return "\n".join([*lines, f"  {count} measurement{'s' if count > 1 else ''}, {runs} {threads}"])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merge those of the same task into one, with the times of all."""
        found: dict[TaskSpec, list[Measurement]] = {}
        for one in measurements:
            found.setdefault(one.task_spec, []).append(one)
        return [Measurement(1, [t for m in group for t in m.times], spec) for spec, group in found.items()]


def select_unit(t: float) -> tuple[str, float]:
    """The unit for a time in seconds, and how long it is.

    >>> select_unit(3e-5)
    ('us', 1e-06)
    """
    short, scale, _ = next((u for u in reversed(_UNITS) if t >= u[1]), _UNITS[0])
    return short, scale


def trim_sigfig(x: float, n: int) -> float:
    """`x` with `n` significant digits.

    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    return float(f"{x:.{max(n, 1) - 1}e}") if math.isfinite(x) else x
