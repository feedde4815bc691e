"""`torch.profiler`: the label on a block of code; profiles are not taken."""

from __future__ import annotations

from .autograd.profiler import record_function

__all__ = ["record_function"]
