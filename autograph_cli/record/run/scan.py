"""Reads a script without running it, and says what it uses that the engine lacks.

What a name stands for is followed through imports and plain assignments, scope by scope; a name that is bound to
different things stands for nothing. So what is reported as missing is missing. Of a method on an object that is not
known, no more can be said than that a tensor would lack it.
"""

from __future__ import annotations

import ast
import importlib
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from autograph_cli.record.names.names_used import Module, read
from autograph_cli.record.run.imports import REFUSED, SERVED, engine_name, sentences
from autograph_cli.record.run.packages import modules_of
from autograph_cli.record.run.tensor_names import TENSOR_NAMES

TENSOR = "torch.Tensor"


@dataclass(frozen=True, slots=True, order=True)
class Missing:
    """A name that a script uses and the engine lacks: where first, and what to do instead, if known.

    `certain` is false for a method of an object that may or may not be a tensor.
    """

    file: str
    line: int
    name: str
    advice: str = ""
    certain: bool = True


def scan(source: bytes, file: str = "<stdin>", folder: Path | None = None, *, packages: bool = False) -> list[Missing]:
    """Return what the script and the modules beside it use and the engine lacks, in the order of their lines.

    `file` is the name to report. Modules are looked for in `folder`, one level deep, when it is given; nothing is run.
    `packages`: what installed packages on PyTorch need to be imported is read, too.
    A name within `try ... except ImportError` or `AttributeError`, or asked for by `hasattr`, is not reported.
    Raises `SyntaxError` or `ValueError` for a source that is not Python; a module that is not is passed over.

    >>> scan(b"import torch\\ntorch.symeig(torch.eye(3))", "old.py")
    [Missing(file='old.py', line=2, name='torch.symeig', advice='use torch.linalg.eigh instead', certain=True)]
    """
    modules = [_read(source, file)]
    if folder is not None:
        modules += _neighbours(modules[0], file, folder)
    beside = {os.path.basename(module.file).removesuffix(".py") for module in modules[1:]}
    installed = [n for m in modules for n in m.imported if n.partition(".")[0] not in (*SERVED, *REFUSED, *beside)]
    needed = list(modules_of(installed)) if packages else []
    if not any(module.uses_torch for module in (*modules, *needed)):
        return []
    imported = frozenset(name for module in modules for name in module.imported)
    given = frozenset(name for module in modules for name in module.assigned)
    own = frozenset(name for module in modules for name in module.defined)
    found = [lack for module in modules for lack in _lacks(module, imported, given, own)]
    for module in needed:
        names = frozenset(module.imported)
        lacks = _lacks(module, names, frozenset(module.assigned), frozenset(), imports=True)
        found += (x for x in lacks if x.certain)
    return found


def _read(source: bytes, file: str) -> Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python says them again when the script is run
        return read(ast.parse(source), file)


def _neighbours(module: Module, file: str, folder: Path) -> Iterator[Module]:
    """The modules in the folder that this one imports."""
    above = os.path.dirname(file)
    for name in dict.fromkeys(module.imported):
        if name.startswith("..") or name.partition(".")[0] in SERVED:
            continue
        position = name.lstrip(".").replace(".", "/")
        for inner in (f"{position}.py", f"{position}/__init__.py"):
            try:
                source = (folder / inner).read_bytes()
                yield _read(source, os.path.join(above, inner))
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue


def _lacks(
    module: Module, imported: frozenset[str], given: frozenset[str], own: frozenset[str], imports: bool = False
) -> list[Missing]:
    """`imports`: the module is only imported, so names are enough that are there and refuse when they are called."""
    found: dict[str, Missing] = {}
    optional = set(module.asked)
    for use in module.uses:
        name, known = _first_missing(use.name, imported, imports)
        if not name or name in given:
            continue
        if use.optional:
            optional.add(name)
        else:
            found.setdefault(name, Missing(module.file, use.line, name, _advice(name, known)))
    for name, line in module.methods:
        if name in _lacking_methods() and name not in own and name not in module.asked_of_any:
            there = Missing(module.file, line, f".{name}", _advice(f"{TENSOR}.{name}", ()), certain=False)
            found.setdefault(there.name, there)
    return sorted(lack for name, lack in found.items() if not any(_within(name, other) for other in optional))


def _within(name: str, other: str) -> bool:
    return f"{name}.".startswith(f"{other}.")


def _first_missing(name: str, imported: frozenset[str], imports: bool) -> tuple[str, tuple[str, ...]]:
    """The shortest part of a dotted name that is not there, and what is beside it; or an empty string."""
    root, *parts = name.split(".")
    if root in REFUSED:
        return root, ()
    if root not in SERVED:
        return "", ()
    path, position = root, importlib.import_module(SERVED[root])
    for part in parts:
        path = f"{path}.{part}"
        try:
            inner: Any = getattr(position, part)
        except AttributeError:
            if path not in imported or (inner := _submodule(path)) is None:
                return path, tuple(vars(position)) if hasattr(position, "__dict__") else ()
        except Exception:
            return "", ()
        if path != name and path in imported and not isinstance(inner, ModuleType):
            inner = _submodule(path) or inner  # a function may hide the module that it comes from
        position = inner
        if getattr(inner, "not_rebuilt", False) is True:
            return ("", ()) if imports else (path, ())
    return "", ()


def _submodule(path: str) -> Any:
    """The engine's module of this name, or nothing; what fails inside it is for the run to tell."""
    name = engine_name(path)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        return None if error.name == name else object()
    except Exception:
        return object()


@cache
def _lacking_methods() -> frozenset[str]:
    """Return what PyTorch's tensors have and the engine's lack, less what other common objects have too."""
    import numpy as np  # comes with the engine, and only the look at a script's names needs it

    tensor = importlib.import_module(SERVED["torch"]).Tensor
    others = {name for kind in (str, bytes, list, dict, set, np.ndarray) for name in dir(kind)}
    return frozenset(TENSOR_NAMES - set(dir(tensor)) - others)


def _advice(name: str, known: tuple[str, ...]) -> str:
    if name.partition(".")[0] not in SERVED:
        return ""
    told: str = sentences().advice(name, known)
    return told
