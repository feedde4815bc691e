"""`torch.save` and `torch.load`: PyTorch's own files, written so that they are whole or not there, read with
suspicion."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import pickletools
import re
import sys
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from ..atomic_files import atomic_write
from ._arrays import cuda
from ._arrays.meta import without_memory
from ._core.base.device import device
from ._core.base.dtypes import dtype
from ._ops.tensors.untyped_storage import UntypedStorage
from ._saving import before_zip
from ._saving.archive import Reader, Writer
from ._saving.before_zip import OldFile
from ._saving.reading import CALLED, NAMED, RestrictedMachine, TrustingUnpickler
from ._saving.storages import Storage
from ._saving.writing import OURS, dump

__all__ = [
    "add_safe_globals", "clear_safe_globals", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load",
    "safe_globals", "save",
]  # fmt: skip

DEFAULT_PROTOCOL = 2
FILE_LIKE = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION = Callable[[Any, str], Any] | device | str | dict[str, str] | None
"""The argument of `load`, for annotations."""
_MAGIC = b"PK\x03\x04"

# ---------------------------------------------------------------- saving


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write `obj` (tensors, state dicts, anything that can be pickled) to a path or a file object, as PyTorch does.

    A path is written whole or not at all: an interrupted save leaves the old file. RuntimeError where the folder does
    not exist, and for tensors that have no place in such a file.

    >>> import io
    >>> from autograph_cli import torch
    >>> file = io.BytesIO()
    >>> torch.save({"w": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'w': tensor([1., 1.])}
    """
    if pickle_module is not pickle:
        raise ValueError("torch.save: another pickle_module is not available in autograph's engine")
    write = _write if _use_new_zipfile_serialization else _write_without_archive
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        name = os.path.splitext(os.path.basename(path))[0] or "archive"
        with atomic_write(path) as file:
            write(obj, file, name, pickle_protocol, _disable_byteorder_record)
    elif hasattr(f, "write"):
        file = io.BytesIO()
        write(obj, file, "archive", pickle_protocol, _disable_byteorder_record)
        f.write(file.getbuffer())
    else:
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, "
            f"but got {type(f).__name__}"
        )


def _write_without_archive(obj: Any, file: IO[bytes], name: str, protocol: int, no_byteorder: bool) -> None:
    before_zip.dump(obj, file, protocol)


def _write(obj: Any, file: IO[bytes], name: str, protocol: int, no_byteorder: bool) -> None:
    pickled = io.BytesIO()
    storages = dump(obj, pickled, protocol)
    with Writer(file, name) as archive:
        archive.write("data.pkl", pickled.getbuffer())
        archive.write(".format_version", b"1")
        archive.write(".storage_alignment", b"64")
        if not no_byteorder:
            archive.write("byteorder", sys.byteorder.encode())
        for number, data in enumerate(storages.arrays):
            archive.write(f"data/{number}", data)
        archive.write("version", b"3\n")


# ---------------------------------------------------------------- loading

