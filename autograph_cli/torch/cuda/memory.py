"""`torch.cuda.memory`: what tensors hold on a GPU, and what is kept for later.

PyTorch's pools of small and of large blocks are not CuPy's: the statistics are those of all memory.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .._arrays import cuda
from .._arrays.memory_counts import Counts, Tally
from .._core.base.user_warnings import warn
from ._devices import gpu, is_initialized

__all__ = [
    "empty_cache", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_stats", "memory_summary",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip
_ROWS = {"allocated_bytes": "Allocated memory", "reserved_bytes": "GPU reserved memory", "allocation": "Allocations"}
"""The rows of `memory_summary`, by the names of the statistics."""


def empty_cache() -> None:
    """Give memory back that is kept for later."""
    if is_initialized():
        cuda.opened().cupy.get_default_memory_pool().free_all_blocks()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and all bytes of a GPU's memory."""
    where = gpu(device)
    free, total = cuda.opened().cupy.cuda.Device(where.index).mem_info
    return free, total


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let tensors take no more than this part of a GPU's memory; ValueError for what is no part."""
    where = gpu(device)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    cupy = cuda.opened().cupy
    with cupy.cuda.Device(where.index):
        cupy.get_default_memory_pool().set_limit(fraction=fraction)


def _counts(device: Any) -> Counts:
    """Return what is counted of a GPU, with what CuPy has given back since; zeros without one."""
    if not is_initialized():
        return Counts()
    backend, index = cuda.opened(), gpu(device).index
    result: Counts = backend.counts.of[index]
    with backend.cupy.cuda.Device(index):
        result.reserve(int(backend.cupy.get_default_memory_pool().total_bytes()))
    return result


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors hold."""
    return _counts(device).allocated_bytes.current


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors have held, since the script began or `reset_peak_memory_stats`."""
    return _counts(device).allocated_bytes.peak


def memory_reserved(device: Any = None) -> int:
    """The bytes that tensors hold, and those that are kept for later."""
    return _counts(device).reserved_bytes.current


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that tensors have held, with those that were kept for later."""
    return _counts(device).reserved_bytes.peak


def memory_cached(device: Any = None) -> int:
    """The former name of `memory_reserved`."""
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """The former name of `max_memory_reserved`."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def _renamed(name: str, now: str) -> None:
    warn(f"`torch.cuda.{name}` has been renamed to `torch.cuda.{now}`", FutureWarning)


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Return what is counted of a GPU's memory, by PyTorch's names; nothing without a GPU."""
    if not is_initialized():
        return OrderedDict()
    counts = _counts(device)
    result: OrderedDict[str, Any] = OrderedDict()
    for name, tally in counts.tallies().items():
        for part in Tally.__slots__:
            result[f"{name}.all.{part}"] = getattr(tally, part)
    result["num_ooms"] = counts.num_ooms
    return result


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The statistics as PyTorch's table, with the rows that are counted here."""
    index = gpu(device).index
    counts = _counts(index)
    line, thick = "-" * 75, "=" * 75
    lines = [
        thick,
        f" {'':16} PyTorch CUDA memory summary, device ID {index:<17d} ",
        line,
        f"  {'':9} CUDA OOMs: {counts.num_ooms:<12d} | {'':6} cudaMalloc retries: {0:<8d}  ",
        thick,
        "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  ",
    ]
    for name, title in _ROWS.items():
        tally = getattr(counts, name)
        shown = _size if name.endswith("bytes") else _count
        parts = (tally.current, tally.peak, tally.allocated, tally.freed)
        lines += [line, f" {title:<21} | " + " | ".join(map(shown, parts)) + " "]
    return "|" + "|\n|".join([*lines, thick]) + "|\n"


def _size(count: int) -> str:
    return _scaled(count, 768 * 1024, 1024, ("B  ", "KiB", "MiB", "GiB", "TiB", "PiB"), 6)


def _count(count: int) -> str:
    return _scaled(count, 750 * 1000, 1000, ("  ", "K ", "M "), 7)


def _scaled(count: int, most: int, step: int, units: tuple[str, ...], width: int) -> str:
    place = 0
    while count >= most and place < len(units) - 1:
        count, place = count // step, place + 1
    return f"{count:{width}d} {units[place]}"


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the most that tensors have held be what they hold now."""
    if is_initialized():
        for tally in _counts(device).tallies().values():
            tally.peak = tally.current


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Count anew what came and went."""
    if is_initialized():
        for tally in _counts(device).tallies().values():
            tally.allocated = tally.freed = 0


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
