"""What nodes keep for backward: each storage and version once, with what it is and who keeps it."""

from __future__ import annotations

import time

from autograph_cli.graph import Edge, Graph, Node, Output, Saved, TensorType
from autograph_cli.graph.names import output_names
from autograph_cli.graph.saved_memory import (
    PACKED,
    kept_lines,
    kept_tensors,
    kept_words,
    origin_words,
    retained,
    total_bytes,
)
from autograph_cli.graph.views import take

TYPE = TensorType("float32", (3,))


def saved(name: str, storage: int | None, version: int = 0) -> Saved:
    return Saved(f"_saved_{name}", TYPE, bytes=12, storage=storage, version=version, given=storage == 0)


def operation(number: int, *kept: Saved, storage: int | None = None, names: tuple[str, ...] = ()) -> Node:
    return Node(number, "operation", "MulBackward0", "mul", (Output(TYPE, names, storage),), (Edge(0),), saved=kept)


GRAPH = Graph(
    (
        Node(0, "leaf", "AccumulateGrad", "", (Output(TYPE, ("w",), 0),)),
        operation(1, saved("self", 0), saved("other", 1), storage=1, names=("y",)),
        operation(2, saved("self", 1), saved("dim", None)),
        operation(3, saved("self", 0, version=1)),
    )
)


def test_a_storage_that_several_keep_is_told_once() -> None:
    w, y, alone, later = kept_tensors(GRAPH)
    assert (w.savers, w.origin) == (((1, "self"),), Edge(0))
    assert (y.savers, y.origin) == (((1, "other"), (2, "self")), Edge(1))
    assert (alone.savers, alone.origin) == (((2, "dim"),), None)
    assert (later.storage, later.version, later.savers) == (0, 1, ((3, "self"),))


def test_a_tensor_that_all_nodes_keep_takes_time_in_proportion_to_them() -> None:
    many = 100_000
    graph = Graph((GRAPH[0], *(operation(number, saved("self", 0)) for number in range(1, many + 1))))
    begun = time.process_time()
    (w,) = kept_tensors(graph)
    assert len(w.savers) == many
    assert time.process_time() - begun < 10  # of CPU: it takes 0.3; copying those before each one took more than 12


def test_versions_of_one_storage_are_the_same_memory() -> None:
    assert total_bytes(kept_tensors(GRAPH)) == 36


def test_only_results_live_on_for_retain_graph() -> None:
    kept = kept_tensors(GRAPH)
    assert [each.origin for each in retained(kept)] == [Edge(1), None]
    assert kept_words(kept, GRAPH) == "saved: 36 B in 4 tensors, of which retain_graph=True would keep 24 B (results)"
    assert kept_words([], ()) == "saved: nothing"


def test_what_hooks_have_packed_is_said_not_to_be_counted() -> None:
    packed = [Saved("_saved_self", value=PACKED), Saved("_saved_other", value=PACKED)]
    assert kept_words(
        [], (operation(1, *packed), operation(2, *packed), operation(3, Saved("_saved_dim", value="1")))
    ) == ("saved: nothing, not counting what hooks (a checkpoint's, the script's) hold for 2 operations")


def test_it_is_told_what_is_kept() -> None:
    words = [origin_words(GRAPH, each) for each in kept_tensors(GRAPH)]
    assert words == ["leaf", "result of mul", "made on the way", "leaf, version 1"]
    assert kept_lines(GRAPH, output_names(GRAPH))[1] == (
        "y: float32[3] (12 bytes), result of mul; kept by y as other, %2 as self"
    )


def test_leaves_that_a_view_does_not_have_are_no_results() -> None:
    kept = kept_tensors(take(GRAPH, [1, 2, 3], ()))
    assert [each.given for each in kept] == [True, False, False, True]
    assert origin_words(GRAPH, kept[0]) == "leaf or input"


def test_the_text_lists_what_is_kept_on_request() -> None:
    assert "\nsaved\n  w: float32[3] (12 bytes), leaf; kept by y as self\n" in GRAPH.to_text(shown=("saved",))
    assert "kept by" not in GRAPH.to_text()
