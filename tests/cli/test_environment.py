"""What surrounds a command goes wrong: its folder, its output, a signal. The answer is a sentence, never a traceback of ours."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from autograph_cli.record.run import runner, store
from autograph_cli.testing import recording
from tests.conftest import Run
from tests.processes import PATIENCE

ROOT = Path(__file__).parent.parent.parent
EXPR = "import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * 2).sum()\n"
Done = subprocess.CompletedProcess[bytes]
needs_unix = pytest.mark.skipif(os.name == "nt", reason="there are no such devices and signals")
COMMANDS = ["show", "info", "render -o -", "render -f text -o /dev/stdout", "why y x", "snapshot expr.py"]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a script and the trace of its run."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "expr.py").write_text(EXPR)
    target = runner.Target.of(str(folder / "expr.py"), ())
    _, trace = runner.record(target, "first,last")
    (folder / store.FOLDER).mkdir()
    store.save(replace(trace, script="expr.py"), folder / store.FOLDER / store.LAST)
    return folder


@pytest.fixture
def shell(tmp_path: Path, traced: Path) -> Callable[..., Done]:
    """Run a line of the shell, in which `autograph` is the command, in a folder of the test's own."""
    shutil.copytree(traced, tmp_path, dirs_exist_ok=True)
    start = f'autograph() {{ "{sys.executable}" -m autograph_cli "$@"; }}\n'

    def run(line: str, **env: str) -> Done:
        return subprocess.run(
            ["bash", "-c", start + line],
            cwd=tmp_path,
            capture_output=True,
            timeout=PATIENCE,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **env},
        )

    return run


@needs_unix
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("where", ["> /dev/full", ">&-"])
def test_output_that_cannot_be_written_is_one_sentence(shell: Callable[..., Done], command: str, where: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no device that is full")
    if command == "render -f text -o /dev/stdout" and where == ">&-":
        return  # the system says that there is no such file
    done = shell(f"autograph {command} {where}")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(b"Error: Cannot write ")


@needs_unix
@pytest.mark.parametrize("command", ["show", "render -o -", "snapshot expr.py"])
def test_nobody_reads_on(shell: Callable[..., Done], command: str) -> None:
    done = shell(f"autograph {command} | true")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "utf-16"])
