"""`safe_open`: a file whose tensors are read one by one, or in parts."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from autograph_cli import torch
from autograph_cli.torch._core.device import check

from ._format import Entry, Header, SafetensorError, file_size, read_header

_TORCH, _NUMPY = ("pt", "torch", "pytorch"), ("np", "numpy")


def tensor_of(array: Any) -> Any:
    """An array as a tensor over its memory."""
    return torch.from_numpy(array)


def read_bytes(data: Any) -> Iterator[tuple[str, Any]]:
    """(name, array) of each tensor in a file that is in memory, in the order of the header; each has memory of its
    own."""
    header = read_header(io.BytesIO(data), len(data))
    whole = np.frombuffer(data, np.uint8)
    for name, entry in header.entries.items():
        yield name, entry.read(lambda begin, size: whole[header.length + begin :][:size].copy())


class safe_open:
    """The tensors of a file, each read when it is asked for; `framework`: "pt" for tensors, "np" for arrays.

    SafetensorError for a damaged file, a tensor that is not there and a file that was closed; FileNotFoundError.

    >>> import tempfile
    >>> from autograph_cli import torch
    >>> from autograph_cli.safetensors.torch import save_file
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     save_file({"w": torch.ones(2, 3)}, file.name, {"note": "first"})
    ...     with safe_open(file.name, framework="pt") as f:
    ...         f.keys(), f.metadata(), f.get_slice("w")[:, :1].shape
    (['w'], {'note': 'first'}, torch.Size([2, 1]))
    """

    def __init__(self, filename: Any, framework: str, device: Any = "cpu", **_: Any) -> None:
        if framework not in (*_TORCH, *_NUMPY):
            raise SafetensorError(f"framework {framework} is invalid")
        check(device)
        self._framework = framework
        self._path = filename
        size = file_size(filename)
        self._file: IO[bytes] | None = open(filename, "rb")  # noqa: SIM115
        try:
            self._header = read_header(self._file, size)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.__exit__()

    def _open(self) -> Header:
        if self._file is None:
            raise SafetensorError("File is closed")
        return self._header

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        return sorted(self._open().entries)

    def offset_keys(self) -> list[str]:
        """The names of the tensors, in the order of their bytes."""
        entries = self._open().entries
        return sorted(entries, key=lambda name: (entries[name].begin, entries[name].end))

    def metadata(self) -> dict[str, str] | None:
        """The notes in the file."""
        return self._open().metadata

    def _entry(self, name: str) -> Entry:
        entries = self._open().entries
        if name not in entries:
            raise SafetensorError(f"File does not contain tensor {name}")
        return entries[name]

    def _bytes(self, begin: int, size: int) -> Any:
        assert self._file is not None
        self._file.seek(self._header.length + begin)
        found = np.fromfile(self._file, np.uint8, size)
        if found.size < size:
            raise SafetensorError("the file has become shorter since it was opened")
        return found

    def _given(self, array: Any) -> Any:
        return array if self._framework in _NUMPY else tensor_of(array)

    def get_tensor(self, name: str) -> Any:
        """The tensor of this name."""
        return self._given(self._entry(name).read(self._bytes))

    def get_slice(self, name: str) -> Slice:
        """The tensor of this name, to be read in parts: `f.get_slice("w")[:, 3]`."""
        return Slice(self, self._entry(name))


class Slice:
    """A tensor in a file, of which the parts that are asked for are read."""

    def __init__(self, opened: safe_open, entry: Entry) -> None:
        self._opened = opened
        self._entry = entry

    def get_shape(self) -> list[int]:
        """The lengths of the dimensions."""
        return list(self._entry.shape)

    def get_dtype(self) -> str:
        """The name of the dtype in the file."""
        return self._entry.dtype

    def __getitem__(self, index: Any) -> Any:
        opened = self._opened
        start = opened._open().length

        def mapped(begin: int, size: int) -> Any:
            return np.memmap(opened._path, np.uint8, "c", start + begin, size) if size else np.empty(0, np.uint8)

        array = self._entry.read(mapped)
        return np.array(array[index]) if opened._framework in _NUMPY else tensor_of(np.asarray(array))[index].clone()
