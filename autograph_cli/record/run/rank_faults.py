"""Finds what keeps several ranks from ending: one that failed, one that others wait for in vain, or a standstill."""

from __future__ import annotations

import itertools
import json
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from autograph_cli.graph.ranks import words

STILL = 3.0
"""The seconds that ranks stand still before they are taken to wait in vain."""
NAMED = 8
"""The most ranks that are named with their lines."""


class Begun(Struct, frozen=True):
    """The last collective of a group that a rank has begun."""

    sequence: int
    op: str
    bytes: int
    line: str
    ranks: tuple[int, ...]


class State(Struct, frozen=True):
    """The state of a rank, as far as it has told."""

    rank: int
    phase: str = "starting"
    """`running`, `failed`, `stopped`, or `done`."""
    at: str = ""
    """The line of its script."""
    moved: float = 0.0
    """The time when its line last changed, or a collective began."""
    failure: str = ""
    code: int | None = None
    """The exit code of its script where that failed, else that of its process, or, if less than 0, the signal that
    ended it."""
    groups: Mapping[str, Begun] = field(default_factory=dict)

    @property
    def line(self) -> str:
        return self.at or "its first line"


def states(folder: Path, size: int) -> list[State]:
    """Return where the ranks are of which the folder tells."""
    return [_read(folder, rank) for rank in range(size)]


def _read(folder: Path, rank: int) -> State:
    told = _json(folder / f"rank-{rank}.state")
    rows: dict[str, list[Any]] = told.get("groups", {})
    groups = {name: Begun(row[0], row[1], row[2], row[3], tuple(row[4])) for name, row in rows.items()}
    return State(
        rank,
        told.get("phase", "starting"),
        told.get("at", ""),
        told.get("moved", 0.0),
        told.get("failure", ""),
        told.get("code") or _json(folder / f"rank-{rank}.end").get("code"),
        groups,
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):  # not there yet
        return {}
    return found


class Fault(Struct, frozen=True):
    """The reason why the ranks cannot go on, in one sentence; `rank` is to blame, if any is."""

    said: str
    rank: int | None = None

    def text(self) -> str:
        """Return the text of the file by which the ranks are told to stop."""
        return json.dumps({"said": self.said, "rank": self.rank})


def told(path: Path) -> Fault:
    """Return what the ranks were stopped for."""
    found = _json(path)
    return Fault(found.get("said", ""), found.get("rank"))


def judge(ranks: list[State], timeout: float, now: float | None = None) -> Fault | None:
    """Return what is wrong with a run, or None as long as it may end by itself."""
    now = time.time() if now is None else now
    live = [each for each in ranks if each.phase == "running" and each.code is None]
    still = [each for each in live if now - each.moved > STILL]
    looks = (_killed(ranks), _left(ranks, still), _failed(ranks), _apart(still), _late(live, now, timeout))
    return next((fault for found in looks for fault in found), None)


def _killed(ranks: list[State]) -> Iterator[Fault]:
    for each in ranks:
        if each.code is not None and each.code < 0 and each.phase != "stopped":
            killer = signal.Signals(-each.code).name
            yield Fault(f"rank {each.rank} was killed by {killer}, last seen at {each.line}", each.rank)


def _left(ranks: list[State], still: list[State]) -> Iterator[Fault]:
    """The ranks that ended before a call in which others stand still, or failed since."""
    done = {each.rank: each for each in ranks if each.phase == "done"}
    here = [each for each in ranks if each.phase in ("running", "failed")]
    for one in here:
        for name, begun in one.groups.items():
            for other in (done[rank] for rank in begun.ranks if rank in done):
                waited = one in still or (one.phase == "failed" and one.moved >= other.moved)
                if waited and _less(other.groups.get(name), begun):
                    said = f"rank {other.rank} ended and never entered {_call(begun)}, {_where(here)}"
                    yield Fault(said, other.rank)


def _failed(ranks: list[State]) -> Iterator[Fault]:
    """The ranks that failed, that which raised first at first: others raise since it did."""
    for each in sorted(ranks, key=lambda each: (each.phase != "failed", each.moved)):
        if each.phase == "failed" or (each.code and each.phase != "stopped"):
            yield Fault(_why(each), each.rank)


def _why(failed: State) -> str:
    message = failed.failure.partition(": ")[2]
    if message.startswith(f"rank {failed.rank} "):  # that of a call between ranks, which names the lines of all
        return message
    why = f"failed with {failed.failure}" if failed.failure else f"ended with code {failed.code}"
    return f"rank {failed.rank} {why} at {failed.line}"


def _apart(still: list[State]) -> Iterator[Fault]:
    """The ranks that stand in different calls of a group."""
    for one, other in itertools.combinations(still, 2):
        for name in one.groups.keys() & other.groups.keys():
            begun, theirs = one.groups[name], other.groups[name]
            if theirs.sequence == begun.sequence and not _fit(begun, theirs):
                yield Fault(
                    f"rank {one.rank} is in {_call(begun)} with {begun.bytes} bytes at {begun.line}, and rank "
                    f"{other.rank} in {_call(theirs)} with {theirs.bytes} bytes at {theirs.line}"
                )


def _late(live: list[State], now: float, timeout: float) -> Iterator[Fault]:
    if live and max(now - each.moved for each in live) > timeout:
        yield Fault(f"for {timeout:g} seconds {_behind(live)}, {_where(live)}")


def _fit(one: Begun, other: Begun) -> bool:
    """Return whether two ranks are in the same call; where each gives as much as it likes, sizes may differ."""
    return one.op == other.op and (one.bytes == other.bytes or one.op not in SAME_SIZES)


SAME_SIZES = ("all_reduce", "broadcast", "reduce", "all_gather_into_tensor", "reduce_scatter_tensor")
"""The collectives in which all ranks have tensors of one size."""


def _behind(live: list[State]) -> str:
    """Return who has not entered what others are in."""
    for one in live:
        for name, begun in one.groups.items():
            late = [other.rank for other in live if other.rank in begun.ranks and _less(other.groups.get(name), begun)]
            if late:
                return f"{words(late)} did not enter {_call(begun)}"
    return f"{words([each.rank for each in live])} stood still"


def _less(one: Begun | None, other: Begun) -> bool:
    return one is None or one.sequence < other.sequence


def _call(begun: Begun) -> str:
    return f"{begun.op} (number {begun.sequence} of its group)"


def _where(live: list[State]) -> str:
    told = ", ".join(f"rank {each.rank} at {each.line}" for each in live[:NAMED])
    return f"with {told}{', ...' if len(live) > NAMED else ''}"
