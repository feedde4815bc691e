"""The last trace is kept whole, or the one before it stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli.graph import Trace, to_json
from autograph_cli.record.run import store
from autograph_cli.record.run.store import StoreError


def test_what_is_kept_is_found_and_read_back(trace: Trace, tmp_path: Path) -> None:
    assert store.keep(trace, tmp_path) == tmp_path / ".autograph" / "trace.json.gz"
    assert store.load(store.find(tmp_path)) == trace


def test_nearest_store_above_is_found(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    store.keep(trace, tmp_path)
    monkeypatch.chdir(deep)
    assert store.find() == tmp_path / ".autograph" / "trace.json.gz"
    near = store.keep(trace, tmp_path / "a")
    assert store.find() == near


def test_no_store_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"^Nothing was recorded here yet; .*autograph run FILE\.py$"):
        store.find(tmp_path)


def test_store_is_not_for_git(trace: Trace, tmp_path: Path) -> None:
    store.keep(trace, tmp_path)
    assert (tmp_path / ".autograph" / ".gitignore").read_text() == "*\n"


def test_only_the_trace_is_left_behind(trace: Trace, tmp_path: Path) -> None:
    store.keep(trace, tmp_path)
    store.keep(trace, tmp_path)
    assert sorted(os.listdir(tmp_path / ".autograph")) == [".gitignore", "trace.json.gz"]


def test_failed_run_without_a_graph_changes_nothing(trace: Trace, tmp_path: Path) -> None:
    last = store.keep(trace, tmp_path)
    assert last is not None
    assert store.keep(Trace("expr.py", failure="ValueError: no"), tmp_path) is None
    assert store.load(last) == trace


def test_failed_run_with_a_graph_moves_the_trace_before_it(trace: Trace, tmp_path: Path) -> None:
    store.keep(trace, tmp_path)
    failed = replace(trace, failure="ValueError: no")
    last = store.keep(failed, tmp_path)
    assert last is not None
    assert store.load(last) == failed
    assert store.load(last.with_name("previous.json.gz")) == trace


def test_write_that_breaks_off_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.svg"
    store.write(path, b"old")

    def fail(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match=r"^Cannot write .*graph.svg: No space left on device\.$"):
        store.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["graph.svg"]


def test_write_goes_through_a_link_and_into_a_device(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    store.write(tmp_path / "link", b"new")
    store.write(Path(os.devnull), b"gone")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert not Path(os.devnull).is_file()


def test_written_files_follow_the_umask(tmp_path: Path) -> None:
    store.write(tmp_path / "graph.svg", b"")
    (tmp_path / "plain").touch()
    assert (tmp_path / "graph.svg").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("position", ["missing/graph.svg", "file/graph.svg", "."])
def test_unwritable_place_is_named(tmp_path: Path, position: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"^Cannot write "):
        store.write(tmp_path / position, b"")


BROKEN: dict[str, Callable[[str], bytes]] = {
    "truncated": lambda text: text[: len(text) // 2].encode(),
    "from a newer version": lambda text: text.replace('"version": 7', '"version": 99').encode(),
    "another file": lambda text: b"<svg></svg>",
    "another JSON": lambda text: b"[1, 2]",
    "binary": lambda text: bytes(range(256)),
    "empty": lambda text: b"",
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_no_whole_trace_is_refused_in_one_sentence(trace: Trace, tmp_path: Path, what: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(BROKEN[what](to_json(trace)))
    with pytest.raises(StoreError) as caught:
        store.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_trace_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"^Cannot read .*gone.json: No such file or directory\.$"):
        store.load(tmp_path / "gone.json")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("failure", ["", "ValueError: bad"])
@pytest.mark.parametrize("name", [store.LAST, store.PREVIOUS, store.FORMER, ".gitignore"])
def test_a_link_in_the_store_overwrites_nothing(trace: Trace, tmp_path: Path, name: str, failure: str) -> None:
    """What comes with a folder of others may lead anywhere."""
    other = tmp_path / "other"
    other.write_text("of a person")
    (tmp_path / store.FOLDER).mkdir()
    (tmp_path / store.FOLDER / name).symlink_to(other)
    store.keep(replace(trace, failure=failure), tmp_path)
    assert other.read_text() == "of a person"
    assert store.load(tmp_path / store.FOLDER / store.LAST) == replace(trace, failure=failure)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders")
def test_a_pipe_in_the_store_stops_nothing(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / store.FOLDER).mkdir()
    for name in (store.LAST, store.OF_RANKS, ".gitignore", ".autograph-0123456789ab.tmp"):
        os.mkfifo(tmp_path / store.FOLDER / name)
    with pytest.raises(store.StoreError, match="Nothing was recorded here"):
        store.find(tmp_path)
    store.keep(trace, tmp_path)
    assert store.load(store.find(tmp_path)) == trace


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no owners")
def test_a_store_of_another_user_is_not_taken_from_above(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.keep(trace, tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()
    assert store.find(inner).parent.parent == tmp_path
    if os.geteuid():
        monkeypatch.setattr(os, "geteuid", lambda: -1)
    else:
        os.chown(tmp_path / store.FOLDER, 12_345, -1)
    with pytest.raises(store.StoreError, match="is another user's; to look at it, name it"):
        store.find(inner)
    assert store.find(tmp_path).parent.parent == tmp_path
