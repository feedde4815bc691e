"""Calls between two ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.base.errors import refused
from ._collectives import outside, root_of
from ._groups import Call, ProcessGroup, chosen, get_global_rank
from ._memory import Landing, check_tensor, read
from ._recording import told
from ._transport import ANY_SOURCE, Request, mpi
from ._work import Work


class _Receipt(Work):
    """A received message, with its sender."""

    _source: int | None = None

    def _over(self, request: Request) -> bool:
        status = mpi().Status()
        if not request.Test(status):
            return False
        self._source = get_global_rank(self._call.group, status.Get_source())
        return True

    def source_rank(self) -> int:
        """The rank in the world that sent it."""
        self.wait()
        assert self._source is not None
        return self._source

    _source_rank = source_rank


def _call(name: str, group: ProcessGroup, tensor: Any, peer: int | None, way: str) -> Call:
    size = tensor.numel() * tensor.element_size()
    return group.call(name, bytes=size, peer=peer, key=way)


def _peer(group: ProcessGroup, rank: int | None, group_rank: int | None, what: str) -> int:
    result = root_of(group, rank, group_rank)
    if result == group.rank():
        raise refused(
            ValueError,
            f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process.",
        )
    if not 0 <= result < group.size():
        raise RuntimeError(f"Invalid {what} rank: {result} is not in a group of {group.size()}")
    return result


def _send(name: str, tensor: Any, dst: Any, group: Any, tag: int, group_dst: Any) -> Work | None:
    members = chosen(group)
    to = _peer(members, dst, group_dst, "destination")
    check_tensor(tensor, "tensor")
    if outside(group, name):
        return None
    call = _call(name, members, tensor, to, "send")
    work = Work(call, [members.transport.send(read(tensor), to, tag)], None, [tensor])
    told(call, [tensor], [])
    return work


def _receive(name: str, tensor: Any, src: Any, group: Any, tag: int, group_src: Any) -> _Receipt | None:
    check_tensor(tensor, "tensor")
    if outside(group, name):
        return None
    members = chosen(group)
    anyone = src is None and group_src is None
    source = ANY_SOURCE if anyone else _peer(members, src, group_src, "source")
    call = _call(name, members, tensor, None if anyone else source, "receive")
    landing = Landing(tensor)
    work = _Receipt(call, [members.transport.receive(landing.array, source, tag)], landing.land, [tensor])
    told(call, [], [tensor])
    return work


def isend(tensor: Any, dst: Any = None, group: Any = None, tag: int = 0, group_dst: Any = None) -> Work | None:
    """Begin to send a tensor, which must stay as it is until the work is over."""
    return None if outside(group, "isend") else _send("isend", tensor, dst, group, tag, group_dst)


def irecv(tensor: Any, src: Any = None, group: Any = None, tag: int = 0, group_src: Any = None) -> Work | None:
    """Begin to receive a tensor, from any rank where none is named."""
    return _receive("irecv", tensor, src, group, tag, group_src)


def send(tensor: Any, dst: Any = None, group: Any = None, tag: int = 0, group_dst: Any = None) -> None:
    """Send a tensor to a rank. ValueError for this rank itself."""
    work = None if outside(group, "send") else _send("send", tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Any, src: Any = None, group: Any = None, tag: int = 0, group_src: Any = None) -> int:
    """Receive a tensor, from any rank where none is named: the rank that sent it, or -1 outside of the group."""
    work = _receive("recv", tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


class P2POp:
    """One of the calls that `batch_isend_irecv` begins: `isend` or `irecv`, a tensor and a rank."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise refused(
                ValueError,
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``.",
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, chosen(group), tag
        self.group_peer = root_of(self.group, peer, group_peer)
        self.peer = get_global_rank(self.group, self.group_peer)

    def __repr__(self) -> str:
        mine, other = self.group.rank(), self.group_peer
        source, goal = (mine, other) if self.op is isend else (other, mine)
        what = f"{self.tensor.shape}, {self.tensor.dtype}"
        return f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={goal},  {what})"


def batch_isend_irecv(p2p_op_list: Any) -> list[Any]:
    """Begin all of these, whatever their order: the work of each."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise refused(
            ValueError,
            "Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.",
        )
    if any(each.group is not p2p_op_list[0].group for each in p2p_op_list):
        raise refused(ValueError, "All ops need to use the same group.")
    return [each.op(each.tensor, each.peer, each.group, each.tag) for each in p2p_op_list]
