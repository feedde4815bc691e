"""Which classes of arrays are not NumPy's own: operations on these go through full dispatch."""

from __future__ import annotations

from .dispatched import Dispatched
from .lazy import Lazy
from .meta import Meta
from .sparse import Coo, Csr

UNUSUAL: set[type] = {Meta, Lazy, Coo, Csr, Dispatched}
"""What the code that is written for an operation hands on to dispatch.py; the arrays of a GPU join them
when one is first asked for."""
BY_OPERATIONS = frozenset((Coo, Csr, Dispatched))
"""What backward computes with by operations, not by kernels."""
