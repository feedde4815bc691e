"""Calls that all ranks of a group make together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.base.errors import refused
from .._core.base.user_warnings import warn
from .._core.tape.tensor import Tensor
from ._agreement import Agreement
from ._groups import ProcessGroup, chosen, get_group_rank, is_outside, world
from ._memory import Landing, Pieces, check_list, check_same_dtype, check_tensor, is_meta, read
from ._recording import told
from ._reductions import ReduceOp, Reduction
from ._transport import Done, Request
from ._work import Work


def outside(group: Any, name: str) -> bool:
    """Return whether this rank has no part in a call; it is warned, as by PyTorch."""
    if not is_outside(group):
        return False
    rank = -1 if world.default is None else world.default.rank()
    warn(f"Running {name} on global rank {rank} which does not belong to the given group.")
    return True


def begun(
    name: str,
    group: ProcessGroup,
    post: Callable[[], Sequence[Request]],
    *,
    given: Sequence[Tensor] = (),
    changed: Sequence[Tensor] = (),
    finish: Callable[[], None] | None = None,
    async_op: bool = False,
    op: str = "",
    peer: int | None = None,
    alike: Sequence[Tensor] | None = None,
    parts: tuple[Sequence[int], Sequence[int]] | None = None,
) -> Work | None:
    """Begin a call, and unless it is asynchronous wait for its end; all ranks have the same sizes and dtypes of what is
    `given`, or of what is `alike` (see `Agreement`)."""
    size = sum([tensor.numel() * tensor.element_size() for tensor in given])
    call = group.call(name, op=op, bytes=size, peer=peer)
    without = any(map(is_meta, (*given, *changed)))
    if without:
        work = Work(call, [Done()], None, list(changed))
    else:
        agreement = Agreement(call, given if alike is None else alike, parts)
        work = Work(call, (), finish, list(changed), agreement, post)
    work.noted = None if without else told(call, given, changed)
    if async_op:
        return work
    work.wait()
    return None


def root_of(group: ProcessGroup, rank: int | None, group_rank: int | None, default: int | None = None) -> int:
    """The rank in the group that is meant by one in the world or one in the group."""
    if group_rank is not None:
        if rank is not None:
            raise refused(ValueError, "Can't specify both group_rank and global_rank")
        return group_rank
    rank = default if rank is None else rank
    if rank is None:
        raise refused(ValueError, "Must specify global_rank or group_rank")
    return get_group_rank(group, rank)


def _checked_root(group: ProcessGroup, root: int, name: str) -> int:
    if not 0 <= root < group.size():
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {root}")
    return root


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce the tensors of all ranks, in place, to the same result on each.

    >>> from autograph_cli import torch
    >>> import autograph_cli.torch.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.all_reduce(x)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    check_tensor(tensor, "tensor")
    if outside(group, "all_reduce"):
        return None
    members = chosen(group)
    how = Reduction(op, tensor._ag_raw.dtype, "all_reduce")
    landing = None if is_meta(tensor) else Landing(tensor)

    def post() -> list[Request]:
        assert landing is not None
        how.before(landing.array)
        return [members.transport.all_reduce(landing.array, how.carried)]

    def finish() -> None:
        assert landing is not None
        how.after(landing.array, members.size())
        landing.land()

    return begun(
        "all_reduce", members, post, given=[tensor], changed=[tensor], finish=finish, async_op=async_op, op=how.name
    )


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce each of a list of tensors, in place."""
    warn(
        "`torch.distributed.all_reduce_coalesced` will be deprecated. If you must use it, please revisit our "
        "documentation later at https://pytorch.org/docs/main/distributed.html#collective-functions",
        FutureWarning,
    )
    check_list(tensors, "tensors")
    check_same_dtype(*tensors)
    if outside(group, "all_reduce_coalesced"):
        return None
    members = chosen(group)
    how = Reduction(op, tensors[0]._ag_raw.dtype, "all_reduce_coalesced")
    landings = [Landing(tensor) for tensor in tensors]

    def post() -> list[Request]:
        for landing in landings:
            how.before(landing.array)
        return [members.transport.all_reduce(landing.array, how.carried) for landing in landings]

    def finish() -> None:
        for landing in landings:
            how.after(landing.array, members.size())
            landing.land()

    return begun(
        "all_reduce_coalesced", members, post, given=tensors, changed=tensors, finish=finish, async_op=async_op,
        op=how.name,
    )  # fmt: skip


