"""The place where the numbers of two runs part first, in code and in tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autograph_cli import in_code
from autograph_cli.graph import Trace
from autograph_cli.graph.divergence import Divergence, divergence
from autograph_cli.record.log.steps import COMPARED
from autograph_cli.record.run import store


def first_divergence(a: Any, b: Any, rtol: float = 0.0) -> Divergence:
    """Return where two runs part first, as `autograph diff --values` looks for it.

    Each is what `autograph_cli.record(record=("values",))` made, a trace or its file, or a function without arguments,
    which is called and recorded. A relative difference of `rtol` is none, nor is one that rounding explains.

    >>> from autograph_cli import torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> found = first_divergence(lambda: (w * 2).sum().backward(), lambda: (w * 2.5).sum().backward())
    >>> found
    <Divergence: parted, operation>
    """
    return divergence(_trace(a), _trace(b), rtol=rtol)


def assert_same_numbers(a: Any, b: Any, rtol: float = 0.0) -> None:
    """Raise `AssertionError` with the first operation or gradient that parts, unless two runs compute the same numbers;
    they are what `first_divergence` takes. What cannot be compared fails too.

    >>> from autograph_cli import torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> assert_same_numbers(lambda: (w * 2).sum().backward(), lambda: (w + w).sum().backward())
    """
    found = first_divergence(a, b, rtol)
    if found.verdict not in ("equal", "rounding"):
        raise AssertionError(str(found))


def _trace(run: Any) -> Trace:
    if isinstance(run, (str, Path)):
        return store.load(Path(run))
    if isinstance(run, Trace):
        return run
    if isinstance(run, in_code.Recording):
        return run.trace
    if not callable(run):
        raise TypeError("A run is a recording, a trace, the file of one, or a function that is called and recorded.")
    with in_code.record(COMPARED, record=("values",)) as recording:
        run()
    return recording.trace
