"""`torch.autograd`: backward, grad, custom functions, grad modes and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _missing
from .._core import backward as _backward
from .._core.arguments.overrides import looking as _looking
from . import anomaly_mode, forward_ad, function, grad_mode, graph, variable
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

if TYPE_CHECKING:
    from . import functional as functional, profiler as profiler, profiler_util as profiler_util

__all__ = [
    "Function", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "forward_ad", "function",
    "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode",
    "is_multithreading_enabled", "no_grad", "profiler", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled", "variable",
]  # fmt: skip
backward, grad = _looking(_backward.backward), _looking(_backward.grad)
_AT_NEED = ("functional", "profiler", "profiler_util")


def __dir__() -> list[str]:
    return sorted({*globals(), *_AT_NEED})


def __getattr__(name: str) -> Any:
    if name in _AT_NEED:
        return _missing.load(f"{__name__}.{name}")
    raise _missing.error(__name__, name, globals())
