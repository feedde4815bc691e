"""The pytest plugin, in sessions of its own: stored, compared, updated, unused, and under workers."""

from __future__ import annotations

import importlib.metadata
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run

Pytest = Callable[..., subprocess.CompletedProcess[str]]
INSTALLED = any(entry.value == "autograph_cli.testing.plugin" for entry in importlib.metadata.entry_points(group="pytest11"))
TESTS = '''
import pytest
from autograph_cli import capture, torch


@pytest.fixture
def w():
    return torch.ones(3, requires_grad=True)


def test_loss(graph_snapshot, w):
    loss = torch.tanh(w * 2).sum()
    assert graph_snapshot == loss
    assert graph_snapshot.forward == loss
    assert graph_snapshot.backward == loss
    assert graph_snapshot.double_backward == loss
    assert graph_snapshot("both") == [loss, w.exp()]


@pytest.mark.parametrize("size", [2, 3])
def test_sizes(graph_snapshot, size):
    w = torch.ones(size, requires_grad=True)
    assert graph_snapshot == capture(lambda: w * w)
    assert graph_snapshot == (lambda: w + w)
'''


@pytest.fixture
def session(python: Run, tmp_path: Path) -> Pytest:
    """Run pytest on `test_model.py`, outside of CI unless told otherwise."""
    (tmp_path / "test_model.py").write_text(TESTS)
    plugin = [] if INSTALLED else ["-p", "autograph_cli.testing.plugin"]
    options = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(tmp_path)]
    return lambda *args, **env: python("-m", "pytest", *plugin, *options, *args, **{"CI": "", **env})


def kept(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / "__graphs__" / "test_model").iterdir())}


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "test_model.py"
    path.write_text(path.read_text().replace(old, new))


def test_snapshots_are_written_compared_reviewed_and_accepted(session: Pytest, tmp_path: Path) -> None:
    first = session()
    assert first.returncode == 0, first.stdout
    assert "9 written" in first.stdout
    files = kept(tmp_path)
    assert list(files) == [
        "test_loss.backward.graph.txt", "test_loss.both.graph.txt", "test_loss.double_backward.graph.txt",
        "test_loss.forward.graph.txt", "test_loss.graph.txt", "test_sizes[2].2.graph.txt", "test_sizes[2].graph.txt",
        "test_sizes[3].2.graph.txt", "test_sizes[3].graph.txt",
    ]  # fmt: skip
    edit(tmp_path, "torch.tanh(w * 2)", "torch.tanh(w * 2).relu()")
    failed = session(CI="true")
    assert failed.returncode == 1
    assert "the graph differs from __graphs__/test_model/test_loss.graph.txt" in failed.stdout
    assert "forward gained a `relu`, on `tanh`" in failed.stdout
    assert "+ %relu: float32[3] = relu(%tanh)  grad_fn ReluBackward0(%tanh)" in failed.stdout
    picture = Path(failed.stdout.split("side by side: ")[1].splitlines()[0])
    assert picture.read_text().count("<svg ") == 3
    assert kept(tmp_path) == files
    updated = session("--graph-update")
    assert updated.returncode == 0
    assert "5 updated" in updated.stdout
    assert session(CI="true").returncode == 0


def test_a_missing_snapshot_fails_in_ci(session: Pytest, tmp_path: Path) -> None:
    failed = session("-k", "sizes", CI="true")
    assert "graph_snapshot: there is no " in failed.stdout
    assert not list((tmp_path / "__graphs__" / "test_model").iterdir())


def test_unused_snapshots_are_told_and_removed_with_an_update(session: Pytest, tmp_path: Path) -> None:
    session()
    folder = tmp_path / "__graphs__" / "test_model"
    (folder / "test_gone.graph.txt").write_text("old")
    (folder / "test_loss.9.graph.txt").write_text("old")
    (tmp_path / "__graphs__" / "test_old").mkdir()
    (tmp_path / "__graphs__" / "test_old" / "test_x.graph.txt").write_text("old")
    part = session("-k", "sizes", "--graph-update")
    assert "test_gone" not in part.stdout
    told = session()
    assert [line for line in told.stdout.splitlines() if line.startswith("unused")] == [
        "unused: __graphs__/test_model/test_gone.graph.txt",
        "unused: __graphs__/test_model/test_loss.9.graph.txt",
        "unused: __graphs__/test_old/test_x.graph.txt",
    ] or "removed: __graphs__/test_old/test_x.graph.txt" in part.stdout
    removed = session("--graph-update")
    assert "removed: __graphs__/test_model/test_gone.graph.txt" in removed.stdout
    assert len(kept(tmp_path)) == 9


def test_workers_send_home_what_they_used(session: Pytest, tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    assert "9 written" in session("-n", "2").stdout
    (tmp_path / "__graphs__" / "test_model" / "test_gone.graph.txt").write_text("old")
    again = session("-n", "2")
    assert [line for line in again.stdout.splitlines() if "unused" in line] == [
        "unused: __graphs__/test_model/test_gone.graph.txt"
    ]


def test_tensors_of_pytorch_are_compared_too(session: Pytest, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "test_model.py").write_text(
        "import torch\n\ndef test_real(graph_snapshot):\n    model = torch.nn.Linear(3, 2)\n"
        "    loss = model(torch.ones(4, 3)).tanh().sum()\n    assert graph_snapshot == loss\n"
        "    assert graph_snapshot.double_backward == loss\n"
    )
    assert session().returncode == 0
    assert "leaf model.weight: float32[2, 3]" in kept(tmp_path)["test_real.graph.txt"]
    edit(tmp_path, ".tanh()", ".sigmoid()")
    failed = session()
    assert "`TanhBackward0` became `SigmoidBackward0`" in failed.stdout or "`tanh` became `sigmoid`" in failed.stdout
