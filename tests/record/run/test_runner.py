"""A script behaves under the runner as it does under `python`: same output, same errors, same exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.graph import Source, Trace
from autograph_cli.record.run import store
from autograph_cli.record.run.runner import FAILED, Result, Target, TargetError, record, run
from tests.processes import PATIENCE

ROOT = Path(__file__).parents[3]
Run = Callable[..., subprocess.CompletedProcess[str]]

RUNNER = """
import sys
from autograph_cli.record.run.runner import Target, run
module = sys.argv[1] == "-m"
name, *args = sys.argv[1 + module:]
sys.exit(run(Target.of(name, tuple(args), module=module), until_exit=True).exit_code)
"""

SCRIPTS = {
    "arguments": "import sys; print(sys.argv)",
    "names": "print(__name__, __file__, __spec__, __package__, __doc__, __builtins__)",
    "docstring": "'''about'''\nprint(__doc__)",
    "path": "import os, sys; print(sys.path[0], os.getcwd())",
    "main is importable": "import __main__, sys\nx = 3\nprint(__main__.x, vars(__main__) is globals())",
    "pickling": "import pickle\nclass A: ...\nprint(pickle.loads(pickle.dumps(A())).__class__ is A)",
    "neighbour": "import neighbour; print(neighbour.value)",
    "standard input": "import sys; print(input(), sys.stdin.read())",
    "exit number": "import sys; sys.exit(7)",
    "exit text": "import sys; sys.exit('no luck')",
    "exit nothing": "import sys; sys.exit()",
    "exit object": "raise SystemExit([1, 2])",
    "exit true": "raise SystemExit(True)",
    "exception": "def f(n):\n    return 1 / n\nf(0)",
    "exception of several lines": "raise ValueError('one\\ntwo')",
    "chained": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e",
    "in context": "try:\n    {}['a']\nexcept KeyError:\n    raise ValueError('b')",
    "exception in a library": "import json\njson.loads('{')",
    "exception in a neighbour": "import neighbour\nneighbour.fail()",
    "syntax error": "x = 1\ny = = 2\n",
    "indentation error": "if True:\nprint()\n",
    "missing import": "import not_there_at_all",
    "latin-1": b"# coding: latin-1\nprint('\xe9')\n",
    "own hook": "import sys\nsys.excepthook = lambda t, v, tb: print('hook', t.__name__, tb.tb_lineno)\n1 / 0",
    "atexit": "import atexit, sys\natexit.register(lambda: print('bye', __name__, sys.argv))\nprint('hi')",
    "atexit imports main": "import atexit\natexit.register(lambda: print(__import__('__main__').x))\nx = 4",
    "deleted at exit": "class X:\n    def __del__(self): print('del')\nx = X()\nprint('end')",
    "deleted after sys.exit": "import sys\nclass X:\n    def __del__(self): print('del')\nx = X()\nsys.exit(3)",
    "threads": "import threading, time\nt = lambda: (time.sleep(0.1), print('late'))\n"
    "threading.Thread(target=t).start()\nprint('first')",
    "open executor": "from concurrent.futures import ThreadPoolExecutor\n"
    "pool = ThreadPoolExecutor(2)\nprint(pool.submit(pow, 2, 3).result())",
    "warning": "import warnings; warnings.warn('careful')",
    "deprecation is shown in main": "import warnings; warnings.warn('old', DeprecationWarning)",
    "fork": "import os, sys\nif os.fork() == 0:\n    sys.exit(3)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
    "fork that fails": "import os, sys\nif os.fork() == 0:\n    1 / 0\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
    "future is not inherited": "def f(x: 1): ...\nprint(f.__annotations__)",
    "globals": (
        "print(sorted(globals()), __name__, __doc__, __package__, __annotations__, __spec__ and __spec__.name)\n"
        "print(getattr(__loader__, '__name__', type(__loader__)), __builtins__, globals().get('__cached__'))"
    ),
    "no write": "import sys; sys.stdout.write('no newline')",
}

CHILDREN = """
import multiprocessing as mp, sys
def square(x):
    return x * x
