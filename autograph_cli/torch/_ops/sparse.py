"""What a sparse gradient says of itself; it is made by `embedding(..., sparse=True)` only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.operation import operations
from .._core.registry import composite
from .._core.sparse_rows import Rows
from .._core.tensor import Tensor, make


def _rows(tensor: Tensor, name: str) -> Rows:
    if not isinstance(tensor._raw, Rows):
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got Strided")
    return tensor._raw


def _fact(name: str, ask: Callable[[Rows], Any], doc: str) -> None:
    def run(self: Tensor) -> Any:
        return ask(_rows(self, name))

    run.__name__ = run.__qualname__ = name
    run.__doc__ = doc
    composite(function=False, name=name)(run)


def _need_coalesced(rows: Rows, what: str) -> Rows:
    if not rows.unique:
        raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")
    return rows


_fact("_indices", lambda rows: make(rows.places[None]), "Where the rows are, 1 x n.")
_fact("_values", lambda rows: make(rows.values), "The rows.")
_fact("_nnz", lambda rows: len(rows.places), "How many rows there are.")
_fact("indices", lambda rows: make(_need_coalesced(rows, "indices").places[None]), "Where the rows are, each once.")
_fact("values", lambda rows: make(_need_coalesced(rows, "values").values), "The rows, each once.")
_fact("is_coalesced", lambda rows: rows.unique, "Whether each row is there once.")
_fact("coalesce", lambda rows: make(rows.coalesced()), "The same with each row once, in order.")
_fact("sparse_dim", lambda rows: 1, "1: rows are missing, not columns.")
_fact("dense_dim", lambda rows: len(rows.shape) - 1, "The dimensions of a row.")


@composite(function=False)
def to_dense(self: Tensor) -> Tensor:
    """The same values as an ordinary tensor; itself where it is one."""
    return make(self._raw.dense()) if isinstance(self._raw, Rows) else self


def sparse_text(tensor: Tensor) -> str:
    """`repr` of a sparse tensor."""
    rows: Any = tensor._raw
    lines = []
    for name, raw in (("indices", rows.places[None]), ("values", rows.values)):
        shown = repr(make(raw)).replace(", dtype=torch.int64", "")
        lines.append(f"{name}={shown}".replace("\n", "\n" + " " * (len(name) + 8)))
    lines.append(f"size={tuple(rows.shape)}, nnz={len(rows.places)}, layout=torch.sparse_coo")
    return "tensor(" + ",\n       ".join(lines) + ")"


def _no_recorded(*args: Any) -> Any:
    raise NotImplementedError("sparse gradients cannot be recorded (create_graph=True) in autograph's engine yet")


operations.embedding_sparse_backward = _no_recorded


def no_rows(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Rows:
    """A sparse zero."""
    return Rows(np.empty(0, np.int64), np.empty((0, *shape[1:]), dtype), shape)
