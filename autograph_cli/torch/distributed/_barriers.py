"""Barriers: calls that carry nothing, and end when all ranks have made them."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import numpy as np

from ._collectives import begun, outside
from ._groups import ProcessGroup, chosen
from ._status import DistBackendError
from ._transport import Request
from ._work import Work

_TAG = 20_000
"""The tag of messages of a monitored barrier, apart from those of scripts."""
_LONGER = timedelta(seconds=5)
"""The seconds that other ranks wait longer than rank 0, which names the missing ones."""


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all ranks of the group are here."""
    if outside(group, "barrier"):
        return None
    members = chosen(group)
    return begun("barrier", members, lambda: [members.transport.barrier()], async_op=async_op)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """A barrier in which rank 0 names the first rank, or with `wait_all_ranks` all ranks, that did not come in time.

    RuntimeError on rank 0 then; on others when they do not hear of it.
    """
    if outside(group, "monitored_barrier"):
        return
    members = chosen(group)
    limit = timeout or members.timeout
    if members.rank():
        _one(members, 0, members.transport.send(_nothing(), 0, _TAG)).wait(limit)
        _one(members, 0, members.transport.receive(_nothing(), 0, _TAG)).wait(limit + _LONGER)
        return
    others = range(1, members.size())
    arrivals = {rank: _one(members, rank, members.transport.receive(_nothing(), rank, _TAG)) for rank in others}
    _await(arrivals, limit, wait_all_ranks)
    for rank in others:
        _one(members, rank, members.transport.send(_nothing(), rank, _TAG)).wait(limit)


def _nothing() -> Any:
    return np.empty(0, np.uint8)


def _one(group: ProcessGroup, peer: int, request: Request) -> Work:
    return Work(group.call("monitored_barrier", peer=peer, key="barrier"), [request], None, [])


def _await(arrivals: dict[int, Work], limit: timedelta, all_ranks: bool) -> None:
    end = time.monotonic() + limit.total_seconds()
    missing: dict[int, DistBackendError] = {}
    for rank, work in arrivals.items():
        try:
            work.wait(timedelta(seconds=max(end - time.monotonic(), 1e-6)))
        except DistBackendError as error:
            missing[rank] = error
            if not all_ranks:
                break
    if missing:
        ranks = ", ".join(map(str, missing))
        why = str(next(iter(missing.values()))).rpartition(": ")[2]
        raise RuntimeError(
            f"[Rank 0]: Rank{'s' * (len(missing) > 1)} {ranks} failed to pass monitoredBarrier in "
            f"{limit.total_seconds() * 1000:.0f} ms: {why}"
        )
