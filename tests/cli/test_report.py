"""The report tells steps, roots, leaves, nodes per order, and bytes kept for backward."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli.cli.report import MOST, kept_bytes, print_report, report
from autograph_cli.graph import (
    DeviceMemory,
    Edge,
    Graph,
    Memory,
    Node,
    Output,
    Pass,
    Root,
    Saved,
    Source,
    Step,
    StepKind,
    TensorType,
    Trace,
    from_json,
    to_json,
)

SCALAR = TensorType("float64", ())


def lines(trace: Trace) -> dict[str, str]:
    return dict(report(trace, None, Path()))


def leaf(number: int, *names: str) -> Node:
    return Node(number, "leaf", "AccumulateGrad", "", (Output(SCALAR, names),))


def operation(number: int, order: int = 0, **more: object) -> Node:
    node = Node(number, "operation", "SinBackward0", "sin", (Output(SCALAR),), next=(Edge(0),), order=order)
    return replace(node, **more)  # type: ignore[arg-type]


def one(*nodes: Node, roots: tuple[Root, ...] = (), derived: str = "") -> Trace:
    return Trace("expr.py", (Step(0, Graph(nodes, roots), derived),), total_steps=1)


def test_memory_that_is_shared_counts_once() -> None:
    shared = Saved("_saved_self", SCALAR, bytes=8, storage=0)
    other = Saved("_saved_result", SCALAR, bytes=8, storage=1)
    assert kept_bytes([operation(1, saved=(shared, other)), operation(2, saved=(shared,))]) == 16


def test_memory_is_split_by_device() -> None:
    there = TensorType("float32", (2,), "cuda:0")
    kept = (Saved("_saved_self", SCALAR, bytes=8, storage=0), Saved("_saved_other", there, bytes=64, storage=1))
    trace = one(leaf(0, "x"), operation(1, saved=kept))
    by_device = DeviceMemory("cuda:0", 16, 16, 32), DeviceMemory("cpu", 8, 8)
    trace = replace(trace, steps=(replace(trace.steps[0], memory=Memory(24, 24, 32, by_device)),))
    told = [line for line in report(from_json(to_json(trace)), None, Path()) if line[0] in ("memory", "held")]
    assert told == [
        ("memory", "64 B kept for backward on cuda:0"),
        ("held", "parameters 16 B, gradients 16 B, optimizer state 32 B, saved activations 64 B on cuda:0"),
        ("memory", "8 B kept for backward on cpu"),
        ("held", "parameters 8 B, gradients 8 B, optimizer state 0 B, saved activations 8 B on cpu"),
    ]


def test_nodes_are_counted_by_order() -> None:
    told = lines(one(leaf(0, "x"), operation(1), operation(2), operation(3, order=1)))
    assert told["nodes"] == "order 0: 2, order 1: 1"


def test_what_the_recorder_derived_is_told_apart() -> None:
    told = lines(one(leaf(0, "x"), operation(1), operation(2, order=1), derived="from y with respect to x"))
    assert told["nodes"] == "order 0: 1"
    assert told["derived"] == "from y with respect to x"


@pytest.mark.parametrize("note", ["made by autograph from `g` and its leaves", "not made: the roots hang on no leaf"])
def test_orders_of_the_script_are_counted_beside_one_that_the_recorder_derived(note: str) -> None:
    own = one(leaf(0, "x"), operation(1), operation(2, order=1), derived=note)
    made = None if note.startswith("not") else own.steps[0].graph
    told = lines(replace(own, steps=(replace(own.steps[0], double=made),)))
    assert told["nodes"] == "order 0: 1, order 1: 1"


def test_many_leaves_are_counted() -> None:
    nodes = [leaf(number, f"p{number}") for number in range(MOST + 3)]
    assert lines(one(*nodes))["leaves"].endswith(f"p{MOST - 1} float64[], and 3 more")


def test_leaf_without_a_name_has_its_number() -> None:
    assert lines(one(leaf(0), operation(1)))["leaves"] == "%0 float64[]"


def test_every_kept_step_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    step = one(leaf(0, "x"), operation(1)).steps[0]
    told = report(Trace("expr.py", (step, replace(step, number=9)), total_steps=10), None, Path())
    assert [text for label, text in told if label == "step"] == ["1", "10"]
    print_report(Trace("expr.py", (step, replace(step, number=9)), total_steps=10), None, Path())
    assert capsys.readouterr().err.startswith("autograph: expr.py, 10 steps, 2 kept\n  step     1\n")


def test_the_last_step_that_was_followed_is_not_called_the_last() -> None:
    step = one(leaf(0, "x"), operation(1)).steps[0]
    kinds = (StepKind("backward", last=25, count=26),)
    step = replace(step, kind=0)
    trace = Trace("expr.py", (step, replace(step, number=15)), total_steps=26, kinds=kinds)
    told = [text for label, text in report(trace, None, Path(), last=True) if label == "step"]
    assert told[0] == "1"
    assert told[1] == (
        "16, the last one that was followed: the loop did not tell which is the last, 26 (--steps 26 keeps it)"
    )
    alone = Trace("expr.py", (replace(step, number=3),), total_steps=26, kinds=kinds)
    assert [text for label, text in report(alone, None, Path()) if label == "step"] == ["4"]


def test_of_several_kinds_the_lines_are_told() -> None:
    step = one(leaf(0, "x"), operation(1)).steps[0]
    lines = [Source("gan.py", number, "", "") for number in (12, 16)]
    kinds = tuple([StepKind("backward", line, last=24 + n, count=13) for n, line in enumerate(lines)])
    steps = tuple([replace(step, number=number, kind=number % 2) for number in (0, 1, 24, 25)])
    told = report(Trace("gan.py", steps, total_steps=26, kinds=kinds), None, Path(), last=True)
    assert [text for label, text in told if label == "step"] == [
        f"{number}, ended in gan.py:{line}" for number, line in [(1, 12), (2, 16), (25, 12), (26, 16)]
    ]


def test_that_the_step_which_failed_was_not_followed_is_told() -> None:
    step = replace(one(leaf(0, "x"), operation(1)).steps[0], kind=0, number=64)
    kinds = (StepKind("backward", last=99, count=100),)
    trace = Trace("expr.py", (step,), total_steps=100, kinds=kinds, failure="ValueError")
    told = dict(report(trace, None, Path(), last=True))
    assert told["failed"].endswith("but the step that failed was not followed: autograph explain expr.py")
    told = dict(report(replace(trace, engine="pytorch"), None, Path(), last=True))
    assert told["failed"].endswith("autograph run --engine torch --steps 101 expr.py")


def test_what_ran_after_the_last_backward_pass_is_told_apart() -> None:
    step = one(leaf(0, "x"), operation(1)).steps[0]
    passed = replace(step, graph=replace(step.graph, passes=(Pass(0, "backward", 1, False),)))
    passed = replace(passed, kind=0)
    kinds = (StepKind("backward", last=63, count=64),)
    trace = Trace(
        "expr.py", (passed, replace(passed, number=15), replace(step, number=64)), total_steps=65, kinds=kinds
    )
    told = [text for label, text in report(trace, None, Path(), last=True) if label == "step"]
    assert told[1].startswith("16, the last one that was followed")
    assert told[2] == "65, without a backward pass: drawn by --step last"


def test_steps_that_did_not_come_are_no_lack_of_a_graph(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(Trace("expr.py", (), total_steps=4), None, Path())
    sentence = "autograph: expr.py made 4 steps, numbered from 1, and none of those asked for is among them.\n"
    assert capsys.readouterr().err == sentence


def test_names_cannot_break_a_line() -> None:
    root = Root("a\n[red]b\x1b", 1)
    assert lines(one(leaf(0, "<x>"), operation(1), roots=(root,)))["roots"] == "a\\n[red]b\\x1b float64[]"
