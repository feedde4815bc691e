"""The graph of several ranks: a band for each that differs, and collectives between them."""

from __future__ import annotations

from autograph_cli.graph import Collective, Edge, Graph, Node, Output, Pass, Root, Source, TensorType, views
from autograph_cli.graph.loops import find_turns
from autograph_cli.graph.names import output_names, shown_name
from autograph_cli.graph.together import Band, together

LINE = Source("train.py", 3)
THREE = TensorType("float32", (3,))


def graph(op: str = "mul") -> Graph:
    """`loss = all_reduce(op(w))`, and its backward."""
    return Graph(
        (
            Node(0, "leaf", "AccumulateGrad", "", (Output(THREE, ("w",)),)),
            Node(1, "operation", "MulBackward0", op, (Output(THREE),), (Edge(0),), (Edge(0),)),
            Node(2, "untracked", "", "all_reduce", (Output(THREE, ("t",)),), (), (Edge(1),), source=LINE),
            Node(3, "operation", "SumBackward0", "sum", (Output(THREE, ("loss",)),), (Edge(1),), (Edge(1), Edge(2))),
        ),
        (Root("loss", 3),),
        (Pass(0, "backward", 1, False, (Edge(3),), ran=(3, 1, 0)),),
    )


DATA = Collective("all_reduce", 1, ranks=(0, 1), bytes=12, source=LINE)
BUCKET = Collective("all_reduce", 2, ranks=(0, 1), bytes=12, tensors=("w.grad",), during=3)
BANDS = [Band((0, 2), graph(), (DATA, BUCKET)), Band((1,), graph("exp"), (DATA, BUCKET))]


def between(whole: Graph) -> list[Node]:
    return [node for node in whole if node.call is None]


def test_each_band_is_in_a_frame_that_says_its_ranks() -> None:
    whole = together(BANDS, gradients=False)
    assert [(call.path, call.cls) for call in whole.calls] == [
        ("ranks 0, 2", "× 2 ranks"),
        ("rank 1", "a graph of its own"),
    ]
    assert [node.call for node in whole][:8] == [0] * 4 + [1] * 4


def test_data_go_through_the_collective_that_all_bands_share() -> None:
    whole = together(BANDS, gradients=False)
    (shared,) = between(whole)
    assert (shared.op, shared.args) == ("all_reduce 1: 12 B", (Edge(2), Edge(6)))
    assert [whole[number].args[1] for number in (3, 7)] == [Edge(shared.id)] * 2
    assert shared.op in [node.op for node in views.forward(whole)]


def test_gradients_lead_from_their_leaves_to_the_collective() -> None:
    whole = together(BANDS, gradients=True)
    (shared,) = between(whole)
    assert shared.name == "all_reduce 2: 12 B"
    assert [whole[number].next for number in (0, 4)] == [(Edge(shared.id),)] * 2
    assert shared.outputs[0].type == THREE
    assert shared.name in [node.name for node in views.backward(whole)]


def test_a_bucket_whose_leaves_are_not_known_hangs_on_the_last_one_that_ran() -> None:
    bucket = Collective("all_reduce", 2, ranks=(0,), bytes=7, during=3)
    whole = together([Band((0,), graph(), (bucket,))], gradients=True)
    assert whole[0].next == (Edge(4),)


def test_without_collectives_nothing_is_between_the_bands() -> None:
    assert between(together([Band((0, 1), graph())], gradients=True)) == []


def test_bands_are_no_turns_of_a_loop() -> None:
    many = together([Band((rank,), graph("exp" if rank else "mul")) for rank in range(6)], gradients=True)
    assert find_turns(many) == {}


def test_of_several_bands_each_has_names_of_its_own_which_are_shown_alike() -> None:
    whole = together(BANDS, gradients=True)
    assert [root.name for root in whole.roots] == ["loss#0", "loss#1"]
    assert [names[0] for names in output_names(whole)][:8:4] == ["w#0", "w#1"]
    assert {shown_name(root.name) for root in whole.roots} == {"loss"}
    assert together(BANDS[:1], gradients=True).roots[0].name == "loss"
