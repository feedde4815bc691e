"""A device of PyTorch that computes on the CPU, and whose backward passes run in a thread of their own, as those of a GPU
do."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import library as registry
from torch.utils import backend_registration
from torch.utils._pytree import tree_leaves, tree_map

NAME = "accel"
_NATIVE = ("_to_copy", "copy_", "to", "copy", "detach", "detach_", "alias")
"""What PyTorch itself does right here, on the storage or by `_copy_from`."""
_registered: list[registry.Library] = []
_numbers: dict[int, torch.Tensor] = {}
"""The tensor of the CPU that has the numbers, by the address of the storage on the device, which is empty."""


class _Module(backend_registration._DummyBackendModule):
    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]


def _is_there(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.device.type == NAME


def _fetch(x: Any) -> Any:
    if _is_there(x):
        return _numbers[x.untyped_storage()._cdata]
    return torch.device("cpu") if isinstance(x, torch.device) else x


def _put(numbers: torch.Tensor) -> torch.Tensor:
    made = torch._C._acc.create_empty_tensor(numbers.shape, numbers.dtype)
    _numbers[made.untyped_storage()._cdata] = numbers
    return made


def _run(operation: Any, *args: Any, **kwargs: Any) -> Any:
    given, words = tree_map(_fetch, (args, kwargs))
    result = operation(*given, **words)
    if str(kwargs.get("device") or NAME).startswith("cpu"):
        return result
    there = {id(_fetch(x)): x for x in tree_leaves((args, kwargs)) if _is_there(x)}
    return tree_map(lambda x: there[id(x)] if id(x) in there else _put(x) if isinstance(x, torch.Tensor) else x, result)


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    _fetch(target).copy_(_fetch(source))
    return target


def register() -> None:
    """Make the device known to PyTorch, which goes once in a process."""
    backend_registration._setup_privateuseone_for_python_backend(NAME, _Module())  # type: ignore[no-untyped-call]
    others, aten = registry.Library("_", "IMPL"), registry.Library("aten", "IMPL")
    _registered.extend([others, aten])
    others.fallback(_run, "PrivateUse1")
    aten.impl("_copy_from", _copy_from, "PrivateUse1")
    for name in torch._C._dispatch_get_all_op_names():
        space, _, short = name.partition("::")
        packet, _, overload = short.partition(".")
        of_devices = torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeExplicitAutograd")
        makes_views = short in ("empty.memory_format", "empty_strided", "view", "as_strided")
        if space == "aten" and packet not in _NATIVE and (of_devices or makes_views):
            operation = getattr(getattr(torch.ops.aten, packet), overload or "default")
            aten.impl(short, functools.partial(_run, operation), "PrivateUse1")
