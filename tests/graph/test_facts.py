"""What can be told of a node: each fact on lines that are not too long, and a sentence where it was not recorded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from autograph_cli.graph import (
    Graph,
    GraphError,
    Measured,
    Node,
    Output,
    Saved,
    Source,
    TensorType,
    Trace,
    Values,
    backward,
    double_backward,
    forward,
)
from autograph_cli.graph.facts import LONGEST, MOST_LINES, WORDS, bytes_of, check_recorded, facts_of, parse_shown

ONE = TensorType("float32", (2, 3))
MANY = Values((), "-1", "0.5", "2", 100, 25, 3, (1, 0, 4))


def node(measured: Measured | None = None, **more: object) -> Node:
    return Node(1, "operation", "MulBackward0", "mul", (Output(ONE),), measured=measured, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "word, made, lines",
    [
        ("dtype", node(), ["float32"]),
        ("line", node(source=Source("a.py", 3, "  y = a * b")), ["a.py:3  y = a * b"]),
        ("line", node(), []),
        ("bytes", node(), ["24 B"]),
        (
            "bytes",
            node(
                saved=(Saved("_saved_self", ONE, bytes=24, storage=0), Saved("_saved_other", ONE, bytes=24, storage=0))
            ),
            ["24 B, keeps 24 B"],
        ),
        ("values", node(Measured(values=(Values(("[1, 2]",)),))), ["[1, 2]"]),
        ("values", node(Measured(values=(MANY,))), ["min -1 · mean 0.5 · max 2", "25 % zeros · 3 NaN", "▂ █"]),
        ("values", node(Measured(values=(Values(("1",)), None, Values(("2",))))), ["#0 1", "#2 2"]),
        ("gradients", node(Measured(gradients=(Values(("[1, 2]",)),))), ["grad [1, 2]"]),
        ("time", node(Measured(time=1500, backward_time=20)), ["1.5 µs, backward 20 ns"]),
        (
            "formula",
            node(Measured(formula=("self: grad * other", "other: grad * self"))),
            ["self: grad * other", "other: grad * self"],
        ),
        (
            "saved",
            node(saved=(Saved("_saved_dim", value="1"), Saved("_saved_self", ONE, bytes=24, storage=0, version=2))),
            ["keeps self: float32[2, 3], 24 B, version 2"],
        ),
        ("values", node(), []),
        ("gradients", node(), []),
        ("time", node(), []),
        ("formula", node(), []),
        ("saved", node(), []),
    ],
)
def test_a_fact_is_told_in_lines(word: str, made: Node, lines: list[str]) -> None:
    assert facts_of(made, (word,)) == lines


def test_long_lines_go_on_below_and_many_lines_end() -> None:
    formula = (f"self: {' * '.join(['factor'] * 30)}", *(f"x{number}: grad" for number in range(20)))
    lines = facts_of(node(Measured(formula=formula)), ("formula",))
    assert max(map(len, lines)) <= LONGEST
    assert lines[1].startswith("    ")
    assert (len(lines), lines[-1]) == (MOST_LINES, "…")


def test_rows_of_a_small_matrix_stand_below_each_other_and_more_on_a_line() -> None:
    few = Values(("[[1, 2],", " [3, 4]]"))
    many = Values(tuple(f"[{number}]," for number in range(9)))
    assert facts_of(node(Measured(values=(few,))), ("values",)) == ["[[1, 2],", " [3, 4]]"]
    assert facts_of(node(Measured(values=(many,))), ("values",)) == [", ".join(f"[{n}]" for n in range(9)) + ","]


def test_control_characters_are_shown() -> None:
    assert facts_of(node(source=Source("a.py", 3, "x\x1b[31m")), ("line",)) == ["a.py:3  x\\x1b[31m"]


def test_a_list_adds_to_the_usual_facts_and_none_begins_with_nothing() -> None:
    assert parse_shown("values, line") == ("shapes", "names", "arguments", "values", "line")
    assert parse_shown("none,formula") == ("formula",)
    assert parse_shown("") == ("shapes", "names", "arguments")
    with pytest.raises(
        GraphError, match=r"There is no 'vals' to show; known ones: shapes, names, arguments, dtype, values,"
    ):
        parse_shown("vals")


@pytest.mark.parametrize(
    "word, what", [("values", "values"), ("gradients", "gradients"), ("time", "times"), ("formula", "formulas")]
)
def test_what_was_not_recorded_is_told_with_how_to_get_it(traces: dict[str, Trace], word: str, what: str) -> None:
    graph = traces["logits_loss"].steps[0].graph
    recorded = "values" if word == "gradients" else word
    with pytest.raises(GraphError, match=f"The trace holds no {what}, .*: autograph run --record {recorded} a.py"):
        check_recorded(graph, (word,), "a.py")
    check_recorded(graph, ("shapes", "line", "saved", "bytes"), "a.py")


@pytest.mark.parametrize(
    "dtype, count",
    [
        ("float32", 24), ("float64", 48), ("bfloat16", 12), ("complex64", 48), ("int8", 6), ("uint16", 12),
        ("bool", 6), ("float8_e4m3fn", 6), ("object", 0),
    ],
)  # fmt: skip
def test_bytes_follow_from_the_dtype(dtype: str, count: int) -> None:
    assert bytes_of(TensorType(dtype, (2, 3))) == count


def test_facts_stand_below_a_node_in_the_text(traces: dict[str, Trace]) -> None:
    text = traces["logits_loss"].steps[0].graph.to_text(shown=("line", "bytes"))
    assert "  z: float32[3] = add(" in text.replace("[1, 3]", "[3]")
    assert "      # 02_logits_loss.py:9  z = torch.matmul(x, w) + b\n      # 12 B" in text


def test_every_word_is_understood_by_the_text(traces: dict[str, Trace]) -> None:
    for trace in traces.values():
        assert "      # " in trace.steps[0].graph.to_text(shown=WORDS)


@pytest.mark.parametrize("view", [forward, backward, double_backward])
def test_what_was_measured_follows_a_node_into_every_view(
    traces: dict[str, Trace], view: Callable[[Graph], Graph]
) -> None:
    whole = traces["logits_loss"].steps[0].graph
    measured = tuple(replace(each, measured=Measured(time=each.id)) for each in whole)
    assert all(each.measured is not None for each in view(replace(whole, nodes=measured)))
