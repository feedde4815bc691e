"""`torch.utils.benchmark`: times of small pieces of code, measured by `timeit`."""

from .utils.common import Measurement, TaskSpec, select_unit, trim_sigfig
from .utils.compare import Compare
from .utils.timer import Timer, timer

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig"]
