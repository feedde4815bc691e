"""The memory of the stand-in's device: what is taken of it and given back, and the hooks that are told."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar


class MemoryHook:
    """Is told of memory that is taken and given back, while it is entered."""

    entered: ClassVar[list[MemoryHook]] = []

    def __enter__(self) -> MemoryHook:
        self.entered.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        self.entered.remove(self)

    def alloc_postprocess(self, **_: Any) -> None: ...

    def malloc_postprocess(self, **_: Any) -> None: ...

    def free_postprocess(self, **_: Any) -> None: ...


class OutOfMemoryError(MemoryError):
    """No memory is left on the device."""


class MemoryPool:
    """Keeps memory that was given back for what comes next."""

    def __init__(self) -> None:
        self._used = self._total = self._limit = 0

    def used_bytes(self) -> int:
        return self._used

    def free_bytes(self) -> int:
        return self._total - self._used

    def total_bytes(self) -> int:
        return self._total

    def free_all_blocks(self, stream: Any = None) -> None:
        self._total = self._used

    def get_limit(self) -> int:
        return self._limit

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        self._limit = int((1 << 31) * fraction) if fraction is not None else size or 0

    def malloc(self, size: int) -> Taken:
        """Memory, of which hooks are told; OutOfMemoryError where the device has none left."""
        if self._limit and self._used + size > self._limit:
            raise OutOfMemoryError(
                f"Out of memory allocating {size:,} bytes (allocated so far: {self._used:,} bytes, limit set to: "
                f"{self._limit:,} bytes)."
            )
        taken = Taken(size)
        self._used += taken.size
        if self._used > self._total:
            self._total = self._used
            for hook in MemoryHook.entered:
                hook.alloc_postprocess(device_id=0, mem_size=taken.size, mem_ptr=1)
        for hook in MemoryHook.entered:
            hook.malloc_postprocess(device_id=0, size=size, mem_size=taken.size, mem_ptr=1, pmem_id=0)
        return taken

    def give(self, size: int) -> None:
        self._used -= size


pool = MemoryPool()
_allocator: Any = pool.malloc


def get_allocator() -> Any:
    return _allocator


def set_allocator(allocator: Any = None) -> None:
    global _allocator
    _allocator = allocator or pool.malloc


class Taken:
    """Memory that hooks were told of."""

    def __init__(self, size: int) -> None:
        self.size = -(-size // 512) * 512

    def given_back(self) -> None:
        pool.give(self.size)
        for hook in MemoryHook.entered:
            hook.free_postprocess(device_id=0, mem_size=self.size, mem_ptr=0, pmem_id=0)


def told(owner: Any) -> None:
    """Tell hooks of memory that is new, which this array has, and when it is given back."""
    if MemoryHook.entered and id(owner) not in _told:
        taken = get_allocator()(owner.nbytes)
        _told.add(id(owner))
        weakref.finalize(owner, lambda taken, key: (_told.discard(key), taken.given_back()), taken, id(owner))


_told: set[int] = set()
