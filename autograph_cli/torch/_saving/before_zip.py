"""Files of PyTorch before 1.6, and of `_use_new_zipfile_serialization=False`: five pickles in a row, then the
storages."""

from __future__ import annotations

import io
import pickle
import pickletools
import sys
from typing import IO, Any

import numpy as np

from .reading import RestrictedMachine
from .storages import StorageTable
from .writing import Pickler

MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)
"""The beginning of such a file: the first of its pickles."""
VERSION = 1001


def _no_storage(key: str, of: Any, location: str, length: int) -> Any:
    raise ValueError("a storage is not expected here")


class OldFile:
    """The parts of such a file; RuntimeError where they are not in order."""

    def __init__(self, data: bytes) -> None:
        stream, parts = io.BytesIO(data), []
        try:
            for _ in range(5):
                start = stream.tell()
                for opcode, _argument, _position in pickletools.genops(stream):
                    if opcode.name == "STOP":
                        break
                parts.append(data[start : stream.tell()])
            _, version, system, self.pickle, keys = parts
            about = self._plain(system)
            if self._plain(version) != VERSION or not isinstance(about, dict):
                raise ValueError("its version is not known")
            self.swapped = bool(about.get("little_endian", True)) != (sys.byteorder == "little")
            self._keys = self._plain(keys)
            if not isinstance(self._keys, list) or not all(isinstance(key, str) for key in self._keys):
                raise ValueError("the names of its storages cannot be read")
        except (ValueError, pickle.UnpicklingError) as error:
            raise RuntimeError(f"the file is damaged, or no file of torch.save: {error}") from None
        self._rest = memoryview(data)[stream.tell() :]

    @staticmethod
    def _plain(part: bytes) -> Any:
        return RestrictedMachine(_no_storage, {}).run(part)

    @property
    def bytes_left(self) -> int:
        """Return how many bytes all storages have together, at most."""
        return len(self._rest)

    def fill(self, storages: dict[str, tuple[Any, int]]) -> None:
        """Read storages into arrays of bytes, given with the size of their elements; RuntimeError where they do not
        fit."""
        position = 0
        for key in self._keys:
            if key not in storages or len(self._rest) < position + 8:
                raise RuntimeError(f"the file is damaged: storage {key} is not expected")
            data, itemsize = storages[key]
            count = int.from_bytes(
                self._rest[position : position + 8], "big" if self.swapped else "little", signed=True
            )
            end = position + 8 + data.size
            if count * itemsize != data.size or end > len(self._rest):
                raise RuntimeError(f"the file is damaged: storage {key} is not as long as it says")
            data[...] = np.frombuffer(self._rest[position + 8 : end], np.uint8)
            position = end
        if set(storages) - set(self._keys):
            raise RuntimeError("the file is damaged: a storage is missing")


def dump(obj: Any, file: IO[bytes], protocol: int) -> None:
    """Write `obj` as PyTorch did before 1.6: five pickles in a row, then the storages."""
    system = {
        "protocol_version": VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    file.write(MAGIC)
    for about in (VERSION, system):
        pickle.dump(about, file, protocol)
    storages = StorageTable()
    pickler = Pickler(file, storages, protocol, (None,))
    pickler.dump(obj)
    pickle.dump(list(pickler.lengths), file, protocol)
    for key, length in pickler.lengths.items():
        file.write(length.to_bytes(8, sys.byteorder))
        file.write(storages.arrays[int(key)])
