"""What all tests share: the commands in a process of their own, a small hand-made trace, and that nothing is left behind."""

from __future__ import annotations

import atexit
import contextlib
import gc
import multiprocessing.resource_tracker
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograph_cli.graph import Edge, Graph, Node, Output, Pass, Root, Saved, Source, Step, TensorType, Trace
from tests import inside
from tests.processes import finished

ROOT = Path(__file__).parent.parent
Run = Callable[..., subprocess.CompletedProcess[str]]

# Who starts the tests may ignore signals (nohup, a job in the background), and processes inherit that.
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    if signal.getsignal(number := getattr(signal, name, signal.SIGINT)) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)

# Or forbid to keep compiled modules, so that each of the hundreds of processes that tests start would compile all of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With AUTOGRAPH_SHUFFLE=seed the tests run in another order: files, and tests within them."""
    if seed := os.environ.get("AUTOGRAPH_SHUFFLE"):
        items.sort(key=lambda item: item.nodeid)
        random.Random(seed).shuffle(items)


@pytest.fixture(scope="session", autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the temporary files of all tests and of the processes that they start: pytest removes it."""
    own = tmp_path_factory.mktemp("t")
    os.environ["TMPDIR"] = tempfile.tempdir = str(own)
    return own


def _children() -> set[int]:
    """The processes that this one has started and that have not ended, but for Python's own; none where that cannot be asked."""
    found = set()
    for thread in os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else ():
        with (
            contextlib.suppress(OSError),
            open(f"/proc/self/task/{thread}/children") as file,
        ):  # the thread may have ended
            found |= set(map(int, file.read().split()))
    return found - {getattr(multiprocessing.resource_tracker._resource_tracker, "_pid", None)}


def _traces() -> dict[str, set[object]]:
    kept = ("__pycache__", ".")  # of tools
    files = {name for folder in (ROOT, Path.cwd()) for name in os.listdir(folder) if not name.startswith(kept)}
    return {"threads": set(threading.enumerate()), "processes": _children(), "files": files}


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """A test ends its threads and processes, and leaves no file in the project or the current folder."""
    before = _traces()
    yield
    for patience in (0.0, 0.05, 0.2, 1.0, 3.0, 10.0, 30.0):
        if patience:
            time.sleep(patience)  # a process that was told to end needs a moment
            gc.collect()  # an exception keeps what its frames hold
        left = {what: found - before[what] for what, found in _traces().items()}
        if not any(left.values()):
            return
    assert not any(left.values()), f"left behind: {left}"


@pytest.fixture(autouse=True)
def every_mode_is_as_before() -> Iterator[None]:
    """A test that switches a mode of the engine, such as its default dtype, switches it back."""
    before = inside.modes()
    yield
    after = inside.modes()
    changed = {name: (x, after[name]) for name, x in before.items() if after[name] is not x and after[name] != x}
    assert not changed, f"switched, and not back: {changed}"


@pytest.fixture(autouse=True)
def nothing_is_served_after_a_test() -> Iterator[None]:
    """A command that ran in this process keeps some things until the process ends: `import torch`, `__main__`,
    `sys.argv`, how often the collector looks, and at what; and a script may set variables of the environment."""
    thresholds, variables = gc.get_threshold(), dict(os.environ)
    yield
    if (now := dict(os.environ)) != variables:
        for name in now.keys() - variables.keys():
            del os.environ[name]
        os.environ.update(variables)
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    runner = sys.modules.get("autograph_cli.record.run.runner")
    while runner is not None and runner._held:
        held = runner._held.pop()
        atexit.unregister(held.close)
        held.close()


@pytest.fixture
def python(tmp_path: Path) -> Run:
    """Run this Python in a folder of the test's own; returns the finished process, with text streams."""

    def run(*args: str, input: str = "", cwd: Path = tmp_path, **env: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        return finished(
            [sys.executable, *args],
            input=input,
            cwd=cwd,
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