def reduce(
    tensor: Any,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce the tensors of all ranks into that of one."""
    check_tensor(tensor, "tensor")
    if outside(group, "reduce"):
        return None
    members = chosen(group)
    root = _checked_root(members, root_of(members, dst, group_dst), "reduce")
    how = Reduction(op, tensor._ag_raw.dtype, "reduce")
    is_root = members.rank() == root
    array = Landing(tensor).array if is_root else np.array(read(tensor))
    landing = Landing(tensor) if is_root else None
    array = array if landing is None else landing.array

    def post() -> list[Request]:
        how.before(array)
        return [members.transport.reduce(array, how.carried, root)]

    def finish() -> None:
        if landing is not None:
            how.after(array, members.size())
            landing.land()

    return begun(
        "reduce", members, post, given=[tensor], changed=[tensor] if is_root else [], finish=finish, async_op=async_op,
        op=how.name, peer=root,
    )  # fmt: skip


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give the tensor of one rank to all."""
    check_tensor(tensor, "tensor")
    if outside(group, "broadcast"):
        return None
    members = chosen(group)
    root = _checked_root(members, root_of(members, src, group_src), "broadcast")
    is_root = members.rank() == root
    landing = None if is_root or is_meta(tensor) else Landing(tensor)
    array = None if is_meta(tensor) else read(tensor) if landing is None else landing.array
    return begun(
        "broadcast", members, lambda: [members.transport.broadcast(array, root)], given=[tensor],
        changed=[] if is_root else [tensor], finish=None if landing is None else landing.land, async_op=async_op,
        peer=root,
    )  # fmt: skip


def _check_count(tensors: Sequence[Tensor], size: int, name: str, what: str) -> None:
    if len(tensors) != size:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: Incorrect {what} list size {len(tensors)}. {what.title()} list size should be "
            f"{size}, same as size of the process group."
        )


def _check_sizes(tensors: Sequence[Tensor], like: Tensor, name: str) -> None:
    for index, tensor in enumerate(tensors):
        if tensor.shape != like.shape:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor size at index {index} (expected "
                f"{_size(like)}, got {_size(tensor)})"
            )


