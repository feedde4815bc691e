"""The numbers of a tensor as they are kept to be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograph_cli.graph.numbers import kept
from autograph_cli.graph.records import Exact


def exact(raw: Any) -> Exact | None:
    """Return what is kept of the numbers of an array; None for what has none.

    >>> exact(np.float32([1, 2])).data.hex()
    '0000803f00000040'
    """
    dense = getattr(raw, "dense", None)
    array = dense() if callable(dense) else raw
    if not isinstance(array, (np.ndarray, np.generic)) or array.dtype.kind not in "biufcV":
        return None
    return kept(np.asarray(array))
