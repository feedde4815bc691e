"""Files are replaced whole or not at all, whatever ends the process, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autograph_cli.atomic_files import atomic_write
from tests.processes import PATIENCE, finished

ROOT = Path(__file__).parent.parent
WRITES = """
import sys, time
from autograph_cli.atomic_files import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write(b"new")
    file.flush()
    print("half", flush=True)
    time.sleep(3600)
"""


KILLED_AT_EACH_LINE = """
import os, signal, sys
from autograph_cli import atomic_files

goal = sys.argv[1]
seen = []

def write(line):
    "Write the file, and be killed before this line of the module runs; counted from the beginning of the write."
    lines = iter(range(line - 1, -1, -1))
    def trace(frame, event, argument):
        if frame.f_code.co_filename != atomic_files.__file__:
            return None
        if event == "line" and next(lines) == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)
    with atomic_files.atomic_write(goal) as file:
        file.write(b"new" * 10_000)
    sys.settrace(None)

for line in range(1, 1000):
    open(goal, "wb").write(b"old")
    child = os.fork()
    if not child:
        write(line)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    seen.append({b"old": "old", b"new" * 10_000: "new"}.get(open(goal, "rb").read(), "torn"))
    if not status:
        break
print(line, *dict.fromkeys(seen), len(os.listdir(os.path.dirname(goal))))
"""


ENDED_AT_EACH_LINE_OF_A_THREAD = """
import os, signal, sys, threading
from autograph_cli import atomic_files

goal, number = sys.argv[1], int(sys.argv[2])
folder = os.path.dirname(goal)

def write(line):
    "Write the file and a folder in a thread, and end the process before this line of the module runs there."
    lines = iter(range(line - 1, -1, -1))
    def trace(frame, event, argument):
        if frame.f_code.co_filename != atomic_files.__file__:
            return None
        if event == "line" and next(lines, 1) == 0:
            os.kill(os.getpid(), number)
        return trace
    def work():
        sys.settrace(trace)
        with atomic_files.atomic_write(goal) as file, atomic_files.temporary_folder():
            file.write(b"new")
        sys.settrace(None)
    with atomic_files.before_a_signal_ends(lambda: None):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

left = set()
for line in range(1, 1000):
    child = os.fork()
    if not child:
        write(line)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    left |= {name for name in os.listdir(folder) if name != os.path.basename(goal)}
    if not status:
        break
print(line, left or "nothing")
"""


def ended_while_writing(path: Path, number: signal.Signals) -> int:
    """Write the file in another process, end that in the middle, and return how it ended."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", WRITES, str(path)], env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
        process.send_signal(number)
        return process.wait(PATIENCE)


def write(path: Path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)


@pytest.mark.skipif(os.name == "nt", reason="there are no signals to handle")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signal_that_ends_the_process_leaves_nothing(tmp_path: Path, name: str) -> None:
    number = signal.Signals[name]
    (tmp_path / "file").write_bytes(b"old")
    assert ended_while_writing(tmp_path / "file", number) == -number
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.skipif(os.name == "nt", reason="what a killed process left stays there")
def test_next_write_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    assert ended_while_writing(tmp_path / "file", signal.SIGKILL) == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    write(tmp_path / "another", b"")
    assert os.listdir(tmp_path) == ["another"]


@pytest.mark.skipif(os.name == "nt", reason="there is no fork")
def test_killed_at_any_line_of_a_write_the_file_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", KILLED_AT_EACH_LINE, str(tmp_path / "file")]
    done = finished(command, env=env, check=True)
    lines, *seen, files = done.stdout.split()
    assert int(lines) > 30
    assert (seen, files) == (["old", "new"], "1")


@pytest.mark.skipif(os.name == "nt", reason="there is no fork")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signal_at_any_line_of_a_write_in_a_thread_leaves_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "in")}
    goal, number = str(tmp_path / "in" / "file"), str(int(signal.Signals[name]))
    command = [sys.executable, "-c", ENDED_AT_EACH_LINE_OF_A_THREAD, goal, number]
    done = finished(command, env=env, check=True)
    lines, left = done.stdout.split()
    assert int(lines) > 30
    assert left == "nothing"


OTHERS = {
    "a pipe": lambda path: os.mkfifo(path),
    "a folder": lambda path: path.mkdir(),
    "a link": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
}


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes in folders")
@pytest.mark.parametrize("what", OTHERS)
def test_what_is_named_like_a_leftover_and_is_none_is_left_alone(tmp_path: Path, what: str) -> None:
    found = tmp_path / ".autograph-0123456789ab.tmp"
    OTHERS[what](found)
    (tmp_path / ".autograph-notes.tmp").write_text("of a person")
    write(tmp_path / "file", b"new")
    assert {path.name for path in tmp_path.iterdir()} == {"file", found.name, ".autograph-notes.tmp"}


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes in folders")
@pytest.mark.parametrize("what", OTHERS)
def test_what_is_in_the_place_is_replaced_unless_it_is_followed(tmp_path: Path, what: str) -> None:
    OTHERS[what](tmp_path / "file")
    if what == "a folder":
        return  # which no file replaces
    with atomic_write(tmp_path / "file", follow=False) as file:
        file.write(b"new")
    assert not (tmp_path / "file").is_symlink()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"new"}


def test_files_that_are_being_written_are_no_leftovers(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "one") as one:
        write(tmp_path / "other", b"other")
        write(tmp_path / "one", b"earlier")
        one.write(b"later")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"one": b"later", "other": b"other"}


def test_same_process_number_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with atomic_write(tmp_path / "file"):
        write(tmp_path / "file", b"inner")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o440])
def test_permissions_are_kept(tmp_path: Path, mode: int) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(mode)
    write(tmp_path / "file", b"new")
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["n" * 240, "n" * 255, "ü" * 127])
def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, b"new")
    assert (tmp_path / name).read_bytes() == b"new"


def test_exception_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_write(tmp_path / "file") as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_handlers_of_signals_are_as_before(tmp_path: Path) -> None:
    def own(number: int, frame: object) -> None: ...

    before = signal.signal(signal.SIGTERM, own)
    try:
        with atomic_write(tmp_path / "file"):
            assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
    write(tmp_path / "file", b"")
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="open files have no names here")
def test_open_files_and_pipes_are_written_directly(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    write(Path(f"/dev/fd/{writing}"), b"through the pipe")
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"through the pipe"
    with open(tmp_path / "file", "wb") as file:
        file.write(b"before ")
        file.flush()
        write(Path(f"/proc/self/fd/{file.fileno()}" if sys.platform == "linux" else file.name), b"and after")
    assert (tmp_path / "file").read_bytes().endswith(b"and after")
    assert os.listdir(tmp_path) == ["file"]