if __name__ == "__main__":
    with mp.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(square, [1, 2, 3]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return where the scripts are: not where they are run."""
    path = tmp_path / "scripts"
    path.mkdir()
    (path / "neighbour.py").write_text("value = 5\ndef fail():\n    raise OSError(2, 'gone')\n")
    return path


def same(python: Run, *args: str, input: str = "") -> subprocess.CompletedProcess[str]:
    """The result under the runner, after a look that Python's is the same."""
    expected = python(*args, input=input)
    ours = python("-c", RUNNER, *args, input=input)
    assert ours.stdout == expected.stdout
    assert ours.stderr == expected.stderr
    raised = expected.returncode == 1 and "Error" in expected.stdout + expected.stderr
    assert ours.returncode == (FAILED if raised else expected.returncode)
    return ours


@pytest.mark.parametrize("name", SCRIPTS)
def test_file_runs_as_under_python(python: Run, folder: Path, name: str) -> None:
    script = folder / "script.py"
    source = SCRIPTS[name]
    script.write_bytes(source if isinstance(source, bytes) else source.encode())
    same(python, "scripts/script.py", "--flag", "-x", "a b", input="one\ntwo\n")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_the_script_find_its_main(python: Run, folder: Path, method: str) -> None:
    if method not in __import__("multiprocessing").get_all_start_methods():
        pytest.skip(f"{method} is not of this system")
    (folder / "script.py").write_text(CHILDREN)
    assert same(python, "scripts/script.py", method).stdout == "[1, 4, 9]\n"


def test_imports_are_served_in_a_spawned_child(python: Run, folder: Path) -> None:
    (folder / "script.py").write_text(
        "import multiprocessing as mp, sys\n"
        "def finders():\n    print([f for f in sys.meta_path if type(f).__name__ == 'EngineFinder'] != [])\n"
        "if __name__ == '__main__':\n    p = mp.get_context('spawn').Process(target=finders); p.start(); p.join()\n"
    )
    assert python("-c", RUNNER, "scripts/script.py").stdout == "True\n"


def test_module_runs_as_under_python(python: Run, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("print('package')\n")
    (package / "__main__.py").write_text("import sys\nprint(sys.argv, __name__, __spec__.name, __package__)\n")
    (package / "other.py").touch()
    (package / "names.py").write_text(str(SCRIPTS["globals"]))
    (package / "part.py").write_text("from . import other\nimport sys\nprint(sys.argv, sys.path[0], __file__)")
    assert "__main__.py" in same(python, "-m", "package", "--flag").stdout
    assert "part.py" in same(python, "-m", "package.part", "-x", "y").stdout
    same(python, "-m", "package.names")


def test_exception_while_the_package_is_imported_is_the_scripts(python: Run, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("1 / 0\n")
    result = python("-c", RUNNER, "-m", "package")
    assert result.returncode == FAILED
    assert "autograph_cli" not in result.stderr
    assert result.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_standard_input_runs_as_under_python(python: Run) -> None:
    same(python, "-", "a", "-b", input="import sys\nprint(sys.argv, repr(sys.path[0]), __name__, __file__)\n")
    same(python, "-", input=str(SCRIPTS["globals"]))


def test_lines_of_standard_input_can_be_looked_up(python: Run) -> None:
    script = "import inspect\ndef f(): return 1\nprint(inspect.getsource(f))\n"
    assert python("-c", RUNNER, "-", input=script).stdout == "def f(): return 1\n\n"


def test_no_frame_of_ours_is_shown(python: Run, folder: Path) -> None:
    (folder / "script.py").write_text("from autograph_cli.graph import from_json\ndef f():\n    from_json('x')\nf()\n")
    result = python("-c", RUNNER, "scripts/script.py")
    lines = result.stderr.splitlines()
    assert [line.split(",")[1] for line in lines if line.startswith("  File ")] == [" line 4", " line 3"]
    assert "During handling" not in result.stderr
    assert lines[-1].startswith("autograph_cli.graph.errors.TraceError: ")


@pytest.mark.parametrize(
    ("source", "said", "frames"),
    [
        (b"# coding: nonsense\n", "SyntaxError: ", 1),
        (b"print('\xe9')\n", "SyntaxError: ", 1),
        (b"def f(): f()\nf()\n", "RecursionError: maximum recursion depth exceeded", 4),
        (b"import torchaudio\n", "torchaudio is built on PyTorch itself", 1),
    ],
)
def test_an_error_is_told_by_its_last_line(python: Run, folder: Path, source: bytes, said: str, frames: int) -> None:
    (folder / "script.py").write_bytes(source)
    (folder / "torchaudio.py").touch()
    result = python("-c", RUNNER, "scripts/script.py")
    assert said in result.stderr.splitlines()[-1]
    assert result.stderr.count("File ") == frames
    assert ("Traceback" in result.stderr) == (said != "SyntaxError: ")
    assert result.returncode == FAILED


def test_interrupt_ends_the_script_only(folder: Path, tmp_path: Path) -> None:
    (folder / "script.py").write_text("print('ready', flush=True)\nwhile True: pass\n")
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, "scripts/script.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT & 0xFF
    assert errors.endswith("KeyboardInterrupt\n")
    assert errors.count("File ") == 1


@contextmanager
def unchanged() -> Iterator[None]:
    before = sys.argv, list(sys.path), sys.modules["__main__"], list(sys.meta_path)
    yield
    assert (sys.argv, list(sys.path), sys.modules["__main__"], list(sys.meta_path)) == before


@pytest.mark.parametrize("source", ["x = 1", "raise SystemExit(2)", "1 / 0"])
def test_interpreter_is_as_before_afterwards(folder: Path, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "script.py").write_text(source)
    with unchanged():
        run(Target.of(str(folder / "script.py")))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1", Result(0)),
        ("raise SystemExit(2)", Result(2, "SystemExit: 2")),
        ("raise SystemExit(0)", Result(0)),
        ("raise ValueError('one\\ntwo')", Result(FAILED, "ValueError: one")),
        ("class Own(Exception): ...\nraise Own", Result(FAILED, "Own")),
        ("x = = 1", Result(FAILED, "SyntaxError: invalid syntax (script.py, line 1)")),
    ],
)
def test_result_tells_how_it_ended(
    folder: Path, source: str, expected: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "script.py").write_text(source)
    result = run(Target.of(str(folder / "script.py")))
    assert (result.exit_code, result.failure) == (expected.exit_code, expected.failure)


def test_hooks_stand_around_the_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "script.py").write_text("print('script')\nx = 1")

    def after(result: Result) -> None:
        print("after", result.scope["x"], sys.modules["__main__"].__file__ == str(folder / "script.py"))

    run(Target.of(str(folder / "script.py")), before=lambda: print("before"), after=after)
    assert capsys.readouterr().out == "before\nscript\nafter 1 True\n"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Target.of("missing.py"), "Cannot read missing.py: No such file or directory."),
        (Target.of("."), "Cannot read .: Is a directory."),
        (Target.of("not_there", module=True), "There is no module named not_there."),
        (Target.of("not_there.part", module=True), "There is no module named not_there.part."),
        (Target.of("math", module=True), "Cannot run math: it has no Python code."),
        (Target.of("email", module=True), "There is no module named email.__main__."),
    ],
)
def test_what_cannot_be_run_is_named(target: Target, message: str) -> None:
    with unchanged(), pytest.raises(TargetError) as caught:
        run(target)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("target", "label"),
    [
        (Target.of("some/where/expr.py"), "expr.py"),
        (Target.of("package.part", module=True), "package.part"),
        (Target.of("-"), "<stdin>"),
    ],
)
def test_label_does_not_tell_the_folder(target: Target, label: str) -> None:
    assert target.label == label


