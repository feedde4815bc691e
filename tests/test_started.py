"""A process that others start is recorded where AUTOGRAPH is in the environment, and says and does what it did."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
needs_pytorch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
SCRIPT = """\
import torch
w = torch.ones(3, requires_grad=True)
for _ in range(5):
    loss = (w * 2).sum()
    loss.backward()
print(loss.item())
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder in which Python finds, when it starts, the line that the installed package has for it."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text((ROOT / "packaging" / "autograph.pth").read_text())
    return folder


def python(site: Path, asked: str | None, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "AUTOGRAPH"}
    environment |= {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {} if asked is None else {"AUTOGRAPH": asked}
    return subprocess.run(
        [sys.executable, *args], env=environment, cwd=site.parent, capture_output=True, text=True, check=False
    )


@needs_pytorch
@pytest.mark.parametrize(
    ("asked", "kept"), [("1", [0, 4]), ("--steps all", [0, 1, 2, 3, 4]), ("-q --steps 2 -o t.json", [1])]
)
@pytest.mark.parametrize("module", [False, True])
def test_what_others_start_is_recorded(site: Path, asked: str, kept: list[int], module: bool) -> None:
    (site.parent / "train.py").write_text(SCRIPT)
    done = python(site, asked, *(["-m", "train"] if module else ["train.py"]))
    assert (done.stdout, done.returncode) == ("6.0\n", 0), done.stderr
    file = "t.json" if "t.json" in asked else ".autograph/trace.json.gz"
    assert (site.parent / file).is_file()
    assert bool(done.stderr) == ("-q" not in asked)
    told = python(site, None, "-m", "autograph_cli", "steps", "--json", file)
    assert [row["step"] - 1 for row in json.loads(told.stdout)["kept"]] == kept


@needs_pytorch
@pytest.mark.parametrize(
    ("script", "code"), [("raise SystemExit(3)", 3), ("import torch; torch.ones(2)", 0), ("print(1)", 0)]
)
def test_a_process_that_records_nothing_is_left_as_it_is(site: Path, script: str, code: int) -> None:
    done, plain = (python(site, asked, "-c", script) for asked in ("1", None))
    assert (done.stdout, done.stderr, done.returncode) == (plain.stdout, plain.stderr, code)
    assert not (site.parent / ".autograph").exists()


@needs_pytorch
def test_what_is_no_option_of_a_run_is_refused(site: Path) -> None:
    done = python(site, "--nonsense", "-c", SCRIPT)
    assert (done.stdout, done.returncode) == ("6.0\n", 0)
    assert "AUTOGRAPH must be 1 or options of `autograph run`" in done.stderr


@needs_pytorch
def test_the_command_itself_records_once(site: Path) -> None:
    (site.parent / "train.py").write_text(SCRIPT)
    done = python(site, "1", "-m", "autograph_cli", "run", "-q", "--engine", "torch", "train.py")
    assert (done.stdout, done.stderr, done.returncode) == ("6.0\n", "", 0)


@needs_pytorch
def test_processes_that_run_together_leave_one_trace(site: Path) -> None:
    (site.parent / "ranks.py").write_text(
        "import torch.distributed as dist\n" + SCRIPT + "dist.init_process_group('gloo')\ndist.all_reduce(w.grad)\n"
        "dist.destroy_process_group()\n"
    )
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = python(site, "1", *launcher, "ranks.py")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (site.parent / ".autograph").iterdir() if path.suffix == ".zip"] == ["trace.zip"]
    assert not [path for path in (site.parent / ".autograph").iterdir() if path.is_dir()]
