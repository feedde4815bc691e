"""Results of kernels are laid out row by row, by compiled code or without it."""

from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._core.base import memory_format

_ROWS = np.arange(6.0).reshape(2, 3)
RESULTS = {
    "rows": _ROWS,
    "columns": _ROWS.T,
    "one row": np.lib.stride_tricks.as_strided(_ROWS[0], (1, 3), (8, 8)),
    "empty": np.empty((0, 3)),
    "number": np.float32(2),
    "no dimension": np.array(2.0),
    "both": (_ROWS, _ROWS + 1),
    "one of them": (_ROWS, _ROWS.T, np.array(1)),
    "nothing": (),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("raw", RESULTS.values(), ids=list(RESULTS))
def test_results_are_laid_out_row_by_row(monkeypatch: Any, raw: Any, compiled: bool) -> None:
    if not compiled:
        monkeypatch.setattr(memory_format, "_fast", None)
    given: list[Any] = []
    found = memory_format.arranged("contiguous", lambda *args: given.extend(args) or raw)(np.array(3.0), 4)
    assert isinstance(given[0], np.generic) and given == [3.0, 4]
    assert isinstance(found, tuple) == isinstance(raw, tuple)
    for one, wanted in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, raw)), strict=True):
        assert one.shape == wanted.shape and one.dtype == wanted.dtype and np.array_equal(one, wanted)
        assert not one.size or one.strides == np.ascontiguousarray(wanted).reshape(wanted.shape).copy().strides
