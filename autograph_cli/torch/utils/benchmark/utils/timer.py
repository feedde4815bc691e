"""Runs a statement often enough to say how long it takes."""

from __future__ import annotations

import sys
import textwrap
import timeit as timeit_module
from collections.abc import Callable
from typing import Any

from ...._settings import get_num_threads, set_num_threads
from .common import Measurement, TaskSpec

timer = timeit_module.default_timer
torch = sys.modules[__name__.partition(".utils")[0]]


class Timer:
    """Measures `stmt` after `setup`; `globals` are the names that they use.

    >>> from autograph_cli import torch
    >>> x = torch.ones(3)
    >>> Timer("x + x", globals={"x": x}).timeit(10).number_per_run
    10
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(getattr(language, "name", language)).lower() not in ("python", "py") or global_setup:
            raise NotImplementedError("torch.utils.benchmark.Timer: only Python is measured in autograph's engine")
        if not isinstance(stmt, str):
            raise ValueError("torch.utils.benchmark.Timer: stmt must be a string")
        stmt, setup = (textwrap.dedent(text).strip() for text in (stmt, setup))
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)
        self._timer = timeit_module.Timer(stmt, setup, timer, {"torch": torch, **(globals or {})})

    def _run(self, number: int) -> float:
        threads = get_num_threads()
        set_num_threads(self._task_spec.num_threads)
        try:
            return self._timer.timeit(number)
        finally:
            set_num_threads(threads)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """The time of `number` runs, after a hundredth as many to warm up."""
        self._run(max(number // 100, 2))
        return self._measured(number, [self._run(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> Any:
        """Not in PyTorch either."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> Any:
        """Not in PyTorch either."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block(self, min_run_time: float) -> int:
        """Return how many runs make a block so long that the clock's own time does not matter."""
        number = 1
        while (took := self._run(number)) < max(min_run_time / 1000, 1e-4) and took < min_run_time:
            number *= 10
        return number

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Blocks of runs until they have taken `min_run_time` seconds together."""
        times: list[float] = []
        number = self._block(min_run_time)
        while not times or sum(times) < min_run_time:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return self._measured(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Blocks of runs until their times agree within `threshold`, or `max_run_time` seconds are over."""
        times: list[float] = []
        number = self._block(min_run_time)
        while sum(times) < max_run_time:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
            if (
                sum(times) >= min_run_time
                and len(times) > 3
                and self._measured(number, times).meets_confidence(threshold)
            ):
                break
        return self._measured(number, times)

    def collect_callgrind(self, *args: Any, **options: Any) -> Any:
        """NotImplementedError: instructions are not counted."""
        raise NotImplementedError(
            "torch.utils.benchmark.Timer.collect_callgrind is not available in autograph's engine: use "
            "blocked_autorange"
        )