class FakeRecorder:
    def __init__(self) -> None:
        self.events: list[str] = []

    def start(self) -> None:
        self.events.append("start")

    def finish(self, scope: dict[str, Any]) -> Trace:
        self.events.append(f"finish {scope.get('x')}")
        return Trace("script.py", total_steps=2)


def test_recorder_is_started_and_finished_and_told_the_failure(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "script.py").write_text("x = 1\n1 / 0\n")
    recorder = FakeRecorder()
    result, trace = record(Target.of(str(folder / "script.py")), recorder=recorder)
    assert recorder.events == ["start", "finish 1"]
    line = Source("script.py", 2, "1 / 0")
    digest = store.digest_of((folder / "script.py").read_bytes())
    failure = "ZeroDivisionError: division by zero"
    assert trace == Trace("script.py", total_steps=2, failure=failure, failed_at=line, digest=digest)
    assert result.exit_code == FAILED


def test_derivatives_made_after_the_script_name_none_of_the_callers_lines() -> None:
    _, trace = record(Target.of(str(ROOT / "tests" / "programs" / "02_logits_loss.py")))
    double = trace.steps[-1].double
    assert double is not None
    assert {node.source.file for node in double if node.source} == {"02_logits_loss.py"}


def test_defaults_that_a_script_changes_are_put_back(tmp_path: Path) -> None:
    from autograph_cli import torch

    script = tmp_path / "changes.py"
    script.write_text("import torch\ntorch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\n")
    record(Target.of(str(script)))
    assert torch.get_default_dtype() is torch.float32
    assert torch.is_grad_enabled()


LEAVING = """
import os, threading, torch
threading.Thread(target=threading.Event().wait).start()
w = torch.ones(3, requires_grad=True)
w.sum().backward()
print("not written out", end="")
if not os.fork():
    os._exit(1)
os.wait()
try:
    os._exit(5)
finally:
    print("not run")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_anomaly_mode_shows_the_scripts_lines_alone(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import torch\n"
        "with torch.autograd.set_detect_anomaly(True):\n"
        "    torch.sqrt(-torch.ones(2, requires_grad=True)).sum().backward()\n"
    )
    lines = [line for line in autograph("run", "-q", "script.py").stderr.splitlines() if line.startswith('  File "')]
    assert len(lines) == 2  # of the forward call, and of the error
    assert all("script.py" in line for line in lines)


def test_a_script_that_leaves_by_os_exit_keeps_its_trace(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text(LEAVING)
    done = autograph("run", "-o", "t.json", "leaving.py", PYTHONUNBUFFERED="")
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.count("failed   os._exit(5); what was recorded before is kept") == 1
    assert store.load(tmp_path / "t.json").steps
