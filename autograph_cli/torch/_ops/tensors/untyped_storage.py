"""The memory under tensors as bytes."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._arrays.backends import device_of
from ..._arrays.cuda import moved
from ..._arrays.meta import Meta
from ..._arrays.storages import address
from ..._core.base.device import check
from ..._core.base.errors import refused


class UntypedStorage:
    """The bytes under a tensor and all its views."""

    def __init__(self, root: Any) -> None:
        self._root = root

    @staticmethod
    def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, which is read as they are used.

        What is written there is written to the file if that is `shared`, which is made, and made longer, where it has
        to be. RuntimeError for a file that cannot be opened, or is too short.
        """
        if not isinstance(filename, str):
            raise refused(TypeError, f"argument 1 must be str, not {type(filename).__name__}")
        try:
            number = os.open(filename, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY)
        except OSError as error:
            mode = "read-write" if shared else "read-only"
            raise RuntimeError(
                f"unable to open file <{filename}> in {mode} mode: {error.strerror} ({error.errno})"
            ) from None
        with open(number, "r+b" if shared else "rb") as file:
            size = os.fstat(number).st_size
            if size < nbytes and not shared:
                raise RuntimeError(
                    f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>"
                )
            if size < nbytes:
                file.truncate(nbytes)
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            return UntypedStorage(_bytes_of(mmap.mmap(number, nbytes, access=access) if nbytes else b""))

    @property
    def _row(self) -> Any:
        return self._root.ravel(order="K").view(np.uint8)

    def as_row(self, dtype: Any) -> Any:
        """The memory as a row of elements of a dtype of NumPy's; bytes that are too few for one are left out."""
        row = self._row
        return row[: len(row) // dtype.itemsize * dtype.itemsize].view(dtype)

    def _position(self, index: Any) -> Any:
        """The index, once it is known to be one."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
            return slice(start, max(start, stop))
        if not isinstance(index, int):
            raise refused(TypeError, f"can't index a torch.UntypedStorage with {type(index).__name__}")
        if not -len(self) <= index < len(self):
            raise refused(IndexError, f"index {index} out of range for storage of size {len(self)}")
        return index

    def __getitem__(self, index: Any) -> Any:
        """A byte, or the storage of some of them."""
        found: Any = self._row[self._position(index)]
        if not isinstance(index, slice):
            return int(found)
        return UntypedStorage(_bytes_of(found.data) if isinstance(found, np.ndarray) else found)

    def __setitem__(self, index: Any, value: int) -> None:
        if not isinstance(value, int):
            kind = type(value).__name__
            raise RuntimeError(f"can only set storage content with a int types, but got {kind} instead")
        self._row[self._position(index)] = value & 0xFF

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """All bytes."""
        result: list[int] = self._row.tolist()
        return result

    def untyped(self) -> UntypedStorage:
        """Itself."""
        return self

    _untyped = untyped

    def fill_(self, value: int) -> UntypedStorage:
        """Every byte becomes `value`."""
        self[:] = value
        return self

    def __repr__(self) -> str:
        rows = "".join(f" {x}\n" for x in self.tolist())
        return f"{rows}[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return 0 if self._root.__class__ is Meta else address(self._root)

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self._root.nbytes)

    size = __len__ = nbytes
    device = property(lambda self: device_of(self._root), doc="Where the memory is.")
    is_cuda = property(lambda self: self.device.type == "cuda", doc="Whether the memory is a GPU's.")

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a device: itself where they are there."""
        where = check(device)
        return self if where == self.device else UntypedStorage(moved(self._root, where))

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a GPU."""
        return self.to(device="cuda" if device is None else device)

    def cpu(self) -> UntypedStorage:
        """The bytes in main memory."""
        return self.to(device="cpu")

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()


UntypedStorage.__module__ = "torch.storage"


def _bytes_of(memory: Any) -> Any:
    """An array that owns this memory, which may be a part of another's."""
    return np.frombuffer(memory, np.uint8) if len(memory) else np.empty(0, np.uint8)
