"""The memory that a step's nodes keep, those of earlier steps among them, beside a walk through the nodes themselves."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.graph import Graph
from autograph_cli.graph.facts import plain_name
from autograph_cli.graph.saved_memory import kept_tensors, total_bytes
from autograph_cli.record.recorder import Recorder
from autograph_cli.torch import nn

Memory = list[tuple[tuple[tuple[str, str], ...], bool]]
"""For each storage, the nodes that keep it under their names, and whether it is a leaf's."""
Backward = Callable[..., None]


def walked(loss: Any) -> Memory:
    """The memory that the nodes keep which this tensor hangs on, as their own attributes tell it."""
    stack, met = [loss.grad_fn], {loss.grad_fn}
    savers: dict[int, list[tuple[str, str]]] = defaultdict(list)
    leaves = set()
    while stack:
        node = stack.pop()
        if hasattr(node, "variable"):
            leaves.add(node.variable.untyped_storage().data_ptr())
            continue
        for name in dir(node):
            if name.startswith("_saved_") and isinstance(kept := getattr(node, name), torch.Tensor):
                savers[kept.untyped_storage().data_ptr()].append((node.name(), name.removeprefix("_saved_")))
        following = [edge for edge, _ in node.next_functions if edge is not None and edge not in met]
        met.update(following)
        stack += following
    return sorted((tuple(sorted(names)), memory in leaves) for memory, names in savers.items())


def recorded(graph: Graph) -> Memory:
    """The same of what the last backward call of a graph started from."""
    stack = [edge.node for edge in graph.passes[-1].roots]
    met = set(stack)
    savers: dict[int, list[tuple[str, str]]] = defaultdict(list)
    while stack:
        node = graph[stack.pop()]
        for saved in node.saved:
            if saved.storage is not None:
                savers[saved.storage].append((node.name, plain_name(saved)))
        following = [edge.node for edge in node.next if edge is not None and edge.node not in met]
        met.update(following)
        stack += following
    leaves = {output.storage for node in graph if node.kind == "leaf" for output in node.outputs}
    return sorted((tuple(sorted(names)), memory in leaves) for memory, names in savers.items())


def gan(backward: Backward) -> None:
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 4), nn.Tanh())
    critic = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1))
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        fake = generator(torch.randn(3, 4))
        loss = critic(torch.randn(3, 4)).mean() - critic(fake.detach()).mean()
        optimizer.zero_grad()
        backward(loss)
        optimizer.step()
        backward(-critic(fake).mean())


def retained(backward: Backward) -> None:
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 4), nn.Tanh())
    for _ in range(3):
        x = torch.randn(3, 4)
        hidden = net(x)
        backward((hidden**2).sum(), retain_graph=True)
        backward((hidden * net[0](x).sum()).sum())


def running_sum(backward: Backward) -> None:
    net = nn.Linear(4, 1)
    running: Any = 0.0
    for _ in range(4):
        loss = (net(torch.randn(3, 4)).tanh() ** 2).mean()
        running += loss
        backward((net(torch.randn(3, 4)) ** 2).sum())
    backward(running)


def truncated(backward: Backward) -> None:
    cell = nn.GRUCell(3, 4)
    hidden = torch.zeros(2, 4)
    for _ in range(3):
        for _ in range(2):
            hidden = cell(torch.randn(2, 3), hidden)
        backward(hidden.square().mean())
        hidden = hidden.detach()


def delayed(seed: int) -> Callable[[Backward], None]:
    """Losses over tensors that steps before made, in memory that others of then and now share."""

    def run(backward: Backward) -> None:
        choose = random.Random(seed)
        torch.manual_seed(seed)
        weights = [torch.randn(3, 3, requires_grad=True) for _ in range(3)]
        made: list[Any] = []
        for _ in range(6):
            terms = [torch.randn(2, 3)]
            for _ in range(choose.randrange(1, 4)):
                x = choose.choice([*terms, *[tensor.detach() for tensor in made]])
                made.append(choose.choice([torch.tanh, torch.exp, torch.sin])(x.detach() @ choose.choice(weights)))
            for _ in range(choose.randrange(1, 1 + len(made))):
                terms.append(made.pop(choose.randrange(len(made))) * choose.choice(terms))
            backward(terms[-1].sum())
            if choose.random() < 0.5:
                weight = choose.choice(weights)
                weight.data = weight.data - 0.1

    return run


PROGRAMS = {
    "gan": gan,
    "retained": retained,
    "running sum": running_sum,
    "truncated": truncated,
    **{f"delayed {seed}": delayed(seed) for seed in range(12)},
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("steps", ["all", "first,last"])
def test_a_step_tells_the_memory_that_its_nodes_keep(name: str, steps: str) -> None:
    recorder = Recorder(steps, "train.py")
    truth: list[Memory] = []

    def backward(loss: Any, *, retain_graph: bool = False) -> None:
        seen = walked(loss)
        loss.backward(retain_graph=retain_graph)
        if not retain_graph:
            truth.append(seen)

    recorder.start()
    PROGRAMS[name](backward)
    trace = recorder.finish({})
    assert trace.steps
    for step in trace.steps:
        assert recorded(step.graph) == truth[step.number], step.number
    if steps == "all":
        assert len(trace.steps) == len(truth)


def test_turns_of_a_loop_that_hang_on_earlier_steps_are_alike() -> None:
    recorder = Recorder("all", "train.py")
    recorder.start()
    gan(lambda loss: loss.backward())
    steps = recorder.finish({}).steps
    kept = [[node.saved for node in step.graph] for step in steps]
    assert kept[2] == kept[4] and kept[3] == kept[5]
    assert total_bytes(kept_tensors(steps[1].graph)) == total_bytes(kept_tensors(steps[5].graph)) > 0