_safe: dict[str, Any] = {}


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `torch.save` of this engine or of PyTorch wrote, from a path or a file object.

    By default (`weights_only`) a file can hold tensors, containers, numbers and text only: pickle.UnpicklingError,
    before anything of it runs, for everything else. RuntimeError for a file that is damaged or no such file, and for
    tensors of a device that is not there, unless `map_location` (a device, a dict, a function) says where they shall
    be.
    `mmap` reads tensors from the file when they are used; it needs a path.
    """
    weights_only = True if weights_only is None else weights_only
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "Can not safely load weights when explicit pickle_module is specified. Please pass weights_only=False"
        )
    if pickle_module not in (None, pickle) or pickle_load_args.keys() - {"encoding"}:
        raise ValueError(
            "torch.load: another pickle_module or other arguments to it are not available in autograph's engine"
        )
    path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else None
    if mmap and path is None:
        raise ValueError("f must be a file path in order to use the mmap argument")
    with open(path, "rb") if path is not None else contextlib.nullcontext(f) as file:
        if _head(file, len(before_zip.MAGIC)) == before_zip.MAGIC:
            return _load_old(OldFile(file.read()), map_location, weights_only)
        reader = _open(file)
        storages = _Storages(reader, map_location, os.fsdecode(path) if mmap and path is not None else None)
        data = reader.bytes("data.pkl")
        if weights_only:
            return RestrictedMachine(storages.load, _safe).run(data)
        return TrustingUnpickler(data, storages.load).load()


def _load_old(file: OldFile, map_location: Any, weights_only: bool) -> Any:
    storages = _OldStorages(file, map_location)
    if weights_only:
        result = RestrictedMachine(storages.load, _safe).run(file.pickle)
    else:
        result = TrustingUnpickler(file.pickle, storages.load).load()
    file.fill(storages.waiting)
    storages.swap()
    return result


def _head(file: Any, length: int) -> bytes:
    if not all(hasattr(file, name) for name in ("read", "seek", "tell")):
        return b""
    start = file.tell()
    result: bytes = file.read(length)
    file.seek(start)
    return result


def _open(file: Any) -> Reader:
    if not all(hasattr(file, name) for name in ("read", "seek", "tell")):
        raise AttributeError(
            f"You can only torch.load from a file that is seekable, but got {type(file).__name__}. Please "
            "pre-load the data into a buffer like io.BytesIO and try to load from it instead."
        )
    start = file.tell()
    head = file.read(len(_MAGIC))
    file.seek(start)
    if not head:
        raise EOFError("Ran out of input")
    if head != _MAGIC:
        raise RuntimeError(
            "Invalid magic number; corrupt file? It does not begin like a file of torch.save (files of PyTorch before "
            "0.2 are not read: save them anew with a later one)"
        )
    return Reader(io.BytesIO(file.read()) if start else file)


def _check_version(reader: Reader) -> None:
    """Refuse a file whose record of its version is none that PyTorch reads."""
    if not reader.has("version"):
        return
    told = reader.bytes("version")[:100].decode(errors="backslashreplace")
    version = re.match(r"\s*([-+]?\d+)", told, re.ASCII)
    if version is None:
        raise RuntimeError(f"Couldn't parse the version {told} as Long Long.")
    limit, kind = (10, "maximum") if int(version[1]) > 10 else (1, "minimum")
    if not 1 <= int(version[1]) <= 10:
        raise RuntimeError(
            f"Attempted to read a PyTorch file with version {version[1]}, but the {kind} supported version for reading "
            f"is {limit}."
        )


class _Storages:
    """The storages of a file, each read once, where the user wants them."""

    def __init__(self, reader: Reader, map_location: Any, path: str | None) -> None:
        self._reader = reader
        self._map_location = map_location
        self._path = path
        self._loaded: dict[str, Storage] = {}
        _check_version(reader)
        order = reader.bytes("byteorder") if reader.has("byteorder") else sys.byteorder.encode()
        if order not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {order[:100].decode(errors='backslashreplace')}")
        self._swap = order != sys.byteorder.encode()

    def load(self, key: str, of: dtype | None, location: str, length: int) -> Storage:
        """The storage `key`; ValueError where the file holds less of it than it says."""
        if key not in self._loaded:
            name, size = f"data/{key}", length * (1 if of is None else of.itemsize)
            if self._reader.size(name) < size:
                raise ValueError(f"storage {key} is shorter than the file says")
            data = self._reader.array(name) if self._path is None else self._reader.mapped(name, self._path)
            if self._swap and of is not None and of.itemsize > 1:
                data = _swapped(data, of)
            self._loaded[key] = Storage(self._placed(data, location), of)
        return self._loaded[key] if self._loaded[key].dtype is of else Storage(self._loaded[key].bytes, of)

    def _placed(self, data: Any, location: str) -> Any:
        """The storage where it is wanted; RuntimeError where that is a device that is not there."""
        where = self._map_location
        if callable(where) and not isinstance(where, (str, device)):
            found = where(UntypedStorage(data), location)
            if found is not None:
                return found._root
        elif isinstance(where, dict):
            location = str(where.get(location, location))
        elif where is not None:
            location = str(where)
        kind = location.partition(":")[0]
        if kind == "cuda" and cuda.is_available():
            return cuda.moved(data, cuda.place(device(location)))
        if kind == "cuda":
            raise RuntimeError(
                "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
                "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
                "your storages to the CPU."
            )
        if kind == "meta":
            return without_memory(data)
        if kind != "cpu":
            raise RuntimeError(
                f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})"
            )
        return data


class _OldStorages(_Storages):
    """The storages of a file from before zip archives, which come after what refers to them."""

    def __init__(self, file: OldFile, map_location: Any) -> None:
        self._bytes_left = file.bytes_left
        self._is_swapped = file.swapped
        self._map_location = map_location
        self._loaded: dict[str, Storage] = {}
        self.waiting: dict[str, tuple[Any, int]] = {}
        """Arrays of bytes that are to be filled, with the size of their elements."""

    def load(self, key: str, of: dtype | None, location: str, length: int) -> Storage:
        """The storage `key`; ValueError where the file has no room for it."""
        if key not in self._loaded:
            itemsize = 1 if of is None else of.itemsize
            self._bytes_left -= length * itemsize
            if self._bytes_left < 0:
                raise ValueError(f"storage {key} is shorter than the file says")
            self.waiting[key] = np.zeros(length * itemsize, np.uint8), itemsize
            self._loaded[key] = Storage(self._placed(self.waiting[key][0], location), of)
        return self._loaded[key]

    def swap(self) -> None:
        """Turn the elements round that were written in the other byte order."""
        for key, (data, itemsize) in self.waiting.items() if self._is_swapped else ():
            of = self._loaded[key].dtype
            if of is not None and itemsize > 1:
                data[...] = _swapped(data, of)


def _swapped(data: Any, of: dtype) -> Any:
    """Elements of the other byte order, turned round."""
    width = of.itemsize // 2 if of.is_complex else of.itemsize
    return np.ascontiguousarray(data.reshape(-1, width)[:, ::-1]).reshape(-1)


# ---------------------------------------------------------------- what else a file may hold


def _full_name(x: Any) -> tuple[str, Any]:
    if isinstance(x, tuple):
        return x[1], x[0]
    module = x.__module__
    module = "torch" + module.removeprefix(OURS) if module == OURS or module.startswith(OURS + ".") else module
    return f"{module}.{x.__qualname__}", x


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files that are loaded with `weights_only` hold these classes, and call these functions.

    An element is a class or a function, or a pair of one and the name by which files call it.
    """
    _safe.update(_full_name(x) for x in safe_globals)


