"""`torch.__config__`: what the engine is built on, in words."""

from __future__ import annotations

import numpy as np

from ._settings import get_num_interop_threads, get_num_threads
from .version import __version__


def show() -> str:
    """The versions of what computes.

    >>> print(show())  # doctest: +ELLIPSIS
    PyTorch 2.13.0+autograph: autograph's engine
      - NumPy ...
    """
    return f"PyTorch {__version__}: autograph's engine\n  - NumPy {np.__version__}\n"


def parallel_info() -> str:
    """Return how many threads share products of matrices and large arrays."""
    return (
        f"ATen/Parallel:\n\tat::get_num_threads() : {get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
    )
