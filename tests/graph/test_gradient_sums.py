"""Sums of gradients are known by what flows: of each tensor the last one is what a pass returned as its gradient."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from autograph_cli.graph import Graph
from autograph_cli.graph.derivatives import gradient_sums
from autograph_cli.record.run.runner import Target, record

STATEMENTS = (
    "{a}.sin()", "{a}.exp() + 1", "{a} * {b}", "{a} + {b}", "{a} * {a}", "{a}.softmax(0)", "torch.atan2({a}, {b})",
)  # fmt: skip


def program(seed: int) -> str:
    """Tensors that are made of one another, and the gradient of the last by all of them."""
    chance = random.Random(seed)
    names, lines = ["x0"], ["import torch", "x0 = torch.linspace(0.3, 0.9, 3, requires_grad=True)"]
    for number in range(1, chance.randrange(4, 9)):
        a, b = (chance.choice(names[-3:]) for _ in range(2))
        names.append(f"x{number}")
        lines.append(f"x{number} = {chance.choice(STATEMENTS).format(a=a, b=b)}")
    listed = ", ".join(names)
    lines += [
        f"y = sum(each.sum() for each in ({listed},))",
        f"gs = torch.autograd.grad(y, [{listed}], create_graph=True)",
    ]
    return "\n".join([*lines, "sum(g.pow(2).sum() for g in gs).backward()"])


@pytest.mark.parametrize("seed", range(12))
def test_what_a_pass_returned_is_the_last_sum_of_what_users_sent(seed: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(program(seed))
    graph: Graph = record(Target.of(str(tmp_path / "a.py")))[1].steps[-1].graph
    found = gradient_sums(graph)
    (entry,) = (entry for entry in graph.passes if entry.call == "grad")
    of: dict[str, list[int]] = {}
    for number, name in found.items():
        of.setdefault(name, []).append(number)
    sums = 0
    for given, result in zip(entry.inputs, entry.results, strict=True):
        (name, *_) = graph[given.node].outputs[given.nr].names
        uses = sum(edge == given for ran in entry.ran for edge in graph[ran].next)
        assert len(of.get(name, ())) < uses, "those of constants have no graph"
        assert result is None or result.node not in found or result.node == max(of[name]), (name, found)
        assert not of.get(name) or (result is not None and result.node == max(of[name])), (name, found)
        sums += len(of.get(name, ()))
    assert sums == len(found)
