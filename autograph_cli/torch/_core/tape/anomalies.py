"""Messages of anomaly mode for a node whose backward failed or gave nan: where in the forward pass it was created."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._arrays.cuda import on_host
from ..base.user_warnings import warn
from .node import Node
from .tensor import Tensor


@contextmanager
def told(node: Node) -> Iterator[None]:
    """Within the block, an error is preceded by warnings that tell where `node` was made."""
    try:
        yield
    except Exception:
        _tell(node)
        raise


def check_nan(node: Node, grads: Any) -> None:
    """Raise PyTorch's error if a gradient that `node` gave is not a number."""
    for i, g in enumerate(grads):
        raw = g._ag_raw if isinstance(g, Tensor) else g
        if raw is not None and np.isnan(on_host(raw)).any():
            raise RuntimeError(f"Function '{node._ag_name()}' returned nan values in its {i}th output.")


def _tell(node: Node) -> None:
    """Warn with the lines that made `node`, and those that made the nodes whose backward it was made in."""
    lines = node.metadata.get("traceback_")
    _warn(
        f"Error detected in {node._ag_name()}. Traceback of forward call that caused the error:\n{''.join(lines)}"
        if lines
        else f"Error detected in {node._ag_name()}. No forward pass information available. Enable detect "
        "anomaly during forward pass "
        "for more information."
    )
    parent = node.metadata.get("parent_")
    while parent is not None:
        _warn(
            f"\n\nPrevious calculation was induced by {parent._ag_name()}. Traceback of forward call that induced the "
            f"previous calculation:\n{''.join(parent.metadata.get('traceback_') or ())}"
        )
        parent = parent.metadata.get("parent_")


def _warn(text: str) -> None:
    """Warn; where warnings are errors it is printed, for the error that it tells of is the one that comes."""
    try:
        warn(text)
    except Warning as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
