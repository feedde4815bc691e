"""Calls that carry Python objects, pickled, as bytes."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.errors import refused
from ._collectives import begun, outside, root_of
from ._groups import ProcessGroup, chosen, get_global_rank
from ._transport import Request
from ._work import Work


def _packed(item: Any) -> Any:
    buffer = io.BytesIO()
    pickle.Pickler(buffer).dump(item)
    return np.frombuffer(buffer.getvalue(), np.uint8).copy()


def _done(group: ProcessGroup, name: str, post: Callable[[], Request]) -> None:
    begun(name, group, lambda: [post()])


def _gathered(name: str, group: ProcessGroup, item: Any) -> list[Any]:
    """The objects of all ranks, on each: their lengths first, then all bytes."""
    own = _packed(item)
    lengths = np.empty(group.size(), np.int64)
    _done(group, name, lambda: group.transport.all_gather(np.array([own.size]), lengths))
    longest = int(lengths.max())
    padded = np.zeros(longest, np.uint8)
    padded[: own.size] = own
    every = np.empty(longest * group.size(), np.uint8)
    _done(group, name, lambda: group.transport.all_gather(padded, every))
    rows = every.reshape(group.size(), longest)
    return [pickle.loads(row[:n].tobytes()) for row, n in zip(rows, lengths, strict=True)]


def _shared(name: str, group: ProcessGroup, item: Any, root: int) -> Any:
    """The object of one rank, on all."""
    own = _packed(item) if group.rank() == root else np.empty(0, np.uint8)
    length = np.array([own.size])
    _done(group, name, lambda: group.transport.broadcast(length, root))
    own = own if group.rank() == root else np.empty(int(length[0]), np.uint8)
    _done(group, name, lambda: group.transport.broadcast(own, root))
    return item if group.rank() == root else pickle.loads(own.tobytes())


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """The objects of all ranks, on each of them, in a list of their number."""
    if outside(group, "all_gather_object"):
        return
    for index, item in enumerate(_gathered("all_gather_object", chosen(group), obj)):
        object_list[index] = item


def gather_object(
    obj: Any, object_gather_list: Any = None, dst: Any = None, group: Any = None, group_dst: Any = None
) -> None:
    """The objects of all ranks, in a list of one of them."""
    if outside(group, "gather_object"):
        return
    members = chosen(group)
    is_root = members.rank() == root_of(members, dst, group_dst, 0)
    if is_root and not object_gather_list:
        raise refused(ValueError, "Argument ``gather_list`` must be specified on destination rank.")
    if not is_root and object_gather_list:
        raise refused(ValueError, "Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    for index, item in enumerate(_gathered("gather_object", members, obj)):
        if is_root:
            object_gather_list[index] = item


def broadcast_object_list(
    object_list: list[Any], src: Any = None, group: Any = None, device: Any = None, group_src: Any = None
) -> None:
    """Give the objects of one rank's list to all."""
    if outside(group, "broadcast_object_list"):
        return
    members = chosen(group)
    object_list[:] = _shared("broadcast_object_list", members, list(object_list), root_of(members, src, group_src, 0))


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Any = None,
    src: Any = None,
    group: Any = None,
    group_src: Any = None,
) -> None:
    """Give each rank one of the objects of one rank's list, as the first of its own."""
    if outside(group, "scatter_object_list"):
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise refused(ValueError, "Expected argument scatter_object_output_list to be a list of size at least 1.")
    members = chosen(group)
    root = root_of(members, src, group_src, 0)
    every = _shared("scatter_object_list", members, scatter_object_input_list, root)
    scatter_object_output_list[0] = every[members.rank()]


def send_object_list(
    object_list: list[Any],
    dst: Any = None,
    group: Any = None,
    device: Any = None,
    group_dst: Any = None,
    use_batch: bool = False,
) -> None:
    """Send a list of objects to a rank."""
    if outside(group, "send_object_list"):
        return
    members = chosen(group)
    to, packed = root_of(members, dst, group_dst), _packed(list(object_list))
    for array in (np.array([packed.size]), packed):
        call = members.call("send_object_list", peer=to, key="send")
        Work(call, [members.transport.send(array, to, 0)], None, []).wait()


def recv_object_list(
    object_list: list[Any],
    src: Any = None,
    group: Any = None,
    device: Any = None,
    group_src: Any = None,
    use_batch: bool = False,
) -> int:
    """Receive a list of objects of this length: the rank that sent it."""
    if outside(group, "recv_object_list"):
        return -1
    members = chosen(group)
    source = root_of(members, src, group_src)
    array = np.zeros(1, np.int64)
    for step in range(2):
        array = np.empty(int(array[0]), np.uint8) if step else array
        call = members.call("recv_object_list", peer=source, key="receive")
        Work(call, [members.transport.receive(array, source, 0)], None, []).wait()
    object_list[:] = pickle.loads(array.tobytes())
    return get_global_rank(members, source)
