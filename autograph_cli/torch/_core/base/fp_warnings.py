"""NumPy's floating point errors: silent where the engine computes, as PyTorch is, and warnings everywhere else.

NumPy hands them to `log` instead of warning, which costs nothing while there are none. It passes on what other
code computes, so that whoever divides an array of his own by zero is told as ever; and no filter of his makes the
engine fail.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Literal

import numpy as np

from ..._compiled import compiled

_NUMPY = os.path.dirname(np.__file__) + os.sep
_ENGINE = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep


def is_computing() -> bool:
    """Return whether the compiled tape computes, which leaves no frame of the engine's."""
    tape = compiled("_core.running.fast_tape")
    return tape is not None and bool(tape.is_computing())


class _Log:
    """The object that NumPy writes its errors to."""

    def write(self, text: str) -> None:
        """Warn, in NumPy's words and from the line that computed, unless that is one of the engine's."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_NUMPY):
            frame = frame.f_back
        if not frame.f_code.co_filename.startswith(_ENGINE) and not is_computing():
            warnings.warn(text.removeprefix("Warning: ").rstrip("\n"), RuntimeWarning, stacklevel=2)


log = _Log()


def install() -> None:
    """Take the place of NumPy's warnings in this thread; other settings than warnings are left as they are."""
    modes: dict[str, Literal["log"]] = {kind: "log" for kind, mode in np.geterr().items() if mode == "warn"}
    if modes and np.geterrcall() is None:
        np.seterrcall(log)
        np.seterr(**modes)
