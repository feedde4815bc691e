"""Modules called with other parameters than their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

__all__ = ["functional_call"]
import operator
from collections import deque
from itertools import starmap


def functional_call(
    module: Any,
    parameters_and_buffers: Any,
    args: Any = None,
    kwargs: Any = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with the given tensors, by path, instead of its own; other paths are ignored.

    `tie_weights`: a tensor given for one of several names of the same parameter stands for all. RuntimeError where
    `strict` and names are missing or unknown.

    >>> from autograph_cli import torch
    >>> m = torch.nn.Linear(1, 1)
    >>> functional_call(m, {"weight": torch.ones(1, 1), "bias": torch.zeros(1)}, torch.tensor([2.0]))
    tensor([2.])
    """
    several = [parameters_and_buffers] if isinstance(parameters_and_buffers, Mapping) else parameters_and_buffers
    tensors = {path: tensor for each in several for path, tensor in each.items()}
    if tie_weights:
        tensors = _tied(module, tensors)
    if strict:
        _check_names(module, tensors)
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    own = _members(module)
    with _exchanged(module, {path: tensor for path, tensor in tensors.items() if path in own}):
        return module(*given, **(kwargs or {}))


def _members(module: Any) -> dict[str, Any]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _tied(module: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """The tensors under all names of what they replace."""
    names: dict[int, list[str]] = {}
    own = _members(module)
    for name, tensor in own.items():
        names.setdefault(id(tensor), []).append(name)
    result = dict(tensors)
    for name, tensor in tensors.items():
        for other in names.get(id(own.get(name)), ()):
            if other in tensors and tensors[other] is not tensor:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted((name, other))}, which are tied. Consider "
                    "using tie_weights=False"
                )
            result[other] = tensor
    return result


def _check_names(module: Any, tensors: dict[str, Any]) -> None:
    own = _members(module)
    unexpected, missing = [n for n in tensors if n not in own], [n for n in own if n not in tensors]
    lines = [f"Unexpected key(s): {_quoted(unexpected)}."] if unexpected else []
    lines += [f"Missing key(s): {_quoted(missing)}."] if missing else []
    if lines:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(lines))


def _quoted(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)


@contextmanager
def _exchanged(module: Any, tensors: dict[str, Any]) -> Iterator[None]:
    """Within the block the module has the tensors instead of its own."""
    before: list[tuple[Any, str, Any]] = []
    put_back = starmap(operator.setitem, before)
    try:
        for path, tensor in tensors.items():
            head, _, name = path.rpartition(".")
            at = module.get_submodule(head)
            store = at._parameters if name in at._parameters else at._buffers
            before.insert(0, (store, name, store[name]))
            store[name] = tensor
        yield
    finally:
        deque(put_back, maxlen=0)
