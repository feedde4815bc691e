"""Assertions on graphs, findings and derivatives, for any test framework."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from autograph_cli.findings import explain
from autograph_cli.findings.formats import text
from autograph_cli.findings.read import scripts_of
from autograph_cli.graph import Graph, Step, Trace
from autograph_cli.graph.compared import results
from autograph_cli.graph.diff import DEFAULT_PARTS, diff
from autograph_cli.record.capture import capture
from autograph_cli.record.graphs import pytorch
from autograph_cli.record.measure.finite_difference import CannotCheck, Checked, Given, check, tensors_in


def assert_same_graph(actual: Any, expected: Any) -> None:
    """Raise `AssertionError` with a review of the differences unless both have the same graph.

    Each is a `Graph`, tensors, or a function that makes them. Names of variables are no difference.

    >>> from autograph_cli import torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> assert_same_graph((x * 2).sum(), (x * 3).sum())
    """
    found = diff(_graph(expected), _graph(actual))
    if found:
        told = "\n".join(f"  {sentence}" for sentence in found.sentences)
        raise AssertionError(f"The graphs differ:\n{told}\n\n{found.to_text()}")


def assert_no_findings(recorded: Any, *, select: Collection[str] = (), ignore: Collection[str] = ()) -> None:
    """Raise `AssertionError` with what `autograph explain` would say, if that is anything.

    `recorded` is what `autograph_cli.record()` made, whose values are needed for some findings (`record=("values",)`),
    or a trace, or tensors, whose graph alone is looked at. `select` and `ignore` are codes or beginnings of codes.

    >>> from autograph_cli import record, torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> with record(record=("values",)) as recording:
    ...     (w * 2).sum().backward()
    >>> assert_no_findings(recording)
    """
    trace = recorded if isinstance(recorded, Trace) else getattr(recorded, "trace", None)
    if not isinstance(trace, Trace):
        trace = Trace("", (Step(0, recorded if isinstance(recorded, Graph) else capture(recorded)),))
    caller = Path(sys._getframe(1).f_code.co_filename)
    found = explain(trace, scripts_of(trace, caller), select=select, ignore=ignore)
    if found:
        raise AssertionError(f"{len(found)} finding{'s' * (len(found) != 1)}:\n\n{text(found)}")


def assert_gradients(function: Callable[..., Any], inputs: Any, order: int = 2) -> None:
    """Raise `AssertionError` unless the derivatives of a function, up to this order, are those of finite differences.

    `inputs` is a tensor, or a sequence of arguments; those that require grad are varied, in float64, or all if none
    does. What cannot be compared, as a function that gives other numbers each time, fails too.

    >>> from autograph_cli import torch
    >>> assert_gradients(torch.sin, torch.tensor([0.5, 2.0]), order=3)
    """
    args = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    torch: Any = sys.modules.get("torch") if any(map(pytorch.is_tensor, args)) else None
    torch = torch or importlib.import_module("autograph_cli.torch")
    if next(tensors_in(torch, args), None) is None:
        raise TypeError("assert_gradients() takes a function and its arguments, at least one of which is a tensor.")
    name = getattr(function, "__name__", type(function).__name__)
    try:
        found = check(torch, name, function, Given.of(torch, args), order)
    except CannotCheck as why:
        raise AssertionError(f"The derivatives of {name} cannot be checked: {why}.") from None
    said = _wrong(found)
    if said:
        raise AssertionError("\n".join(f"{name}, {line}" for line in said))


def _wrong(found: Sequence[Checked]) -> list[str]:
    said = [f"order {one.order} is wrong by {one.error:.1e}: {one.worst}" for one in found if not one.good]
    return said + [f"order {one.order} cannot be checked: {one.unchecked}" for one in found if one.unchecked]


def _graph(value: Any) -> Graph:
    return results(value if isinstance(value, Graph) else capture(value), DEFAULT_PARTS)
