"""`torch.distributed`: several processes that train together, over MPI.

`init_process_group` takes any backend's name; what carries the bytes is MPI (`mpi4py`), imported when there is more
than one process.
"""

from __future__ import annotations

from typing import Any

from .. import _missing
from .._core.base.user_warnings import warn
from . import _transport
from ._barriers import barrier, monitored_barrier
from ._collectives import (
    all_gather,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    scatter,
)
from ._groups import (
    Backend,
    GroupMember,
    ProcessGroup,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from ._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from ._peers import P2POp, batch_isend_irecv, irecv, isend, recv, send
from ._reductions import ReduceOp, _make_nccl_premul_sum as _make_nccl_premul_sum, supports_complex
from ._refusals import NO_STORE, STORES, refusing
from ._status import DistBackendError, DistError
from ._work import Work

__all__ = [
    "Backend", "DistBackendError", "DistError", "GroupMember", "P2POp", "ProcessGroup", "ReduceOp", "Work",
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_gather_single", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
    "broadcast_object_list", "default_pg_timeout", "destroy_process_group", "gather", "gather_object", "get_backend",
    "get_backend_config", "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group", "irecv", "is_available",
    "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
    "is_torchelastic_launched", "isend", "monitored_barrier", "new_group", "new_subgroups",
    "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_single",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "send_object_list", "supports_complex",
]  # fmt: skip

globals().update({name: refusing(name, NO_STORE) for name in STORES})

_PARTS = ("algorithms", "constants", "distributed_c10d", "launch", "nn", "optim", "rpc", "run", "tensor")


def is_available() -> bool:
    """Return whether there is `torch.distributed`: True; more than one process needs MPI."""
    return True


def is_mpi_available() -> bool:
    """Return whether mpi4py is installed."""
    return _transport.is_there()


def is_gloo_available() -> bool:
    """True: its name is taken, and MPI carries the bytes."""
    return True


def is_nccl_available() -> bool:
    """False: tensors of a GPU go through the memory of the CPU."""
    return False


def is_backend_available(backend: str) -> bool:
    """Return whether the backend of this name would be: `mpi` with mpi4py, and `gloo`."""
    known = {"gloo": is_gloo_available, "mpi": is_mpi_available}
    return known.get(backend.lower(), is_nccl_available)()


def is_torchelastic_launched() -> bool:
    """False: MPI starts the processes."""
    return False


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """The former name of `all_gather_single`."""
    _renamed("all_gather_into_tensor", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The former name of `reduce_scatter_single`."""
    _renamed("reduce_scatter_tensor", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)


def _renamed(name: str, new: str) -> None:
    warn(f"`torch.distributed.{name}` is deprecated. Please use `torch.distributed.{new}` instead.", FutureWarning)


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return _missing.load(f"{__name__}.{name}")
    if name == "GradBucket":  # with what only a DistributedDataParallel needs
        return _missing.load(f"{__name__}._buckets").GradBucket
    raise _missing.error(__name__, name, globals())
