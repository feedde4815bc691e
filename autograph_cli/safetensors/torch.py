"""`safetensors.torch`: dicts of tensors, and the parameters of modules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autograph_cli.atomic_files import atomic_write
from autograph_cli.torch import Tensor
from autograph_cli.torch._arrays.storages import owner
from autograph_cli.torch._core.device import check

from . import _format
from ._opened import read_bytes, safe_open, tensor_of

__all__ = [
    "load",
    "load_file",
    "load_model",
    "safe_open",
    "save",
    "save_file",
    "save_model",
    "storage_ptr",
    "storage_size",
]


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The tensors as the bytes of a file.

    ValueError for what is no dict of dense contiguous tensors, RuntimeError for tensors that share memory, KeyError for
    a dtype that has no place in such a file.
    """
    return _format.write(_checked(tensors), metadata)


def save_file(tensors: dict[str, Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
    """The tensors as a file, which is whole or not there; the errors of `save`."""
    parts = _format.chunks(_checked(tensors), metadata)
    try:
        with atomic_write(filename) as file:
            file.writelines(parts)
    except OSError as error:
        raise _format.SafetensorError(f"Error while serializing: I/O error: {error}") from None


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a file; SafetensorError for one that is damaged."""
    if not isinstance(data, (bytes, bytearray)):
        raise TypeError(f"argument 'bytes': {type(data).__name__!r} object is not an instance of 'bytes'")
    return {name: tensor_of(array) for name, array in read_bytes(data)}


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors in a file; SafetensorError for one that is damaged, FileNotFoundError."""
    check(device)
    with safe_open(filename, framework="pt") as opened:
        return {name: opened.get_tensor(name) for name in opened.offset_keys()}


def save_model(
    model: Any, filename: Any, metadata: dict[str, str] | None = None, force_contiguous: bool = True
) -> None:
    """The state of a module as a file; of names that share a tensor, one is written and the others are noted.

    RuntimeError where tensors overlap and none of them is the whole.
    """
    state = model.state_dict()
    notes = dict(metadata or {})
    for kept, others in _spare_names(state).items():
        for name in others:
            notes.setdefault(name, kept)
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    try:
        save_file(state, filename, metadata=notes or None)
    except ValueError as error:
        raise ValueError(
            f"{error} Or use save_model(..., force_contiguous=True), read the docs for potential caveats."
        ) from None


def load_model(model: Any, filename: Any, strict: bool = True, device: Any = "cpu") -> tuple[set[str], list[str]]:
    """Give a module the state in a file; (the names that the file lacks, those that the module lacks).

    RuntimeError, with `strict`, where there is any.
    """
    state = load_file(filename, device=device)
    missing, unexpected = model.load_state_dict(state, strict=False)
    lacking = set(missing)
    for others in _spare_names(model.state_dict(), state).values():
        for name in others:
            if name in lacking:
                lacking.remove(name)
            else:
                unexpected.append(name)
    if strict and (lacking or unexpected):
        lines = [
            f"\n    {kind} key(s) in state_dict: {', '.join(f'{chr(34)}{name}{chr(34)}' for name in sorted(names))}"
            for kind, names in (("Missing", lacking), ("Unexpected", unexpected))
            if names
        ]
        raise RuntimeError(f"Error(s) in loading state_dict for {type(model).__name__}:{''.join(lines)}")
    return lacking, unexpected


def storage_ptr(tensor: Tensor) -> int:
    """The address of the memory that a tensor is in."""
    return int(tensor.untyped_storage().data_ptr())


def storage_size(tensor: Tensor) -> int:
    """The bytes of the memory that a tensor is in."""
    return int(tensor.untyped_storage().nbytes())


# ---------------------------------------------------------------- what may be written


def _checked(tensors: Any) -> dict[str, Any]:
    """The arrays of the tensors, if they can be written."""
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
    sparse = [name for name, tensor in tensors.items() if tensor.is_sparse]
    if sparse:
        raise ValueError(
            f"You are trying to save a sparse tensors: `{sparse}` which this library does not support."
            " You can make it a dense tensor before saving with `.to_dense()` but be aware this might"
            " make a much larger file than needed."
        )
    if shared := _sharing(tensors):
        raise RuntimeError(
            "\n            Some tensors share memory, this will lead to duplicate memory on disk and potential "
            f"differences when loading them again: [{', '.join(map(_shown, shared))}].\n            A potential way to "
            "correctly save your model is to use `save_model`."
        )
    for name, tensor in tensors.items():
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you"
                " are trying to save tensors which are reference of each other in which case it's recommended to save"
                " only the full tensors, and reslice at load time, or simply call `.contiguous()` on your tensor to"
                " pack it before saving."
            )
    return {name: np.asarray(tensor.detach()._ag_raw) for name, tensor in tensors.items()}


def _shown(names: set[str]) -> str:
    return f"{{{', '.join(map(repr, sorted(names)))}}}"


def _bounds(raw: Any) -> tuple[int, int]:
    """The first byte of an array in memory, and the one after its last."""
    low, high = np.lib.array_utils.byte_bounds(raw)
    return int(low), int(high)


def _sharing(tensors: dict[str, Tensor]) -> list[set[str]]:
    """The sets of names whose tensors have bytes in common."""
    positions = [(*_position(tensor), name) for name, tensor in tensors.items() if tensor.numel()]
    groups: list[set[str]] = []
    reach = -1
    for begin, end, name in sorted(positions):
        if begin >= reach:
            groups.append(set())
        groups[-1].add(name)
        reach = max(reach, end)
    return [group for group in groups if len(group) > 1]


def _position(tensor: Tensor) -> tuple[int, int]:
    """The bytes of a tensor in memory; a number that nothing else holds is where its tensor is."""
    raw = tensor._ag_raw
    return (id(tensor), id(tensor) + 1) if isinstance(raw, np.generic) else _bounds(raw)


def _spare_names(state: dict[str, Tensor], preferred: Iterable[str] = ()) -> dict[str, list[str]]:
    """For each tensor of several names, the name to keep, and the others."""
    spare = {}
    for group in _sharing(state):
        whole = sorted(name for name in group if _is_whole(state[name]))
        if not whole:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no suitable name to keep for "
                f"saving amongst: {_shown(group)}. None is covering the entire storage. Refusing to save/load the "
                "model since you could be storing much more memory than needed."
            )
        kept = next((name for name in whole if name in preferred), whole[0])
        spare[kept] = sorted(group - {kept})
    return spare


def _is_whole(tensor: Tensor) -> bool:
    raw = tensor._ag_raw
    return isinstance(raw, np.generic) or _bounds(raw) == _bounds(owner(raw))
