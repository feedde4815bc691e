"""Process groups: which ranks there are, and which of them a call is for."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from datetime import timedelta
from typing import Any

from .._core.base.errors import refused
from .._launched import launched_size
from . import _status
from ._agreement import Agreement
from ._transport import Alone, Mpi, Transport, mpi
from ._work import Work

default_pg_timeout = timedelta(minutes=30)
_KNOWN = ("undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake")


_METHODS = ("env", "file", "tcp")
"""Ways for processes to find each other, all of which are answered: MPI has brought them together."""


class Backend(str):
    """A name of what PyTorch would carry bytes with; here it is MPI, whatever the name.

    >>> Backend("GLOO")
    'gloo'
    """

    UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE = _KNOWN
    backend_list = list(_KNOWN)

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise refused(ValueError, "Backend constructor parameter must be string-ish")
        return name.lower()


@dataclasses.dataclass(frozen=True)
class Call:
    """One call between ranks: the `number`-th of its group, or for a peer the `number`-th between the two."""

    name: str
    group: ProcessGroup
    number: int
    line: str
    op: str = ""
    bytes: int = 0
    peer: int | None = None
    between_two: bool = False
    """True if it is for the peer only."""

    @property
    def rank(self) -> int:
        """The rank in the world that makes the call."""
        return self.group.ranks[self.group.rank()]

    def __str__(self) -> str:
        return f"{self.name} at {self.line}"


class ProcessGroup:
    """Some of the ranks, in an order; `new_group` makes one."""

    def __init__(
        self, transport: Transport, ranks: Sequence[int], name: str, backend: str, timeout: timedelta, desc: str
    ) -> None:
        self.transport, self.ranks, self.timeout = transport, list(ranks), timeout
        self.group_name, self.group_desc, self.backend = name, desc, backend
        self.pending: list[Work] = []
        self._counts: Counter[Hashable] = Counter()

    def __repr__(self) -> str:
        return f"<torch.distributed.distributed_c10d.ProcessGroup object at {id(self):#x}>"

    def rank(self) -> int:
        """This process's number in the group."""
        return self.transport.rank

    def size(self) -> int:
        """Return how many ranks there are."""
        return self.transport.size

    def name(self) -> str:
        """The name of the backend that was asked for."""
        return self.backend

    def call(self, name: str, *, op: str = "", bytes: int = 0, peer: int | None = None, key: Any = None) -> Call:
        """The next call of the group, or the next with a peer and a `key`."""
        at = None if key is None else peer
        self._counts[at, key] += 1
        call = Call(name, self, self._counts[at, key], _status.line(), op, bytes, peer, key is not None)
        _status.called(call)
        return call


class _Membership(type):
    """`group.WORLD` is what `init_process_group` made, or None."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        return world.default

    @WORLD.setter
    def WORLD(cls, pg: ProcessGroup | None) -> None:
        world.default = pg


class group(metaclass=_Membership):
    """`group.WORLD`: all ranks."""


class GroupMember(metaclass=_Membership):
    """`GroupMember.WORLD`: all ranks; NON_GROUP_MEMBER is what `new_group` gives to a rank that is not in the group."""

    NON_GROUP_MEMBER = -100


class World:
    """The groups that this process is in."""

    default: ProcessGroup | None = None

    def __init__(self) -> None:
        self.groups: list[ProcessGroup] = []
        self.made = 0

    def next_name(self) -> str:
        """The name of the next group: all ranks make groups in the same order."""
        self.made += 1
        return str(self.made - 1)


world = World()


def is_initialized() -> bool:
    """Return whether there is a default group."""
    return world.default is not None


def default_group() -> ProcessGroup:
    """The default group. ValueError before `init_process_group`."""
    if world.default is None:
        raise refused(
            ValueError, "Default process group has not been initialized, please make sure to call init_process_group."
        )
    return world.default


def chosen(group: Any) -> ProcessGroup:
    """The group that an argument names; None is the default one."""
    result: ProcessGroup = default_group() if group is None else group
    if result not in world.groups:
        raise refused(ValueError, "Invalid process group specified: it was destroyed")
    return result


def is_outside(group: Any) -> bool:
    """Return whether `group` is what `new_group` gave to a rank that is not in it."""
    return group is GroupMember.NON_GROUP_MEMBER or (isinstance(group, int) and group == GroupMember.NON_GROUP_MEMBER)


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Make the default group of all processes that MPI started; of one process alone without it.

    RuntimeError where `world_size`, or WORLD_SIZE, is another number of processes than were started.
    """
    if world.default is not None:
        raise refused(ValueError, "trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    timeout = _checked(timeout)
    transport = _all_processes(*_wanted(init_method, world_size, rank))
    name = Backend("undefined" if backend is None else backend)
    world.default = ProcessGroup(
        transport, range(transport.size), world.next_name(), name, timeout, group_name or "default_pg"
    )
    world.groups.append(world.default)
    _status.begin(world.default)


def _checked(timeout: Any) -> timedelta:
    if timeout is None:
        return default_pg_timeout
    if not isinstance(timeout, timedelta):
        raise refused(
            TypeError,
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout} of type {type(timeout)}",
        )
    return timeout


def _wanted(init_method: str | None, world_size: int, rank: int) -> tuple[int | None, int | None]:
    """The size and the rank that the script or the variables of `torchrun` ask for."""
    if init_method is not None and init_method.partition("://")[0] not in _METHODS:
        raise RuntimeError(f"No rendezvous handler for {init_method.partition('://')[0]}://")
    if init_method not in (None, "env://"):
        return world_size if world_size > 0 else None, rank if rank >= 0 else None
    size = str(world_size) if world_size > 0 else os.environ.get("WORLD_SIZE", "")
    number = str(rank) if rank >= 0 else os.environ.get("RANK", "")
    return int(size) if size.isdigit() else None, int(number) if number.isdigit() else None


