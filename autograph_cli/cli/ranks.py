"""`autograph run` on several ranks: starts them, looks after them, and joins what they recorded."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from autograph_cli import AutographError
from autograph_cli.atomic_files import before_a_signal_ends
from autograph_cli.cli.printing import say
from autograph_cli.graph.ranks import alike, words as rank_words
from autograph_cli.record.run import rank_faults, rank_store, store
from autograph_cli.record.run.placement import FOLDER, PARENT, Placement
from autograph_cli.record.run.rank_faults import Fault, State
from autograph_cli.record.run.ranks import STOP
from autograph_cli.record.run.runner import FAILED
from autograph_cli.testing.sweeps import environment, python

OVER = "over"
"""The file by which rank 0 tells the others that all is written."""
_EVERY = 0.05
_TO_SAVE = 60.0
"""The seconds that a rank that is told to stop has to write its part, which it must have begun within a few."""
_TO_BEGIN = 3.0
_TO_END = 10.0
"""The seconds that an interrupted run has to end."""


class RanksError(AutographError):
    """Ranks that cannot be started."""


class Wanted(Struct, frozen=True):
    """The options of a run of several ranks."""

    output: Path | None
    quiet: bool
    timeout: float


def launch(count: int, options: Sequence[str], wanted: Wanted, *, torch: bool) -> int:
    """Run the command in so many processes: by mpiexec, or for PyTorch's own engine from here; the exit code."""
    if not hasattr(os, "fork"):
        raise RanksError("--ranks needs a system that can fork processes, as Linux and macOS can.")
    here = Path.cwd()
    command = python("autograph_cli.cli", "run", *options)
    with _shared(store.made(here)) as folder:
        told = environment() | {FOLDER: str(folder)}
        if not torch:
            with _stopping(started := subprocess.Popen([*_mpiexec(), "-n", str(count), *command], env=told)):
                started.wait()
            return _code_told(folder)
        told |= {PARENT: str(os.getpid()), "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
        told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
        told.setdefault("OMP_NUM_THREADS", "1")  # as torchrun does
        with contextlib.ExitStack() as stack:
            ranks = {}
            for rank in range(count):
                its = told | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
                ranks[rank] = subprocess.Popen(command, env=its)
                stack.enter_context(_stopping(ranks[rank]))
            look = Watch(folder, count, {rank: each.pid for rank, each in ranks.items()}, wanted.timeout)
            codes = look.until_ended(lambda rank: ranks[rank].poll())
            return _finished(look, codes, wanted, here)


def split(place: Placement, folder: Path, wanted: Wanted) -> int | None:
    """Go on in a child process, which is the rank, and look after it here; None in the child, else the exit code.

    What mpiexec started must not end before the others are done: mpiexec kills them all at once when one fails.
    """
    here = Path.cwd()
    folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        return None
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the script's to handle
    with before_a_signal_ends(lambda: _kill(child, signal.SIGTERM)):
        look = Watch(folder, place.size, {place.rank: child}, wanted.timeout)
        codes = look.until_ended(lambda rank: _ended(child))
        look.wait_for("rank-*.end", place.local)
        if place.rank == 0:
            code = _finished(look, codes, wanted, here)
            look.write(OVER, str(code))
            if FOLDER not in os.environ:
                _remove(folder)
            return code
        code = codes[place.rank]
        if (folder / "rank-0.end").exists() or not folder.exists():
            look.wait_for(OVER)
            code = _code_told(folder) if look.fault or code else 0  # mpiexec may take it of any rank
        return 128 - code if code < 0 else code


def _code_told(folder: Path) -> int:
    """Return the exit code that rank 0 told; mpiexec makes one of its own from those of all ranks."""
    try:
        return int((folder / OVER).read_text())
    except (OSError, ValueError):  # it was killed itself, or has removed the folder
        return FAILED


def _finished(look: Watch, codes: dict[int, int], wanted: Wanted, here: Path) -> int:
    """Join the parts, say what was recorded, and give the exit code of the run."""
    from autograph_cli.cli.report import print_report  # only rank 0 reports

    parts = rank_store.parts(look.folder)
    if not any(rank_store.nodes_of(look.folder, rank) for rank in parts):
        parts = []  # no run costs the trace before it without need
    if parts:
        goal = wanted.output or store.made(here) / store.OF_RANKS
        if look.fault is not None and wanted.output is None:
            store.set_aside(here)
        rank_store.join(look.folder, look.size, goal, follow=wanted.output is not None)
        if wanted.output is None:
            store.forget_others(goal)
    if parts and not wanted.quiet:
        print_report(store.load(goal, parts[0]), goal, here)
        lost = [rank for rank in range(look.size) if rank not in parts]
        say(_told(goal, lost), err=True)
    if look.fault is not None:
        ended = rank_faults.states(look.folder, look.size)
        blamed = [each.code or 0 for each in ended if each.rank == look.fault.rank and _by_itself(each)]
        code = next((each for each in blamed if each), FAILED)
    else:
        code = next(iter([code for code in codes.values() if code]), 0)
    return 128 - code if code < 0 else code


def _by_itself(rank: State) -> bool:
    """Return whether a rank's exit code is its own: one that told how it ended may be killed since."""
    return rank.phase == "running" or (rank.phase != "done" and (rank.code or 0) > 0)


def _told(goal: Path, lost: Sequence[int]) -> str:
    ranks = store.ranks_of(goal)
    alike_ranks = alike(ranks)
    groups = [rank_words(those) for those in alike_ranks]
    same = "" if len(ranks) == 1 else ": the same graphs"
    if len(groups) > 1:
        same = f" differ; `autograph diff trace#{alike_ranks[0][0]} trace#{alike_ranks[1][0]}` says how"
    more = f"; of {rank_words(lost)} nothing was kept" if lost else ""
    return f"  ranks    {' and '.join(groups)}{same}{more}"


class Watch:
    """Looks after the ranks that this process started, and stops them when the run cannot go on."""

    def __init__(self, folder: Path, size: int, pids: dict[int, int], timeout: float) -> None:
        self.folder, self.size, self.pids, self.timeout = folder, size, pids, timeout
        self.fault: Fault | None = None
        self._told = 0.0
        """The time at which the ranks were told to stop."""
        self._launcher = _launcher_of(folder)

    def until_ended(self, ended: Callable[[int], int | None]) -> dict[int, int]:
        """Wait for the ranks of this process; how each ended, less than 0 for a signal."""
        codes: dict[int, int] = {}
        while len(codes) < len(self.pids):
            for rank in self.pids.keys() - codes.keys():
                code = ended(rank)
                if code is not None:
                    codes[rank] = code
                    self.write(f"rank-{rank}.end", f'{{"code": {code}}}')
            self._look()
            if self._told:
                self._press(self.pids.keys() - codes.keys())
            time.sleep(_EVERY)
        self._look()
        return codes

    def _look(self) -> None:
        if self._launcher is not None and not _lives(self._launcher):
            self.write(STOP, Fault("the command that started the ranks was killed").text())
        if (self.folder / STOP).exists():
            self.fault = rank_faults.told(self.folder / STOP)
            self._told = self._told or time.monotonic()
            return
        self.fault = rank_faults.judge(rank_faults.states(self.folder, self.size), self.timeout)
        if self.fault is not None:
            time.sleep(_EVERY)  # for what others have to tell at the same time
            self.fault = rank_faults.judge(rank_faults.states(self.folder, self.size), self.timeout) or self.fault
            self._told = time.monotonic()
            if self.write(STOP, self.fault.text()):
                say(
                    f"autograph: {self.fault.said}; the other ranks are stopped, and what they recorded is kept.",
                    err=True,
                )

    def _press(self, left: set[int]) -> None:
        """End those that were told to stop and do not, or take too long."""
        passed = time.monotonic() - self._told
        for rank in left:
            saving = _phase(self.folder, rank) == "stopped" and not (self.folder / f"rank-{rank}.entry").exists()
            if passed > (_TO_SAVE if saving else _TO_BEGIN):
                _kill(self.pids[rank], signal.SIGKILL)

    def wait_for(self, names: str, count: int = 1) -> None:
        """Wait until so many of these files are there, or the folder is gone: mpiexec kills the rest when one fails."""
        last = time.monotonic() + _TO_SAVE
        while self.folder.exists() and len([*self.folder.glob(names)]) < count:
            self._look()
            if self._told and time.monotonic() > last:
                return
            time.sleep(_EVERY)

    def write(self, name: str, text: str) -> bool:
        """Write a file of the folder, which readers find whole; False where it is there already."""
        path = self.folder / name
        new = path.with_name(f"{name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            new.write_text(text)
            with contextlib.suppress(FileExistsError):
                os.link(new, path)
                return True
        return False


def _phase(folder: Path, rank: int) -> str:
    return rank_faults.states(folder, rank + 1)[rank].phase


def _ended(child: int) -> int | None:
    done, status = os.waitpid(child, os.WNOHANG)
    return None if not done else os.waitstatus_to_exitcode(status)


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


@contextlib.contextmanager
def _stopping(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Within the block the process runs; it is gone after it, and before a signal ends this one."""
    with before_a_signal_ends(process.terminate):
        try:
            yield
        except KeyboardInterrupt:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_TO_END)  # it was interrupted as well, where that came from the terminal
            raise
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()


@contextlib.contextmanager
def _shared(place: Path) -> Iterator[Path]:
    """A new folder for the ranks, gone after the block; what killed runs left is removed."""
    for old in place.glob("ranks-*"):
        owner = old.name.rpartition("-")[2]
        if owner.isdigit() and not _lives(int(owner)):
            shutil.rmtree(old, ignore_errors=True)
    folder = place / f"ranks-{socket.gethostname()}-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove(folder: Path) -> None:
    """Remove the folder at once: who looks into it finds all of its files, or none."""
    shutil.rmtree(folder.rename(folder.with_name(f"ranks-gone-{os.getpid()}")), ignore_errors=True)


def _launcher_of(folder: Path) -> int | None:
    """The process on this machine that made the folder for ranks that mpiexec started, if one did."""
    name, _, owner = folder.name.rpartition("-")
    here = FOLDER in os.environ and name == f"ranks-{socket.gethostname()}"
    return int(owner) if here and owner.isdigit() else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _mpiexec() -> list[str]:
    """Return the command that starts MPI processes: that of Python's environment, or the one on the path."""
    beside = Path(sys.executable).with_name("mpiexec")
    program = str(beside) if beside.exists() else shutil.which("mpiexec")
    if program is None or importlib.util.find_spec("mpi4py") is None:
        raise RanksError("--ranks needs MPI, which is not installed here: pip install autograph-cli[mpi]")
    return [program]


def _free_port() -> int:
    with socket.socket() as there:
        there.bind(("127.0.0.1", 0))
        return int(there.getsockname()[1])
