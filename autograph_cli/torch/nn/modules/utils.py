"""Small helpers that scripts import from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (
    _ntuple(n, f"_{name}") for n, name in enumerate(("single", "pair", "triple", "quadruple"), 1)
)


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """Each element `n` times, from the last one to the first: the padding of `F.pad` from that of a layer."""
    return tuple(x for x in reversed(tuple(t)) for _ in range(n))


def _list_with_default(out_size: Iterable[int | None] | int, defaults: list[int]) -> Any:
    """The sizes wanted, with those of the input where one is None."""
    if isinstance(out_size, int):
        return out_size
    wanted = list(out_size)
    if len(defaults) <= len(wanted):
        raise ValueError(f"Input dimension should be at least {len(wanted) + 1}")
    return [d if v is None else v for v, d in zip(wanted, defaults[-len(wanted) :], strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names of a state dict, in place: what `DataParallel` saved loads into the bare module."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None) or {}
    for key in list(metadata):
        # "" is the module itself, the prefix without its dot the container that is gone.
        if key and (key == prefix.removesuffix(".") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
