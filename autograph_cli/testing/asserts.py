"""Assertions on graphs, for any test framework."""

from __future__ import annotations

from typing import Any

from autograph_cli.graph import Graph
from autograph_cli.graph.diff import diff, results
from autograph_cli.record.capture import capture


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


def _graph(value: Any) -> Graph:
    return results(value if isinstance(value, Graph) else capture(value))
