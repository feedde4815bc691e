"""Real scripts under the runner print and leave what PyTorch does: beside each stand its output and its graph."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.graph import Graph
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run import runner

PROGRAMS = Path(__file__).parents[2] / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("[0-9]*.py"))
_NUMBER = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?")


class Snapshots(Recorder):
    """A recorder that also keeps the graph that the script's variables hang on at its end."""

    left: dict[str, Any]

    def finish(self, scope: Any) -> Any:
        trace = super().finish(scope)
        self.left = as_pytorch_numbers(self.snapshot(scope), [name for name in scope if not name.startswith("_")])
        return trace


def as_pytorch_numbers(graph: Graph, variables: list[str]) -> dict[str, Any]:
    """Roots and nodes, numbered by a depth-first walk over `next`, from the first root to the last."""
    numbers: dict[int, int] = {}
    for root in graph.roots:
        stack = [root.node]
        while stack:
            found = stack.pop()
            if found not in numbers:
                numbers[found] = len(numbers)
                stack += [edge.node for edge in reversed(graph[found].next) if edge is not None]
    rows = []
    for position in numbers:
        node = graph[position]
        parent = None if node.parent is None else numbers.get(node.parent)
        row: dict[str, Any] = {"name": node.name, "parent": parent}
        row["next"] = [[None, 0] if edge is None else [numbers[edge.node], edge.nr] for edge in node.next]
        if node.kind == "leaf":
            row["variable"] = next((name for name in variables if name in node.outputs[0].names), None)
        rows.append(row)
    return {"roots": {root.name: numbers[root.node] for root in graph.roots}, "nodes": rows}


def same_text(got: str, expected: str) -> bool:
    """Return whether two outputs agree: numbers within a tolerance, everything else exactly."""
    if got == expected:
        return True
    texts, expected_texts = _NUMBER.split(got), _NUMBER.split(expected)
    numbers = [pytest.approx(float(number), rel=2e-4, abs=2e-4) for number in _NUMBER.findall(expected)]
    return texts == expected_texts and [float(number) for number in _NUMBER.findall(got)] == numbers


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_a_program_prints_and_leaves_what_pytorch_does(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    recorder = Snapshots("all", name)
    result, trace = runner.record(runner.Target.of(str(PROGRAMS / f"{name}.py")), recorder=recorder)
    captured = capsys.readouterr()
    assert result.exit_code == 0, captured.err
    expected = (PROGRAMS / f"{name}.out").read_text()
    assert same_text(captured.out, expected), f"{captured.out}\n--- expected ---\n{expected}"
    assert recorder.left == json.loads((PROGRAMS / f"{name}.graph.json").read_text())
    for step in trace.steps:
        step.graph.verify()


def test_numbers_are_compared_with_a_tolerance_and_words_exactly() -> None:
    assert same_text("tensor([1.00001])", "tensor([1.0000])")
    assert not same_text("tensor([1.1])", "tensor([1.0])")
    assert not same_text("tensor([1.0], grad_fn=<A>)", "tensor([1.0], grad_fn=<B>)")
