"""Snapshot files: missing, different, damaged; replaced whole or not at all."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograph_cli.graph import Graph, Section, Snapshot, SnapshotError, read_snapshot
from autograph_cli.graph.snapshot import VERSION
from autograph_cli.testing.files import Mode, load, settle
from tests.conftest import ROOT
from tests.graph.nets import inserted, net

GRAPH = net(20)
OLD = Snapshot("a.py", (Section("step 0", GRAPH),))
NEW = Snapshot("a.py", (Section("step 0", inserted(GRAPH, 5, "cosh")),))


@pytest.fixture(autouse=True)
def not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


@pytest.mark.parametrize(
    ("mode", "there", "status", "kept"),
    [
        ("write", None, "written", NEW),
        ("check", None, "missing", None),
        ("update", None, "written", NEW),
        ("write", NEW, "same", NEW),
        ("check", NEW, "same", NEW),
        ("update", NEW, "same", NEW),
        ("write", OLD, "different", OLD),
        ("check", OLD, "different", OLD),
        ("update", OLD, "updated", NEW),
    ],
)
def test_what_is_done_with_a_snapshot(
    tmp_path: Path, mode: Mode, there: Snapshot | None, status: str, kept: Snapshot | None
) -> None:
    path = tmp_path / "a.graph.txt"
    if there is not None:
        path.write_text(there.to_text())
    assert settle(path, NEW, mode).status == status
    assert [entry.read_text() for entry in tmp_path.iterdir()] == ([] if kept is None else [kept.to_text()])


def test_an_update_also_writes_names_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.graph.txt"
    path.write_text(re.sub(r"\bx\b", "other", NEW.to_text()))
    assert settle(path, NEW, "check").status == "same"
    assert settle(path, NEW, "update").status == "updated"
    assert path.read_text() == NEW.to_text()


def test_a_missing_snapshot_is_an_error_that_names_the_command(tmp_path: Path) -> None:
    path = tmp_path / "a.graph.txt"
    outcome = settle(path, NEW, "check", command="autograph snapshot a.py")
    assert (outcome.exit_code, outcome.error) == (2, f"there is no {path}; write it with: autograph snapshot a.py")


@pytest.mark.parametrize("text", ["", "no snapshot", "<<<<<<< HEAD\n" + OLD.to_text()])
def test_a_damaged_file_fails_and_an_update_mends_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.graph.txt"
    path.write_text(text)
    outcome = settle(path, NEW, "check")
    assert (outcome.status, outcome.exit_code) == ("failed", 2)
    assert path.read_text() == text
    assert settle(path, NEW, "update").status == "updated"


def test_a_file_of_a_newer_version_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.graph.txt"
    newer = OLD.to_text().replace(f"snapshot {VERSION}", "snapshot 99")
    path.write_text(newer)
    outcome = settle(path, NEW, "update")
    assert outcome.status == "failed"
    assert "version 99" in outcome.error
    assert path.read_text() == newer


def test_a_folder_or_other_bytes_are_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="Cannot read"):
        load(tmp_path)
    (tmp_path / "a").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SnapshotError, match="not UTF-8"):
        load(tmp_path / "a")


WRITER = """
import sys
from pathlib import Path
from autograph_cli.graph import read_snapshot
from autograph_cli.testing.files import settle
one, other = (read_snapshot(Path(name).read_text()) for name in sys.argv[2:])
print("ready", flush=True)
while True:
    settle(Path(sys.argv[1]), one, "update")
    settle(Path(sys.argv[1]), other, "update")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed at once here")
def test_killed_at_any_moment_the_file_is_whole(tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("kept.graph.txt", "one", "other")]
    texts = [OLD.to_text(), NEW.to_text()]
    for path, text in zip(names, [texts[0], *texts], strict=True):
        path.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for moment in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, *map(str, names)], stdout=subprocess.PIPE, env=environment
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.003 * moment)
        process.kill()
        process.communicate()
        assert names[0].read_text() in texts


def test_several_runs_in_one_folder_leave_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "kept.graph.txt"
    graphs = [inserted(GRAPH, 5, op) for op in ("cosh", "sinh", "erf")]
    snapshots = [Snapshot("a.py", (Section("step 0", graph),)) for graph in graphs]
    code = (
        "import sys; from pathlib import Path; from autograph_cli.graph import read_snapshot;"
        "from autograph_cli.testing.files import settle;"
        "made = read_snapshot(sys.stdin.read());"
        f"[settle(Path({str(path)!r}), made, 'update') for _ in range(20)]"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, env=environment, text=True)
        for _ in snapshots
    ]
    for process, made in zip(running, snapshots, strict=True):
        process.communicate(made.to_text())
    assert [process.returncode for process in running] == [0, 0, 0]
    assert path.read_text() in [made.to_text() for made in snapshots]
    assert isinstance(read_snapshot(path.read_text()).sections[0].graph, Graph)
    assert list(tmp_path.iterdir()) == [path]