def test_output_that_cannot_encode_gets_escapes(
    cli: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    (tmp_path / "expr.py").write_text(EXPR.replace("y =", "变量 ="), "utf-8")
    _, trace = runner.record(runner.Target.of(str(tmp_path / "expr.py")))
    monkeypatch.setattr(recording, "record", lambda *_, **__: recording.Recording(trace))  # in no process of its own
    for command in (
        "run -q expr.py",
        "show",
        "snapshot expr.py",
        "info",
        "snapshot expr.py",
        "why 变量 x",
        "render -f text -o -",
    ):
        result = cli(*command.split(), charset=encoding)
        assert result.exit_code == 0, (command, result.exception)
        if not command.startswith("render"):  # a picture is UTF-8 always
            result.stdout_bytes.decode(encoding)


@needs_unix
def test_processes_of_such_output_get_escapes_too(shell: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(EXPR.replace("y =", "变量 ="), "utf-8")
    done = shell("autograph show expr.py && autograph snapshot expr.py", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"\\u53d8\\u91cf" in done.stdout


@needs_unix
@pytest.mark.parametrize(
    "command", ["run {}/expr.py", "show", "render", "render {}/expr.py", "snapshot x.py", "diff a.py b.py", "why a b"]
)
def test_folder_that_was_removed_is_one_sentence(
    cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, traced: Path, tmp_path: Path, command: str
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    result = cli(*command.format(traced).split())
    assert result.exit_code == 2
    assert result.stderr == "Error: The working directory cannot be used: No such file or directory.\n"
    assert isinstance(result.exception, SystemExit)


@needs_unix
def test_process_in_a_folder_that_was_removed_says_so(shell: Callable[..., Done]) -> None:
    done = shell("mkdir gone; cd gone; rmdir ../gone; autograph show")
    assert done.stderr == b"Error: The working directory cannot be used: No such file or directory.\n"


def test_folder_that_cannot_be_read_is_one_sentence(
    cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_file", refused)
    for command in (["show"], ["render"], ["snapshot", "a.py"]):
        result = cli(*command)
        assert result.stderr.startswith("Error: Cannot use ")
        assert result.stderr.endswith(": Permission denied.\n")
        assert result.stderr.count("\n") == 1


@needs_unix
@pytest.mark.parametrize("position", ["/dev/stdout", ">(cat)"])
def test_pictures_go_into_pipes(shell: Callable[..., Done], position: str) -> None:
    done = shell(f"autograph render -f text -o {position}")
    assert done.stdout.startswith(b"graph: 3 nodes"), done.stderr
    assert done.returncode == 0


@needs_unix
def test_picture_goes_to_the_end_of_a_file_that_is_stdout(shell: Callable[..., Done], tmp_path: Path) -> None:
    shell("echo before > out.txt; autograph render -f text -o /dev/stdout >> out.txt; echo after >> out.txt")
    lines = (tmp_path / "out.txt").read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert lines[1].startswith("graph: ")


@needs_unix
@pytest.mark.parametrize("code", [0, 3])
def test_exit_code_is_the_scripts_even_if_the_trace_cannot_be_written(
    shell: Callable[..., Done], tmp_path: Path, code: int
) -> None:
    (tmp_path / "expr.py").write_text(EXPR + f"import sys; sys.exit({code})\n")
    done = shell("autograph run -o no/such/folder.json expr.py")
    assert done.returncode == (code or 2)
    assert b"Error: Cannot write " in done.stderr


@needs_unix
@pytest.mark.parametrize("command", ["show expr.py", "render -o - expr.py", "why y x expr.py"])
def test_a_folder_that_cannot_be_written_still_shows_the_graph(shell: Callable[..., Done], command: str) -> None:
    shell("rm -r .autograph; touch .autograph")  # what a read-only folder is to root, who may write anywhere
    done = shell(f"autograph {command}")
    assert done.returncode == 0
    assert done.stdout
    assert b"The trace is not kept. Cannot write " in done.stderr
    assert b"To keep the trace elsewhere: autograph run -o FILE.\n" in shell("autograph run expr.py").stderr


INTERRUPTED = {
    "raised": "raise KeyboardInterrupt",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "after text was executed": "exec('x = 1'); raise KeyboardInterrupt",
    "within text": "exec('raise KeyboardInterrupt')",
    "in a thread's join": "import _thread, threading\n_thread.interrupt_main()\nthreading.Event().wait()",
}
INSTALLED = "import sys\nfrom autograph_cli.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
"""The command that an installer puts on PATH."""


STARTS = {"module": ["-m", "autograph_cli"], "installed": ["autograph"]}


@needs_unix
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("how", INTERRUPTED)
def test_interrupted_script_ends_as_under_python(python: Run, tmp_path: Path, how: str, start: str) -> None:
    (tmp_path / "s.py").write_text(f"import atexit; atexit.register(print, 'at exit')\n{INTERRUPTED[how]}\n")
    (tmp_path / "autograph").write_text(INSTALLED)
    ends = [python(*words, "s.py") for words in ([], [*STARTS[start], "run", "-q"])]
    told = [(done.returncode, done.stdout, done.stderr) for done in ends]
    assert told[0] == told[1]
    assert told[0][0] == -signal.SIGINT


@needs_unix
@pytest.mark.parametrize("command", ["run s.py", "show s.py", "explain s.py", "inspect s.py y"])
def test_interrupted_script_leaves_what_was_recorded(python: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "s.py").write_text(f"{EXPR}y.backward()\nraise KeyboardInterrupt\n")
    (tmp_path / "autograph").write_text(INSTALLED)
    done = python("autograph", *command.split())
    assert done.returncode == -signal.SIGINT, done.stderr
    if not command.startswith("inspect"):  # which keeps no trace
        assert store.load(tmp_path / store.FOLDER / store.LAST).failure == "KeyboardInterrupt"


@needs_unix
def test_ctrl_c_while_the_command_is_imported_is_silent(tmp_path: Path) -> None:
    """The module that is imported last of all raises what Ctrl-C does."""
    code = (
        "import sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'autograph_cli.cli.main': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "from autograph_cli.cli import main\n"
        "main()\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, "info"], cwd=tmp_path, capture_output=True, env=env, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


@needs_unix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("command", ["snapshot kills.py", "diff --rev HEAD kills.py"])
def test_a_signal_leaves_no_temporary_folder(
    shell: Callable[..., Done], tmp_path: Path, number: int, command: str
) -> None:
    if command.startswith("diff") and number == signal.SIGKILL:
        return  # nothing can be done then
    (tmp_path / "kills.py").write_text(f"import os\nos.kill(os.getppid(), {int(number)})\n")
    (tmp_path / "temporary").mkdir()
    git = "git init -q; git add kills.py; git -c user.name=a -c user.email=a@b commit -qm a; "
    done = shell(git + f"exec {sys.executable} -m autograph_cli {command}", TMPDIR=str(tmp_path / "temporary"))
    assert done.returncode == -number, done.stderr
    assert os.listdir(tmp_path / "temporary") == []


@needs_unix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["snapshot waits.py", "snapshot -j 2 waits.py other.py", "diff waits.py waits.py"])
def test_a_signal_ends_the_scripts_too(shell: Callable[..., Done], tmp_path: Path, number: int, command: str) -> None:
    """The script ends the command that runs it, and is ended before it has slept enough."""
    wait = "import time\ntime.sleep(3600)\n"
    (tmp_path / "other.py").write_text(wait)
    (tmp_path / "waits.py").write_text(
        f"import os\nprint(os.getpid(), file=open('pid', 'w'))\nos.kill(os.getppid(), {int(number)})\n{wait}"
    )
    done = shell(f"exec {sys.executable} -m autograph_cli {command}")
    assert done.returncode == -number, done.stderr
    pid = int((tmp_path / "pid").read_text())
    for _ in range(10 * PATIENCE):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the script went on")


def test_pattern_that_finds_nothing_is_an_error(cli: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, sentence in (("*.nothing", "No script is named *.nothing."), ("empty", "There is no script in empty.")):
        for mode in ([], ["--check"], ["--update"]):
            result = cli("snapshot", *mode, name)
            assert (result.exit_code, result.stderr) == (2, f"Error: {sentence}\n")
    (tmp_path / "pyproject.toml").write_text('[tool.autograph]\nfiles = ["*.nothing"]\n')
    assert cli("snapshot").exit_code == 2


MALFORMED = {
    "empty": "",
    "other text": "hello",
    "conflict": "<<<<<<< ours\n",
    "binary": "\ud8ff\x00",
    "bad quotes": "autograph snapshot 1: expr.py\nholds names\n\n[step 0]\norder 0\n  leaf '\\x': float32[2]\n",
    "no such step": f"autograph snapshot 1: expr.py\nholds names\nsteps {'9' * 5000}\n",
    "a digit that is none": "autograph snapshot 1: expr.py\nholds names\nsteps ²\n",
    "a shape": f"autograph snapshot 1: e\nholds names\n\n[step 0]\norder 0\n  leaf x: float32[{'9' * 5000}]\n",
    "cut off": "autograph snapshot 1: expr.py\nholds names\n\n[step 0]\norder 0\n  y: float32[2] = mul(",
    "a heading": "autograph snapshot 1: expr.py\nholds names\n\n[step 0]\n  leaf x\n",
    "an order": f"autograph snapshot 1: e\nholds names\n\n[step 0]\norder {'9' * 5000}\n  leaf x\n",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_update_mends_a_malformed_snapshot(
    cli: Callable[..., Result], tmp_path: Path, traced: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    trace = store.load(traced / store.FOLDER / store.LAST)
    monkeypatch.setattr(recording, "record", lambda *_, **__: recording.Recording(trace))
    (tmp_path / "expr.py").write_text(EXPR)
    kept = tmp_path / "expr.graph.txt"
    cli("snapshot", "expr.py")
    good = kept.read_bytes()
    kept.write_bytes(MALFORMED[what].encode("utf-8", "surrogatepass"))
    failed = cli("snapshot", "--check", "expr.py")
    assert (failed.exit_code, kept.read_bytes() == good) == (2, False)
    assert cli("snapshot", "--update", "expr.py").exit_code == 0
    assert kept.read_bytes() == good
