"""What tests of all rooms share: the commands in a process of their own, and a small hand-made trace."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograph_cli.graph import Edge, Graph, Node, Output, Pass, Root, Saved, Source, Step, TensorType, Trace

ROOT = Path(__file__).parent.parent
needs_columns = pytest.mark.skipif(sys.version_info < (3, 11), reason="before Python 3.11 code keeps no columns")
"""For tests in which a name is known by the column of what it is bound to."""
Run = Callable[..., subprocess.CompletedProcess[str]]

# Who starts the tests may ignore signals (nohup, a job in the background), and processes inherit that.
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    if signal.getsignal(number := getattr(signal, name, signal.SIGINT)) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)


@pytest.fixture(autouse=True)
def nothing_is_served_after_a_test() -> Iterator[None]:
    """What a command that ran in this process keeps until the process ends: `import torch`, `__main__`, `sys.argv`."""
    yield
    runner = sys.modules.get("autograph_cli.record.runner")
    while runner is not None and runner._held:
        held = runner._held.pop()
        atexit.unregister(held.close)
        held.close()


@pytest.fixture
def python(tmp_path: Path) -> Run:
    """Run this Python in a folder of the test's own; returns the finished process, with text streams."""

    def run(*args: str, input: str = "", cwd: Path = tmp_path, **env: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        return subprocess.run(
            [sys.executable, *args],
            input=input,
            cwd=cwd,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", **env},
        )

    return run


@pytest.fixture
def autograph(python: Run) -> Run:
    """Run an `autograph` command line in a folder of the test's own."""
    return lambda *args, **options: python("-m", "autograph_cli", *args, **options)


@pytest.fixture
def product() -> Graph:
    """The graph of `y = w * x`, where `w` is a leaf and `x` needs no gradient."""
    vector = TensorType("float32", (3,))
    saved = (Saved("_saved_self", vector, bytes=12, storage=0), Saved("_saved_other", vector, bytes=12, storage=1))
    return Graph(
        nodes=(
            Node(0, "leaf", "AccumulateGrad", "", (Output(vector, ("w",)),)),
            Node(1, "input", "Input", "", (Output(vector, ("x",)),)),
            Node(
                2,
                "operation",
                "MulBackward0",
                "mul",
                (Output(vector, ("y",)),),
                next=(Edge(0), None),
                args=(Edge(0), Edge(1)),
                source=Source("expr.py", 5, "y = w * x"),
                saved=saved,
            ),
        ),
        roots=(Root("y", 2),),
        passes=(Pass(0, "backward", 1, False, (Edge(2),), ran=(2, 0)),),
    )


@pytest.fixture
def trace(product: Graph) -> Trace:
    """A run of `expr.py` that kept its only step."""
    return Trace("expr.py", (Step(0, product),), total_steps=1)
