"""`torch.utils.benchmark`: times of small pieces of code, measured by `timeit`."""

from .compare import Compare
from .measurement import Measurement, TaskSpec, select_unit, trim_sigfig
from .timer import Timer, timer

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig"]
