"""The archive that `torch.save` writes: an uncompressed zip file with one pickle and one record per storage."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

ALIGNMENT = 64
"""Records begin at multiples of this, so that they can be mapped into memory."""
_LOCAL_HEADER = 30
_FILLER = b"FB"


@contextmanager
def reading() -> Iterator[None]:
    """Turn whatever goes wrong with a damaged archive into one clear error."""
    try:
        yield
    except Exception as error:
        if type(error) is RuntimeError:
            raise
        raise damaged(f"reading zip archive: {error or type(error).__name__}") from error


def damaged(what: str) -> RuntimeError:
    """The error of a file that is not a whole archive."""
    return RuntimeError(f"PytorchStreamReader failed {what}")


class Writer:
    """Writes records one after the other under a common folder."""

    def __init__(self, file: IO[bytes], folder: str) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._folder = folder

    def write(self, name: str, data: Any) -> None:
        """Add a record of bytes, or of a flat array of bytes."""
        info = zipfile.ZipInfo(f"{self._folder}/{name}", (1980, 1, 1, 0, 0, 0))
        start = self._zip.start_dir + _LOCAL_HEADER + len(info.filename.encode()) + 4
        padding = -start % ALIGNMENT
        info.extra = _FILLER + padding.to_bytes(2, "little") + b"Z" * padding
        info.file_size = len(data)
        with self._zip.open(info, "w", force_zip64=len(data) > zipfile.ZIP64_LIMIT) as record:
            record.write(memoryview(data))

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write the directory, unless something failed: then the archive is left as it is."""
        if kind is not None:
            self._zip.fp = None  # else it would be closed once more when it is deleted, after its file
        self._zip.close()


class Reader:
    """Reads records of an archive that nobody vouches for: nothing is unpacked, no record is larger than the file.

    RuntimeError where the file is not such an archive.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        with reading():
            size = file.seek(0, 2)
            file.seek(0)
            self._zip = zipfile.ZipFile(file)
            infos = self._zip.infolist()
            self._records = {info.filename: info for info in infos}
            if len(self._records) != len(infos):
                raise damaged("reading zip archive: two records have the same name")
            if any(info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size for info in infos):
                raise damaged("reading zip archive: its records are compressed, which PyTorch's never are")
            if sum(info.file_size for info in infos) > size:
                raise damaged("reading zip archive: its records are larger than the file")
        self.folder = self._find_folder()

    def _find_folder(self) -> str:
        found = [name for name in self._records if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(found) != 1:
            raise damaged("locating file data.pkl: file not found")
        folder = found[0].partition("/")[0]
        if f"{folder}/constants.pkl" in self._records:
            raise RuntimeError("TorchScript archives (torch.jit.save) cannot be loaded by autograph's engine")
        return folder

    def names(self) -> list[str]:
        """All records, in the order of the file."""
        return [name.removeprefix(f"{self.folder}/") for name in self._records]

    def has(self, name: str) -> bool:
        """Return whether there is such a record."""
        return f"{self.folder}/{name}" in self._records

    def size(self, name: str) -> int:
        """The number of bytes of a record."""
        return self._info(name).file_size

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = self._records.get(f"{self.folder}/{name}")
        if info is None:
            raise damaged(f"locating file {name}: file not found")
        return info

    def bytes(self, name: str) -> bytes:
        """A record, its checksum verified."""
        with reading():
            return self._zip.read(self._info(name))

    def array(self, name: str) -> Any:
        """A record as a new array of bytes, its checksum verified."""
        with reading():
            info = self._info(name)
            data = np.empty(info.file_size, np.uint8)
            view, filled = data.data, 0
            with self._zip.open(info) as record:
                while filled < len(view):
                    count = record.readinto(view[filled:])  # type: ignore[attr-defined]
                    if not count:
                        raise damaged(f"reading zip archive: record {name} ends too early")
                    filled += count
                record.read()
            return data

    def mapped(self, name: str, path: str) -> Any:
        """A record as an array over the file itself; changes are kept in memory."""
        with reading():
            info = self._info(name)
            self._file.seek(info.header_offset)
            header = self._file.read(_LOCAL_HEADER)
            if header[:4] != b"PK\x03\x04":
                raise damaged(f"reading zip archive: record {name} has no header")
            names, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
            start = info.header_offset + _LOCAL_HEADER + names + extra
            if not info.file_size:
                return np.empty(0, np.uint8)
            return np.memmap(path, np.uint8, "c", start, (info.file_size,))


class PyTorchFileReader:
    """`torch.PyTorchFileReader`: the records of a file that `torch.save` wrote.

    RuntimeError where the file is not such an archive, or has no such record.
    """

    def __init__(self, name_or_buffer: Any) -> None:
        if isinstance(name_or_buffer, (str, os.PathLike)):
            name_or_buffer = open(name_or_buffer, "rb")  # noqa: SIM115  (closed with the reader)
        self._reader = Reader(name_or_buffer)

    def get_all_records(self) -> list[str]:
        """Their names, in the order of the file."""
        return self._reader.names()

    def has_record(self, name: str) -> bool:
        """Return whether there is such a record."""
        return self._reader.has(name)

    def get_record(self, name: str) -> bytes:
        """A record."""
        return self._reader.bytes(name)

    def get_record_size(self, name: str) -> int:
        """The number of bytes of a record."""
        return self._reader.size(name)