def _all_processes(size: int | None, rank: int | None) -> Transport:
    transport: Transport = Alone()
    wanted = size or launched_size()
    if max(wanted, launched_size()) > 1:
        if multiprocessing.parent_process() is not None:
            script = os.path.basename(sys.argv[0])
            raise RuntimeError(
                "a process that the script started is no rank: "
                f"`autograph run --ranks {wanted} {script}` starts those, "
                f"in which torch.multiprocessing.spawn(f, nprocs={wanted}) calls f(rank)"
            )
        comm = mpi().COMM_WORLD
        there = comm.size
        if there != wanted:
            raise RuntimeError(
                f"{wanted} processes are asked for, and MPI started {there}: start the script with `autograph run "
                f"--ranks {wanted} SCRIPT`, or with the mpiexec of the MPI that mpi4py uses"
            )
        transport = Mpi(comm.Split(0, comm.rank if rank is None else rank))
    if rank is not None and transport.rank != rank:
        raise refused(ValueError, f"rank {rank} is given to a process that can only be rank {transport.rank}")
    return transport


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Forget a group; without one, all groups. Works that are going on are waited for."""
    if is_outside(group):
        return
    found = world.default if group is None else group
    if found is None:
        raise AssertionError("Process group cannot be None")
    if found not in world.groups:
        raise refused(ValueError, "Invalid process group specified")
    gone = list(reversed(world.groups)) if found is world.default else [found]
    for each in gone:
        for work in list(each.pending):
            work.wait()
        each.transport.free()
        world.groups.remove(each)
    if found is world.default:
        _status.end()
        world.default, world.made = None, 0


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of these ranks of the world, which all processes must ask for, in the same order.

    A process that is not in it gets `GroupMember.NON_GROUP_MEMBER`.
    """
    everyone = default_group()
    members = list(range(everyone.size())) if ranks is None else _members(ranks, everyone.size(), sort_ranks)
    inside = everyone.rank() in members
    if use_local_synchronization and not inside:
        return None
    name = world.next_name()
    call = everyone.call("new_group", key=f"local {members}" if use_local_synchronization else None)
    if not use_local_synchronization:
        Work(call, (), None, [], Agreement(call, ()), lambda: [everyone.transport.barrier()]).wait()
    if not inside:
        return GroupMember.NON_GROUP_MEMBER
    result = ProcessGroup(
        everyone.transport.among(members),
        members,
        name,
        everyone.backend if backend is None else Backend(backend),
        everyone.timeout if timeout is None else _checked(timeout),
        group_desc or "undefined",
    )
    world.groups.append(result)
    return result


def _members(ranks: Sequence[int], size: int, sort: bool) -> list[int]:
    members = sorted(ranks) if sort else list(ranks)
    if len(set(members)) != len(members):
        raise refused(ValueError, f"ranks list must not contain duplicate entries, got {members}")
    if len(members) > size:
        raise refused(
            ValueError,
            "the new group's world size should be less or equal to the world size set by init_process_group",
        )
    for rank in members:
        if not 0 <= rank < size:
            raise refused(
                ValueError, f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})"
            )
    return members


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """A group for each of these lists of ranks: the one that this process is in, and all of them."""
    if not ranks_per_subgroup_list:
        raise refused(ValueError, "The arg 'ranks_per_subgroup_list' cannot be empty")
    own, groups, seen = None, [], {}  # type: ignore[var-annotated]
    for ranks in ranks_per_subgroup_list:
        made = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        groups.append(made)
        for rank in ranks:
            if rank in seen:
                raise refused(ValueError, f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
        own = made if get_rank() in ranks else own
    return own, groups


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` neighbours: the one that this process is in, and all of them."""
    size = get_world_size()
    each = size if group_size is None else group_size
    if each <= 0:
        raise refused(ValueError, f"The arg 'group_size' ({each}) must be positive")
    if size < each:
        raise refused(ValueError, f"The arg 'group_size' ({each}) must not exceed the world size ({size})")
    if size % each:
        raise refused(ValueError, f"The world size ({size}) must be divisible by 'group_size={each}'")
    lists = [list(range(first, first + each)) for first in range(0, size, each)]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options, group_desc)


def get_rank(group: Any = None) -> int:
    """This process's number in the group; -1 outside of it."""
    return -1 if is_outside(group) else chosen(group).rank()


def get_world_size(group: Any = None) -> int:
    """Return how many ranks the group has; -1 for one that this process is not in."""
    return -1 if is_outside(group) else chosen(group).size()


def get_backend(group: Any = None) -> str:
    """The name of the backend that was asked for."""
    if is_outside(group):
        raise refused(ValueError, "Invalid process group specified")
    return chosen(group).backend


def get_backend_config(group: Any = None) -> str:
    """The backend of each device."""
    name = get_backend(group)
    return name if ":" in name else f"cpu:{name},cuda:{name}"


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks in the world of the group's ranks."""
    return list(chosen(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of a rank of the group. ValueError for one that is not in it."""
    if group is world.default:
        return group_rank
    if not 0 <= group_rank < group.size():
        raise refused(ValueError, f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in the group of a rank of the world. ValueError for one that is not in it."""
    if group is world.default:
        return global_rank
    if global_rank not in group.ranks:
        raise refused(ValueError, f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def get_pg_count() -> int:
    """Return how many groups this process is in."""
    return len(world.groups)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its machine, as LOCAL_RANK says."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )
