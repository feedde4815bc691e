"""Transport of bytes between processes: MPI, and for a single process nothing. Arrays are flat and contiguous."""

from __future__ import annotations

import atexit
import functools
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Protocol

import ml_dtypes
import numpy as np

ANY_SOURCE = -1


@functools.cache
def mpi() -> ModuleType:
    """`mpi4py.MPI`, which starts MPI. RuntimeError, with what to do, where it is not installed or finds no MPI."""
    if find_spec("mpi4py") is None:
        raise RuntimeError(
            "torch.distributed runs several processes over MPI, which is not installed here: pip install "
            "'autograph-cli[mpi]' (mpi4py and mpich)"
        )
    try:
        import mpi4py  # where there are several processes: importing MPI starts it

        mpi4py.rc.finalize = False  # it would wait for ever for a rank that failed: see _status.py
        from mpi4py import MPI  # likewise

        atexit.register(lambda: None if MPI.Is_finalized() else MPI.Finalize())
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"torch.distributed runs several processes over MPI, and mpi4py finds none ({error}): pip install "
            "'autograph-cli[mpi]', or load the MPI of this machine"
        ) from None
    return MPI


def is_there() -> bool:
    """Return whether mpi4py is installed."""
    return "mpi4py" in sys.modules or find_spec("mpi4py") is not None


class Request(Protocol):
    """A transfer that has begun."""

    def Test(self, status: Any = None) -> bool:
        """Return whether it is over; it goes on in such calls only."""


class Done:
    """A transfer that is over."""

    def Test(self, status: Any = None) -> bool:
        return True


_NUMPY: dict[str, Callable[..., Any]] = {
    "SUM": np.add,
    "PRODUCT": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
}
_OF_MPI = {"SUM": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX", "BAND": "BAND", "BOR": "BOR", "BXOR": "BXOR"}
_OF_TRUTH = {"SUM": "MAX", "PRODUCT": "MIN"}
_HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


@functools.cache
def _of_halves(op: str, dtype: np.dtype[Any]) -> Any:
    """A reduction of numbers of 16 bits, which MPI does not know: it carries them as integers."""
    function = _NUMPY[op]

    def combine(given: Any, kept: Any, _: Any) -> None:
        into = np.frombuffer(kept, dtype)
        function(np.frombuffer(given, dtype), into, out=into)

    return mpi().Op.Create(combine, commute=True)


def _reduced(array: Any, op: str) -> tuple[Any, Any]:
    """An array as MPI reduces it, and the operation."""
    if array.dtype in _HALVES:
        return array.view(np.uint16), _of_halves(op, array.dtype)
    if array.dtype == np.bool_:
        array, op = array.view(np.uint8), _OF_TRUTH.get(op, op)
    elif array.dtype.kind == "c":
        array = array.view(array.real.dtype)
    return array, getattr(mpi(), _OF_MPI[op])


def _bytes(array: Any) -> Any:
    return [array.view(np.uint8), mpi().BYTE]


def _parts(array: Any, counts: Sequence[int]) -> Any:
    size = array.dtype.itemsize
    return [array.view(np.uint8), [n * size for n in counts], mpi().BYTE]


class Mpi:
    """The processes of a communicator of MPI; every transfer returns at once."""

    def __init__(self, comm: Any) -> None:
        self.comm, self._asking = comm, comm.Dup()  # questions overtake what was asked before
        self.rank, self.size = int(comm.rank), int(comm.size)

    def among(self, members: Sequence[int]) -> Mpi:
        """These ranks, who all call it."""
        return Mpi(self.comm.Create_group(self.comm.Get_group().Incl(list(members))))

    def compare(self, own: Any, every: Any) -> Request:
        return self._asking.Iallgather(_bytes(own), _bytes(every))  # type: ignore[no-any-return]

    def all_reduce(self, array: Any, op: str) -> Request:
        into, how = _reduced(array, op)
        return self.comm.Iallreduce(mpi().IN_PLACE, into, how)  # type: ignore[no-any-return]

    def reduce(self, array: Any, op: str, root: int) -> Request:
        into, how = _reduced(array, op)
        if self.rank == root:
            return self.comm.Ireduce(mpi().IN_PLACE, into, how, root)  # type: ignore[no-any-return]
        return self.comm.Ireduce(into, None, how, root)  # type: ignore[no-any-return]

    def reduce_scatter(self, sent: Any, received: Any, counts: Sequence[int], op: str) -> Request:
        parts = sent.dtype.itemsize // _reduced(sent[:0], op)[0].dtype.itemsize
        (given, how), into = _reduced(sent, op), _reduced(received, op)[0]
        counts = [n * parts for n in counts]
        return self.comm.Ireduce_scatter(given, into, counts, how)  # type: ignore[no-any-return]

    def broadcast(self, array: Any, root: int) -> Request:
        return self.comm.Ibcast(_bytes(array), root)  # type: ignore[no-any-return]

    def all_gather(self, sent: Any, received: Any) -> Request:
        return self.comm.Iallgather(_bytes(sent), _bytes(received))  # type: ignore[no-any-return]

    def gather(self, sent: Any, received: Any, root: int) -> Request:
        into = None if received is None else _bytes(received)
        return self.comm.Igather(_bytes(sent), into, root)  # type: ignore[no-any-return]

    def scatter(self, sent: Any, received: Any, root: int) -> Request:
        given = None if sent is None else _bytes(sent)
        return self.comm.Iscatter(given, _bytes(received), root)  # type: ignore[no-any-return]

    def all_to_all(self, sent: Any, counts: Sequence[int], received: Any, into_counts: Sequence[int]) -> Request:
        return self.comm.Ialltoallv(_parts(sent, counts), _parts(received, into_counts))  # type: ignore[no-any-return]

    def barrier(self) -> Request:
        return self.comm.Ibarrier()  # type: ignore[no-any-return]

    def send(self, array: Any, to: int, tag: int) -> Request:
        return self.comm.Isend(_bytes(array), to, tag)  # type: ignore[no-any-return]

    def receive(self, array: Any, source: int, tag: int) -> Request:
        source = mpi().ANY_SOURCE if source == ANY_SOURCE else source
        return self.comm.Irecv(_bytes(array), source, tag)  # type: ignore[no-any-return]

    def free(self) -> None:
        self._asking.Free()
        self.comm.Free()


class Alone:
    """One process: what it sends, it receives."""

    rank, size = 0, 1

    def among(self, members: Sequence[int]) -> Alone:
        return self

    def all_reduce(self, *_: Any) -> Request:
        return Done()

    reduce = broadcast = barrier = all_reduce

    def reduce_scatter(self, sent: Any, received: Any, *_: Any) -> Request:
        received[...] = sent
        return Done()

    compare = all_gather = gather = scatter = reduce_scatter

    def all_to_all(self, sent: Any, counts: Any, received: Any, into_counts: Any) -> Request:
        received[...] = sent
        return Done()

    def send(self, *_: Any) -> Request:
        raise RuntimeError("there is no other rank to send to or to receive from: this process is a world of one")

    receive = send

    def free(self) -> None:
        pass


Transport = Mpi | Alone