def _size(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """The tensors of all ranks, on each of them, in the tensors of a list."""
    check_list(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_same_dtype(*tensor_list, tensor)
    if outside(group, "all_gather"):
        return None
    members = chosen(group)
    if len(tensor_list) != members.size():
        raise RuntimeError(
            f"ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length {members.size()}, "
            f"got {len(tensor_list)})"
        )
    _check_sizes(tensor_list, tensor, "allgather")
    pieces = Pieces(tensor_list, given=False)
    return begun(
        "all_gather", members, lambda: [members.transport.all_gather(read(tensor), pieces.array)], given=[tensor],
        changed=tensor_list, finish=pieces.land, async_op=async_op,
    )  # fmt: skip


def all_gather_single(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """The tensors of all ranks, on each of them, one after the other in one tensor."""
    check_tensor(output_tensor, "output_tensor")
    check_tensor(input_tensor, "input_tensor")
    check_same_dtype(output_tensor, input_tensor)
    if outside(group, "all_gather_single"):
        return None
    members = chosen(group)
    if output_tensor.numel() != input_tensor.numel() * members.size():
        raise refused(ValueError, "output tensor size must be equal to world_size times input tensor size")
    landing = Landing(output_tensor)
    return begun(
        "all_gather_single", members, lambda: [members.transport.all_gather(read(input_tensor), landing.array)],
        given=[input_tensor], changed=[output_tensor], finish=landing.land, async_op=async_op,
    )  # fmt: skip


def reduce_scatter_single(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the tensors of all ranks, and give each rank its part."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    if outside(group, "reduce_scatter_single"):
        return None
    members = chosen(group)
    if input.numel() != output.numel() * members.size():
        raise refused(ValueError, "input tensor must be the same size as output size times world size")
    return _reduce_scatter(
        "reduce_scatter_single", [input], [output.numel()] * members.size(), output, op, members, async_op
    )


def reduce_scatter(
    output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the lists of tensors of all ranks, and give each rank its element."""
    check_tensor(output, "output")
    check_list(input_list, "input_list")
    check_same_dtype(output, *input_list)
    if outside(group, "reduce_scatter"):
        return None
    members = chosen(group)
    if len(input_list) != members.size():
        raise RuntimeError(
            f"ProcessGroupGloo::reduce_scatter: invalid input tensor list at index 0 (expected length "
            f"{members.size()}, got {len(input_list)})"
        )
    return _reduce_scatter(
        "reduce_scatter", input_list, [tensor.numel() for tensor in input_list], output, op, members, async_op
    )


def _reduce_scatter(
    name: str, given: list[Any], counts: list[int], output: Any, op: Any, members: ProcessGroup, async_op: bool
) -> Work | None:
    how = Reduction(op, output._ag_raw.dtype, name)
    sent = read(given[0]) if len(given) == 1 and how.name != "PREMUL_SUM" else Pieces(given, given=True).array
    landing = Landing(output)

    def post() -> list[Request]:
        how.before(sent)
        return [members.transport.reduce_scatter(sent, landing.array, counts, how.carried)]

    def finish() -> None:
        how.after(landing.array, members.size())
        landing.land()

    return begun(name, members, post, given=given, changed=[output], finish=finish, async_op=async_op, op=how.name)


def gather(
    tensor: Any,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The tensors of all ranks, on one of them, in the tensors of a list."""
    check_tensor(tensor, "tensor")
    if gather_list:
        check_list(gather_list, "gather_list")
        check_same_dtype(*gather_list, tensor)
    if outside(group, "gather"):
        return None
    members = chosen(group)
    root = _checked_root(members, root_of(members, dst, group_dst, 0), "gather")
    is_root = members.rank() == root
    if is_root and not gather_list:
        raise refused(ValueError, "Argument ``gather_list`` must be specified on destination rank.")
    if not is_root and gather_list:
        raise refused(ValueError, "Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    if is_root:
        _check_count(gather_list, members.size(), "gather", "output")
        _check_sizes(gather_list, tensor, "gather")
    pieces = Pieces(gather_list, given=False) if is_root else None
    into = None if pieces is None else pieces.array
    return begun(
        "gather", members, lambda: [members.transport.gather(read(tensor), into, root)], given=[tensor],
        changed=gather_list or [], finish=None if pieces is None else pieces.land, async_op=async_op, peer=root,
    )  # fmt: skip


def scatter(
    tensor: Any,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each rank one of the tensors of a list of one of them."""
    check_tensor(tensor, "tensor")
    if scatter_list:
        check_list(scatter_list, "scatter_list")
        check_same_dtype(*scatter_list, tensor)
    if outside(group, "scatter"):
        return None
    members = chosen(group)
    root = _checked_root(members, root_of(members, src, group_src, 0), "scatter")
    is_root = members.rank() == root
    if is_root and not scatter_list:
        raise refused(ValueError, "Argument ``scatter_list`` must be specified on source rank.")
    if not is_root and scatter_list:
        raise refused(ValueError, "Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    if is_root:
        _check_count(scatter_list, members.size(), "scatter", "input")
        _check_sizes(scatter_list, tensor, "scatter")
    sent = Pieces(scatter_list, given=True).array if is_root else None
    landing = Landing(tensor)
    return begun(
        "scatter", members, lambda: [members.transport.scatter(sent, landing.array, root)], given=scatter_list or [],
        changed=[tensor], finish=landing.land, async_op=async_op, peer=root, alike=[tensor],
    )  # fmt: skip


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Each rank gives each rank a tensor, and gets one of each."""
    if outside(group, "all_to_all"):
        return None
    check_list(output_tensor_list, "output_tensor_list")
    check_list(input_tensor_list, "input_tensor_list")
    check_same_dtype(*output_tensor_list, *input_tensor_list)
    members = chosen(group)
    sent, received = Pieces(input_tensor_list, given=True), Pieces(output_tensor_list, given=False)
    return begun(
        "all_to_all", members,
        lambda: [members.transport.all_to_all(sent.array, sent.counts, received.array, received.counts)],
        given=input_tensor_list, changed=output_tensor_list, finish=received.land, async_op=async_op,
        parts=(sent.counts, received.counts),
    )  # fmt: skip


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Each rank gives each rank a part of its tensor, cut along the first dimension."""
    if outside(group, "all_to_all_single"):
        return None
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_same_dtype(output, input)
    members = chosen(group)
    counts = _split(input, input_split_sizes, members.size())
    into_counts = _split(output, output_split_sizes, members.size())
    landing = Landing(output)
    return begun(
        "all_to_all_single", members,
        lambda: [members.transport.all_to_all(read(input), counts, landing.array, into_counts)], given=[input],
        changed=[output], finish=landing.land, async_op=async_op, parts=(counts, into_counts),
    )  # fmt: skip


def _split(tensor: Tensor, sizes: Any, size: int) -> list[int]:
    rows = tensor.shape[0] if tensor.ndim else 1
    if not sizes:
        if rows % size:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [rows // size] * size
    if len(sizes) != size:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != rows:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    width = tensor.numel() // max(rows, 1)
    return [int(n) * width for n in sizes]