def get_safe_globals() -> list[Any]:
    """Return what was added as safe."""
    return list(_safe.values())


def clear_safe_globals() -> None:
    """Forget what was added as safe."""
    _safe.clear()


class safe_globals:
    """Within the block, files may hold these classes, and call these functions, too.

    >>> from autograph_cli import torch
    >>> with torch.serialization.safe_globals([slice]):
    ...     torch.serialization.get_safe_globals()
    [<class 'slice'>]
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self._wanted = dict(_full_name(x) for x in safe_globals)
        self._before: dict[str, Any] = {}

    def __enter__(self) -> None:
        self._before = dict(_safe)
        _safe.update(self._wanted)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        _safe.clear()
        _safe.update(self._before)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that `weights_only` would refuse; nothing of it is run."""
    with open(f, "rb") if isinstance(f, (str, os.PathLike)) else contextlib.nullcontext(f) as file:
        data = _open(file).bytes("data.pkl")
    names = {
        str(argument).replace(" ", ".", 1)
        for opcode, argument, _ in pickletools.genops(data)
        if opcode.name == "GLOBAL"
    }
    names = {
        "builtins" + name.removeprefix("__builtin__") if name.startswith("__builtin__.") else name for name in names
    }
    return sorted(name for name in names if not any(name in table for table in (_safe, CALLED, NAMED)))
