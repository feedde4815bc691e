"""Code of generated functions, kept from one process to the next as Python keeps that of modules.

Compiling all operations takes most of the time of importing the engine. The code is in `__pycache__` under the rules
of `.pyc` files: one for each Python version, none where `sys.dont_write_bytecode` is on or the folder cannot be
written.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import marshal
import os
import sys
from types import CodeType

_FOLDER = os.path.dirname(__file__)
COPIES = "__copies__"
"""Where the globals of a generated function list all that share its code: they get it when it is first called."""
_HEAD = b"autograph codes" + importlib.util.MAGIC_NUMBER


def compiled(source: str, name: str) -> CodeType:
    """The code of `source`, as `compile` makes it; `name` tells it from others in tracebacks and in the cache."""
    digest = importlib.util.source_hash(source.encode())
    kept = _codes().get(name)
    if kept is not None and kept[0] == digest:
        known: CodeType = marshal.loads(kept[1])
        return known
    # A name inside the engine's folder: who leaves the engine's frames out of a traceback leaves this one out too.
    code = compile(source, os.path.join(_FOLDER, f"<operation {name}>"), "exec")
    if not _fresh:
        atexit.register(_write)
    _fresh[name] = _codes()[name] = (digest, marshal.dumps(code))
    return code


def _file() -> str:
    return importlib.util.cache_from_source(os.path.join(_FOLDER, "operations.py"))


@functools.cache
def _codes() -> dict[str, tuple[bytes, bytes]]:
    """The digest of its source and the code, by name: as bytes, for a program needs few of them."""
    return _read()


def _read() -> dict[str, tuple[bytes, bytes]]:
    """What an earlier process wrote, if it stood in this folder; nothing if that cannot be read."""
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError, NotImplementedError):
        with open(_file(), "rb") as file:
            head, rest = file.read(len(_HEAD)), file.read()
        folder, codes = marshal.loads(rest) if head == _HEAD else ("", {})
        if folder == _FOLDER:
            return dict(codes)
    return {}


def _write() -> None:
    if sys.dont_write_bytecode:
        return
    from ...atomic_files import atomic_write  # ten modules of the library, which only a process that writes needs

    with contextlib.suppress(OSError, NotImplementedError):
        path = _file()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with atomic_write(path) as file:
            file.write(_HEAD + marshal.dumps((_FOLDER, _read() | _fresh)))


_fresh: dict[str, tuple[bytes, bytes]] = {}
"""Those of them that this process compiled."""
