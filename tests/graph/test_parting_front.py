"""The nodes that a picture marks where two runs part."""

from __future__ import annotations

from msgspec.structs import replace

from autograph_cli import first_divergence, torch
from autograph_cli.graph.numbers import SAME
from autograph_cli.graph.parting_collectives import Exchange, Parted
from autograph_cli.graph.parting_front import front
from autograph_cli.graph.trace import Collective


def test_the_first_and_what_follows_are_marked_in_both_graphs() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def run(slope: float, *, one_more: bool = False) -> None:
        h = torch.nn.functional.leaky_relu(-w, slope)
        ((h.exp() if not one_more else h.exp().clone()) * 2).sum().backward()

    found = first_divergence(lambda: run(0.1), lambda: run(0.2, one_more=True))
    assert found.aligned is not None
    marks = front(found)
    named = [
        {graph[number].op: mark for number, mark in each.items()}
        for graph, each in zip((found.aligned.old, found.aligned.new), marks, strict=True)
    ]
    follows = {"exp": "other", "mul": "other", "sum": "other"}
    assert named == [{"leaky_relu": "first", **follows}, {"leaky_relu": "first", **follows, "clone": "alone"}]


def test_what_follows_from_a_collective_is_not_the_first() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    found = first_divergence(*(lambda by=by: (w * by).exp().sum().backward() for by in (2, 3)))
    made = Collective("all_reduce", 0)
    exchange = replace(found, exchanged=Parted(Exchange(0, made, made, SAME, None), (0,), made=False))
    marks = [set(each.values()) for each in (*front(found), *front(exchange))]
    assert marks == [{"first", "other"}] * 2 + [{"other"}] * 2


def test_a_hook_marks_what_has_other_gradients() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def run(scale: float) -> None:
        h = w * 2
        h.register_hook(lambda grad: grad * scale)
        h.exp().sum().backward()

    found = first_divergence(lambda: run(1.0), lambda: run(3.0))
    assert found.aligned is not None
    named = {found.aligned.old[number].op: mark for number, mark in front(found)[0].items()}
    assert named == {"mul": "first", "": "other"}
