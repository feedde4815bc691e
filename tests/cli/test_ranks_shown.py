"""What the commands show of a trace of several ranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from autograph_cli.graph import Collective, Edge, Graph, Node, Output, Pass, Root, Source, Step, TensorType, Trace
from autograph_cli.graph.ranks import drawn
from autograph_cli.record.run import rank_store, store

Cli = Callable[..., Result]
THREE = TensorType("float32", (3,))


def trace(rank: int, op: str) -> Trace:
    """A step `loss = op(w)` with its backward pass, and one bucket that was reduced in it."""
    nodes = (
        Node(0, "leaf", "AccumulateGrad", "", (Output(THREE, ("w",)),)),
        Node(1, "operation", f"{op.title()}Backward0", op, (Output(THREE, ("loss",)),), (Edge(0),), (Edge(0),)),
    )
    graph = Graph(
        nodes, (Root("loss", 1),), (Pass(0, "backward", 1, False, (Edge(1),), Source("train.py", 9), (1, 0)),)
    )
    bucket = Collective("all_reduce", 1, ranks=(0, 1, 2), bytes=12, tensors=("w.grad",), during=2)
    return Trace("train.py", (Step(0, graph),), 1, rank=rank, ranks=3, collectives=(bucket,))


@pytest.fixture
def ranks(tmp_path: Path) -> Callable[..., Path]:
    """Keep the ranks with these operations as the last trace."""

    def keep(*ops: str) -> Path:
        for rank, op in enumerate(ops):
            rank_store.write_part(trace(rank, op), tmp_path)
        goal = store.made(tmp_path) / store.OF_RANKS
        rank_store.join(tmp_path, len(ops), goal)
        return goal

    return keep


def test_equal_ranks_are_shown_once(cli: Cli, ranks: Callable[..., Path]) -> None:
    ranks("tanh", "tanh", "tanh")
    done = cli("show")
    assert done.stderr == "ranks 0-2: the same graphs, shown once\n"
    assert done.stdout.count("TanhBackward0") == 1


def test_of_ranks_that_differ_the_first_is_shown_or_the_one_that_is_asked_for(
    cli: Cli, ranks: Callable[..., Path]
) -> None:
    ranks("tanh", "exp", "tanh")
    first, other = cli("show"), cli("show", "--rank", "1")
    assert first.stderr == "ranks 0, 2; for rank 1, which differ: --rank N\n"
    assert "TanhBackward0" in first.stdout
    assert (other.stderr, "ExpBackward0" in other.stdout) == ("", True)


def test_why_says_whose_graph_it_looks_through(cli: Cli, ranks: Callable[..., Path]) -> None:
    ranks("tanh", "exp")
    assert "ExpBackward0" in cli("why", "loss", "w", "--rank", "1").stdout
    assert "rank 0" in cli("why", "loss", "w").stderr


def test_the_picture_has_a_frame_for_each_graph_and_the_bucket_between_them(
    cli: Cli, ranks: Callable[..., Path]
) -> None:
    ranks("tanh", "exp", "tanh")
    drawn = cli("render", "--backward", "-o", "-").stdout
    for words in ("ranks 0, 2: × 2 ranks", "rank 1: a graph of its own", "all_reduce 1: 12 B"):
        assert words in drawn
    assert drawn.count(">all_reduce 1: 12 B<") == 1


def with_untracked(rank: int, op: str, other: str) -> Trace:
    """The trace of a rank that also computes `x` where autograd does not record it."""
    whole = trace(rank, "tanh")
    (step,) = whole.steps
    nodes = (*step.graph, Node(2, "untracked", "", op, (Output(THREE, ("x",)),), constants=(("other", other),)))
    return replace(whole, steps=(replace(step, graph=replace(step.graph, nodes=nodes)),))


def test_ranks_that_differ_in_what_autograd_did_not_record_are_one_in_the_backward_picture(
    cli: Cli, tmp_path: Path
) -> None:
    for rank, op in enumerate(("mul", "add")):
        rank_store.write_part(with_untracked(rank, op, "2"), tmp_path)
    rank_store.join(tmp_path, 2, store.made(tmp_path) / store.OF_RANKS)
    assert "ranks 0-1: × 2 ranks" in cli("render", "--backward", "-o", "-").stdout
    assert "rank 1: a graph of its own" in cli("render", "--forward", "-o", "-").stdout
    assert "AG901" not in cli("explain").stdout


def test_ranks_that_take_other_rows_of_the_data_are_the_same(cli: Cli, tmp_path: Path) -> None:
    for rank in range(2):
        rank_store.write_part(with_untracked(rank, "mul", f"{rank}"), tmp_path)
    rank_store.join(tmp_path, 2, store.made(tmp_path) / store.OF_RANKS)
    assert cli("show").stderr == "ranks 0-1: the same graphs, shown once\n"
    assert "ranks 0-1: × 2 ranks" in cli("render", "--forward", "-o", "-").stdout
    assert "AG901" not in cli("explain").stdout


def test_a_constant_of_what_autograd_recorded_makes_ranks_differ() -> None:
    power = Node(0, "operation", "PowBackward0", "pow", (Output(THREE),), constants=(("exponent", "2"),))
    assert drawn([Graph((power,))]) != drawn([Graph((replace(power, constants=(("exponent", "3"),)),))])


def test_ranks_that_met_their_leaves_in_another_order_are_the_same() -> None:
    w = Node(0, "leaf", "AccumulateGrad", "", (Output(THREE, ("w",)),))
    b = Node(1, "leaf", "AccumulateGrad", "", (Output(THREE, ("b",)),))
    add = Node(2, "operation", "AddBackward0", "add", (Output(THREE),), (Edge(0), Edge(1)), (Edge(0), Edge(1)))
    other = (replace(b, id=0), replace(w, id=1), replace(add, next=(Edge(1), Edge(0)), args=(Edge(1), Edge(0))))
    swapped = (w, b, replace(add, next=(Edge(1), Edge(0)), args=(Edge(1), Edge(0))))
    assert drawn([Graph((w, b, add))]) == drawn([Graph(other)])
    assert drawn([Graph((w, b, add))]) != drawn([Graph(swapped)])


def test_the_picture_of_one_rank_has_no_frame(cli: Cli, ranks: Callable[..., Path]) -> None:
    ranks("tanh", "exp")
    drawn = cli("render", "--backward", "--rank", "1", "-o", "-").stdout
    assert "ExpBackward0" in drawn
    assert "rank" not in drawn


@pytest.mark.parametrize("asked", [("trace#1",), ("--rank", "1")])
def test_a_rank_that_is_asked_for_is_shown_without_a_word_on_the_others(
    cli: Cli, ranks: Callable[..., Path], asked: tuple[str, ...]
) -> None:
    ranks("tanh", "exp")
    for command in (("show",), ("render", "--backward", "-o", "-"), ("open", "--no-browser", "-o", "page.html")):
        done = cli(*command, *asked)
        text = done.stdout or Path("page.html").read_text()
        assert ("ExpBackward0" in text, "TanhBackward0" in text) == (True, False)
        assert "rank" not in done.stderr
    assert "AG901" not in cli("explain", *asked).stdout


@pytest.mark.parametrize("command", [("open", "--no-browser", "-o", "page.html"), ("profile",)])
def test_what_is_of_one_rank_says_of_which(cli: Cli, ranks: Callable[..., Path], command: tuple[str, ...]) -> None:
    ranks("tanh", "exp", "tanh")
    assert "rank 0, of ranks 0-2; of another one: --rank N\n" in cli(*command).stderr


def test_ranks_that_kept_other_steps_are_told_of(cli: Cli, tmp_path: Path) -> None:
    for rank in range(3):
        whole = trace(rank, "exp" if rank == 1 else "tanh")
        steps = (whole.steps[0] if rank == 1 else replace(whole.steps[0], number=4),)
        rank_store.write_part(replace(whole, steps=steps), tmp_path)
    rank_store.join(tmp_path, 3, store.made(tmp_path) / store.OF_RANKS)
    done = cli("render", "--backward", "-o", "-")
    assert done.stderr == "of rank 1 no step 5 was kept; of one of them: --rank N\n"
    assert "ranks 0, 2: × 2 ranks" in done.stdout


def test_ranks_are_compared_by_their_numbers(cli: Cli, ranks: Callable[..., Path]) -> None:
    goal = ranks("tanh", "exp", "tanh")
    assert cli("diff", "trace#0", "trace#2").exit_code == 0
    differing = cli("diff", f"{goal}#0", f"{goal}#1")
    assert differing.exit_code == 1
    assert "exp" in differing.stdout


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("tanh tanh tanh", "tanh tanh tanh", []),
        ("tanh exp tanh", "tanh exp tanh", []),
        ("tanh tanh tanh", "tanh exp tanh", ["rank 1: `tanh` became `exp`"]),
        ("tanh exp tanh", "tanh tanh tanh", ["rank 1: `exp` became `tanh`"]),
        ("tanh exp exp", "tanh tanh exp", ["rank 1: `exp` became `tanh`"]),
        ("tanh tanh exp", "exp exp exp", ["ranks 0-1: `tanh` became `exp`"]),
        ("tanh exp tanh", "sin sin sin", ["ranks 0, 2: `tanh` became `sin`", "rank 1: `exp` became `sin`"]),
        ("tanh tanh tanh", "exp exp exp", ["`tanh` became `exp`"]),
    ],
)
def test_traces_of_several_ranks_are_compared_rank_by_rank(
    cli: Cli, ranks: Callable[..., Path], tmp_path: Path, before: str, after: str, told: list[str]
) -> None:
    ranks(*before.split()).rename(tmp_path / "before.zip")
    goal = ranks(*after.split())
    done = cli("diff", "before.zip", str(goal))
    said = [line.strip() for line in done.stdout.split("\n\n")[0].splitlines()]
    assert (done.exit_code, said, done.stderr) == (
        int(bool(told)),
        [f"step 1, {line}" if line.startswith("rank") else line for line in told],
        "",
    )


def test_explain_looks_at_all_ranks_unless_one_is_asked_for(cli: Cli, ranks: Callable[..., Path]) -> None:
    ranks("tanh", "exp")
    assert "AG901 train.py:9: rank 1 built another graph than rank 0." in cli("explain").stdout
    assert "AG901" not in cli("explain", "--rank", "0").stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("show", "--rank", "7"), "There is no rank 7 in"),
        (
            ("show", "train.py", "--rank", "1"),
            "--rank 1 is for traces of several ranks: autograph run --ranks N train.py",
        ),
    ],
)
def test_a_rank_that_is_not_there_is_one_sentence(
    cli: Cli, ranks: Callable[..., Path], args: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    ranks("tanh")
    (tmp_path / "train.py").write_text("pass\n")
    done = cli(*args)
    assert done.exit_code
    assert said in done.stderr
