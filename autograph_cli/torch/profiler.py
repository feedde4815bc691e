"""`torch.profiler`: what ran in which steps of a script, by `torch.autograd.profiler`."""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from .autograd.profiler import Collector, EventList, record_function

__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "supported_activities",
    "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(enum.Enum):
    """The devices that PyTorch's profiler records."""

    CPU = 0
    XPU = 1
    CUDA = 3


class ProfilerAction(enum.Enum):
    """The action of a profiler in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """The CPU."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return what to do in which step: after `skip_first` steps `repeat` times (0: on and on) wait, warm up, record.

    >>> [schedule(wait=1, warmup=0, active=2)(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, active - 1, repeat, skip_first) < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if skip_first_wait and step >= 0:
            step += wait
        if step < 0 or (repeat and step // length >= repeat):
            return ProfilerAction.NONE
        step %= length
        if step < wait:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if step < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """An `on_trace_ready` that writes each trace to a file of its own in a folder."""
    if use_gzip:
        raise NotImplementedError("tensorboard_trace_handler: use_gzip is not available in autograph's engine")

    def write(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json"))

    return write


class profile:
    """Notes what runs inside the block, in the steps that `schedule` names if there is one; `step()` begins the next.

    `on_trace_ready(prof)` is called when the last step of a cycle is over.

    >>> from autograph_cli import torch
    >>> x = torch.ones(3)
    >>> with profile() as prof, record_function("sum"):
    ...     _ = x.sum()
    >>> [event.key for event in prof.key_averages()]
    ['sum', 'aten::sum']
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        **options: Any,
    ) -> None:
        self.activities = set(activities) if activities is not None else supported_activities()
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self._steps = schedule is not None
        self._options = record_shapes, profile_memory
        self._collector: Collector | None = None
        self._runs = False
        self._label: record_function | None = None
        self.current_action = ProfilerAction.NONE

    def start(self) -> None:
        """Begin the first step."""
        self._begin(self.schedule(self.step_num))

    def stop(self) -> None:
        """End the last step."""
        self._end(saves=True)

    def step(self) -> None:
        """End a step and begin the next."""
        saves = self.current_action is ProfilerAction.RECORD_AND_SAVE
        following = self.schedule(self.step_num + 1)
        self._unlabel()
        self.step_num += 1
        if saves or (self._runs and following in (ProfilerAction.NONE, ProfilerAction.WARMUP)):
            self._end(saves)
        self._begin(following)

    def _begin(self, action: ProfilerAction) -> None:
        self.current_action = action
        if action in (ProfilerAction.NONE, ProfilerAction.WARMUP):
            return
        if not self._runs:
            self._collector = Collector(*self._options)
            self._collector.start()
            self._runs = True
        if self._steps:
            self._label = record_function(f"ProfilerStep#{self.step_num}")
            self._label.__enter__()

    def _unlabel(self) -> None:
        if self._label is not None:
            self._label.__exit__(None, None, None)
            self._label = None

    def _end(self, saves: bool) -> None:
        self._unlabel()
        if self._runs and self._collector is not None:
            self._runs = False
            self._collector.stop()
            if saves and self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.stop()

    def events(self) -> EventList:
        """All events that were noted last, in the order in which they began."""
        if self._collector is None:
            raise AssertionError("the profiler has not recorded anything yet")
        return self._collector.found()

    def key_averages(self, *args: Any, **options: Any) -> EventList:
        """The events of each name as one."""
        return self.events().key_averages(*args, **options)

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as a file that `chrome://tracing` and Perfetto show."""
        self.events().export_chrome_trace(path)

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> Any:
        """NotImplementedError: stacks are not noted."""
        raise NotImplementedError("torch.profiler.profile.export_stacks is not available in autograph's engine")


def kineto_available() -> bool:
    """False: what runs is timed by Python's own clock."""
    return False
