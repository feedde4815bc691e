"""Classes of arrays other than NumPy's: operations on them go through full dispatch."""

from __future__ import annotations

from .dispatched import Dispatched
from .lazy import Lazy
from .meta import Meta
from .sparse import Coo, Csr

UNUSUAL: set[type] = {Meta, Lazy, Coo, Csr, Dispatched}
"""Classes that code written for one operation leaves to dispatch.py; the arrays of a GPU join them when one is first
asked for."""
BY_OPERATIONS = frozenset((Coo, Csr, Dispatched))
"""Classes that backward computes with by operations, not by kernels."""
