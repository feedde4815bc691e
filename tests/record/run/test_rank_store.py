"""The traces of several ranks are one file, made of parts, and read one at a time."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli.graph import Collective, Edge, Graph, Node, Output, Step, TensorType, Trace, TraceError
from autograph_cli.graph.ranks import alike
from autograph_cli.record.run import rank_store, store


def trace(rank: int, op: str = "mul") -> Trace:
    outputs = (Output(TensorType("float32", (3,))),)
    leaf = Node(0, "leaf", "AccumulateGrad", "", outputs)
    graph = Graph((leaf, Node(1, "operation", f"{op.title()}Backward0", op, outputs, (Edge(0),), (Edge(0),))))
    called = (Collective("all_reduce", 1, ranks=(0, 1, 2), bytes=12, tensors=("w.grad",)),)
    return Trace("train.py", (Step(0, graph),), 1, rank=rank, ranks=3, collectives=called)


@pytest.fixture
def joined(tmp_path: Path) -> Path:
    for rank, op in enumerate(("mul", "mul", "exp")):
        rank_store.write_part(trace(rank, op), tmp_path)
    assert rank_store.join(tmp_path, 3, tmp_path / "trace.zip") == [0, 1, 2]
    return tmp_path / "trace.zip"


def test_each_rank_is_read_as_it_was_written(joined: Path) -> None:
    assert [store.load(joined, rank) for rank in range(3)] == [trace(0), trace(1), trace(2, "exp")]


def test_without_a_rank_the_first_is_read(joined: Path) -> None:
    assert store.load(joined) == trace(0)


def test_the_list_tells_ranks_of_the_same_graphs(joined: Path) -> None:
    ranks = store.ranks_of(joined)
    assert alike(ranks) == [[0, 1], [2]]
    assert [each.collectives[0].tensors for each in ranks] == [("w.grad",)] * 3


def test_the_same_parts_give_the_same_bytes(joined: Path, tmp_path: Path) -> None:
    rank_store.join(tmp_path, 3, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == joined.read_bytes()


def test_a_rank_whose_part_is_not_whole_is_left_out(tmp_path: Path) -> None:
    rank_store.write_part(trace(1), tmp_path)
    (tmp_path / "rank-0.part").write_bytes(b'{"format"')
    assert rank_store.join(tmp_path, 2, tmp_path / "trace.zip") == [1]
    assert store.load(tmp_path / "trace.zip").rank == 1


def test_a_rank_that_is_not_there_is_an_error(joined: Path) -> None:
    with pytest.raises(store.StoreError, match=r"There is no rank 7 in .*; it has 0, 1, 2"):
        store.load(joined, 7)


def test_a_rank_of_a_trace_of_one_process_is_an_error(tmp_path: Path) -> None:
    store.save(replace(trace(0), ranks=1), tmp_path / "trace.json")
    assert store.load(tmp_path / "trace.json", 0).ranks == 1
    with pytest.raises(store.StoreError, match=r"There is no rank 1 in .*: one process made it"):
        store.load(tmp_path / "trace.json", 1)


def test_an_archive_of_something_else_is_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(store.StoreError, match="is damaged"):
        store.load(tmp_path / "other.zip")


def test_a_damaged_member_is_an_error(joined: Path) -> None:
    data = bytearray(joined.read_bytes())
    data[80:100] = bytes(20)
    joined.write_bytes(data)
    with pytest.raises(store.StoreError, match="is damaged"):
        store.load(joined)


def test_the_newer_of_both_kinds_of_trace_is_the_last_one(joined: Path, tmp_path: Path) -> None:
    kept = store.keep(replace(trace(0), ranks=1), tmp_path)
    assert store.find(tmp_path) == kept
    goal = rank_store.join(tmp_path, 3, store.made(tmp_path) / store.OF_RANKS) and store.find(tmp_path)
    assert goal == tmp_path / ".autograph" / "trace.zip"
    store.keep(replace(trace(0), ranks=1), tmp_path)
    assert not goal.exists()


def test_a_failure_moves_the_trace_before_it_aside(joined: Path, tmp_path: Path) -> None:
    rank_store.join(tmp_path, 3, store.made(tmp_path) / store.OF_RANKS)
    store.set_aside(tmp_path)
    assert store.load(tmp_path / ".autograph" / "previous.zip", 1).rank == 1
    assert not (tmp_path / ".autograph" / store.OF_RANKS).exists()


@pytest.mark.parametrize("name", [rank_store.LIST, "rank-0.json.gz"])
def test_a_member_that_unpacks_to_more_than_a_trace_is_an_error(joined: Path, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(joined) as old, zipfile.ZipFile(tmp_path / "t.zip", "w", zipfile.ZIP_DEFLATED) as new:
        for each in old.namelist():
            new.writestr(each, bytes(1 << 27) if each == name else old.read(each))
    with pytest.raises(TraceError, match="it unpacks to more than 100 times its size"):
        rank_store.read_rank(tmp_path / "t.zip", 0, rank_store.ranks_in(tmp_path / "t.zip"))
