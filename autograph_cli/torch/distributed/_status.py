"""States of ranks in the message of one that waits in vain, and the end of all ranks together."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from .._compiled import FILES
from ._agreement import go_on
from ._slots import ENDED, HERE, RAISED, Slots, files_of_mpi, new_file
from ._transport import Mpi, mpi

if TYPE_CHECKING:
    from ._groups import Call, ProcessGroup

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
_GRACE = 3.0
"""Seconds that the other ranks have to end by themselves after one has failed."""
_ARRIVES = 4
"""The number of looks at a rank that is gone after which a wait for it is in vain. Looks, not seconds: between two of
them this process asks for what was sent, however busy the machine is."""
_SIGNALLED = 1.0
"""Seconds that a process has to end after a signal."""
_MOST = 4
"""Ranks that a sentence tells of."""


class DistError(RuntimeError):
    """Something between ranks went wrong."""

    __module__ = "torch.distributed"


class DistBackendError(DistError):
    """A call between ranks did not end."""

    __module__ = "torch.distributed"


class _Ranks:
    """The world of this process, while there is one."""

    slots: Slots | None = None
    comm: Any = None
    """A communicator for the meeting at the end."""
    failed = False
    last = ""
    """The call that was made last."""
    hook: Callable[..., Any] | None = None


_here = _Ranks()


def position(frame: Any) -> str:
    """The innermost position that is not the engine's, `train.py:12`."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def line() -> str:
    """The line of the script that runs now."""
    return position(sys._getframe(1))


def _say(state: int, text: str) -> None:
    if _here.slots is not None:
        _here.slots.write(state, text)


def called(call: Call) -> None:
    """This rank makes a call."""
    if _here.slots is not None:
        _here.last = f"last called {call}"
        _say(HERE, _here.last)


@contextlib.contextmanager
def waiting(call: Call) -> Iterator[None]:
    """Within the block this rank waits in a call."""
    _say(HERE, f"waits in {call}")
    yield
    _say(HERE, _here.last)


def why_in_vain(call: Call, gone: int, seconds: float, limit: float) -> DistBackendError | None:
    """Return why a call that waited so long, and saw a rank gone so often, will not end; None as long as it may."""
    if gone < _ARRIVES and seconds < limit:
        return None
    return complaint(call, "waits in vain" if gone else f"waited {limit:g} s")


def complaint(call: Call, what: str) -> DistBackendError:
    """The sentence of a rank whose call went wrong: what it did, and what the other ranks do."""
    others = [rank for rank in _needed(call) if rank != call.rank]
    told = [f"rank {rank} {what_does(rank)}" for rank in sorted(others, key=lambda rank: (not _is_gone(rank), rank))]
    more = [f"and {len(told) - _MOST} more"] if len(told) > _MOST else []
    return DistBackendError(f"rank {call.rank} {what} in {call}: {', '.join(told[:_MOST] + more)}")


def _needed(call: Call) -> list[int]:
    ranks = call.group.ranks
    return ranks if call.peer is None or not call.between_two else [ranks[call.peer]]


def gone(call: Call) -> bool:
    """Return whether a rank that the call needs has ended."""
    return any(map(_is_gone, _needed(call)))


def _is_gone(rank: int) -> bool:
    slots = _here.slots
    if slots is None or rank not in slots.places or rank == slots.own:
        return False
    process, state, _ = slots.read(rank)
    return state != HERE or not _lives(process)


def _lives(process: int) -> bool:
    """Return whether there is such a process, and not only its exit code, which a launcher may leave for long."""
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(") ")[2][:1] not in "ZX"
    except ProcessLookupError:
        return False
    except OSError:
        return True


def what_does(rank: int) -> str:
    """Return what another rank does: `waits in all_reduce at train.py:12`."""
    slots = _here.slots
    if slots is None or rank not in slots.places:
        return "is on another machine"
    process, state, text = slots.read(rank)
    if state == HERE and not _lives(process):
        return f"is gone, and {text}"
    return text


def begin(group: ProcessGroup) -> None:
    """Begin to tell what each rank does, now that there is a world, so that all end together."""
    if not isinstance(group.transport, Mpi):
        return
    comm = group.transport.comm
    near = comm.Split_type(mpi().COMM_TYPE_SHARED, group.rank())
    ranks = near.allgather(group.rank())
    path = near.bcast(new_file(len(ranks)) if near.rank == 0 else "", 0)
    _here.slots = Slots(ranks, group.rank(), path)
    _here.last = "has made no call"
    _say(HERE, _here.last)
    near.Barrier()
    if near.rank == 0:
        for shared in (path, *files_of_mpi()):
            os.unlink(shared)
    near.Barrier()
    near.Free()
    if _here.hook is None:
        _here.comm = mpi().COMM_WORLD.Dup()
        _here.hook, sys.excepthook = sys.excepthook, _raised
        atexit.register(_leave)


def end() -> None:
    """This rank leaves the world."""
    if _here.slots is not None:
        _say(ENDED, f"left at {line()}")
        _here.slots.close()
        _here.slots = None


def fail(error: BaseException) -> None:
    """An error ends this rank: the others are told what and where."""
    trace, where = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((_PACKAGE, FILES)):
            where = f" at {os.path.basename(name)}:{trace.tb_lineno}"
        trace = trace.tb_next
    _here.failed = True
    _say(RAISED, f"raised {type(error).__name__}{where}")


def _raised(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    assert _here.hook is not None
    _here.hook(kind, error, trace)
    fail(error)


def _leave() -> None:
    """Wait for the other ranks, and end MPI; where one has failed, end without it, and the others as well."""
    slots = _here.slots
    if slots is not None and not _here.failed:
        _say(ENDED, f"has ended, and {_here.last}")
    request, begun = _here.comm.Ibarrier(), time.monotonic()
    while not request.Test():
        go_on()
        others = [] if slots is None else [rank for rank in slots.places if rank != slots.own]
        in_order = not _here.failed and not any(_is_lost(rank) for rank in others)
        there = [rank for rank in others if not _is_gone(rank)]
        if not in_order and (not there or time.monotonic() - begun > _GRACE):
            _end_all(there)
        begun = time.monotonic() if in_order else begun
        time.sleep(0.001)
    if _here.failed:
        _end_all([])
    mpi().Finalize()


def _is_lost(rank: int) -> bool:
    """Return whether a rank will not come to the meeting at the end."""
    assert _here.slots is not None
    process, state, _ = _here.slots.read(rank)
    return state == RAISED or not _lives(process)


def _end_all(there: list[int]) -> NoReturn:
    """End this process, and those of ranks that do not come to the meeting."""
    sys.stdout.flush()
    sys.stderr.flush()
    assert _here.slots is not None
    for sign in (signal.SIGTERM, signal.SIGKILL) if there else ():
        for process in [_here.slots.read(rank)[0] for rank in there if not _is_gone(rank)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, sign)
        time.sleep(_SIGNALLED)
    if there:
        mpi().COMM_WORLD.Abort(1)
    os._exit(1)  # at once, as the others do: mpiexec kills who is still there, and says so at length
