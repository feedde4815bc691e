"""The collectives of `torch.distributed`, as PyTorch dispatches them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from autograph_cli.engines.protocol import CollectiveCall, Listener

_NAMES = {
    "allreduce_": "all_reduce",
    "allreduce_coalesced_": "all_reduce_coalesced",
    "allgather_": "all_gather",
    "_allgather_base_": "all_gather_into_tensor",
    "allgather_coalesced_": "all_gather_coalesced",
    "allgather_into_tensor_coalesced_": "all_gather_into_tensor_coalesced",
    "_reduce_scatter_base_": "reduce_scatter_tensor",
    "reduce_scatter_tensor_coalesced_": "reduce_scatter_tensor_coalesced",
    "alltoall_": "all_to_all",
    "alltoall_base_": "all_to_all_single",
    "recv_any_source_": "recv",
}
"""The public names of those that are called otherwise than their operations, but for the last underscore."""
_PEERS = {"send": "dst", "recv_": "src"}
"""The calls between two ranks, and the argument that names the other one."""


Done = Callable[[], None] | None


def tell(listener: Listener, operation: Any, args: Any, kwargs: Any) -> Done:
    """Tell the listener of an operation of `c10d` that is about to run; what this returns is called once its result is
    there."""
    name = operation._schema.name.partition("::")[2]
    given = dict(zip((each.name for each in operation._schema.arguments), args, strict=False)) | kwargs
    group = _group(given)
    if group is None:
        return None
    peer = given.get(_PEERS[name]) if name in _PEERS else -1 if name == "recv_any_source_" else None
    ranks = torch.distributed.get_process_group_ranks(group)
    inputs = [value for word, value in given.items() if "input" in word] or list(given.values())
    tensors = [] if name == "barrier" else list(_tensors(inputs))
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    public = _NAMES.get(name, name.strip("_"))
    peer = ranks[peer] if peer is not None and peer >= 0 else peer
    number = group._get_sequence_number_for_group() + 1
    outputs = [value for word, value in given.items() if "output" in word]
    changed = list(_tensors(outputs)) or tensors * (name != "send")
    if any(tensor.device.type != "cpu" for tensor in changed):
        changed = []  # a GPU is behind: when a result may be read there is not known
    return listener.collective(CollectiveCall(public, group.group_name, ranks, number, tensors, size, peer, changed))


def work_of(result: Any) -> Any:
    """Return the `Work` that an operation of `c10d` gave, which tells when it is over; None if it gave none."""
    kinds = (torch.ScriptObject,)
    boxed = [each for each in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(each, kinds)]
    return torch.distributed.Work.unbox(boxed[-1]) if boxed else None


def _group(given: dict[str, Any]) -> Any:
    found = given.get("process_group")
    return None if found is None else torch.distributed.ProcessGroup.unbox(found)


def _tensors(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
