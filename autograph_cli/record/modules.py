"""Which module runs: each call of one, the path under which the script keeps it, and what belongs to it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autograph_cli.record.names import OPAQUE, variables_of
from autograph_cli.record.sites import script_frames
from autograph_cli.torch._core.state import Call, L
from autograph_cli.torch._core.tensor import Tensor

MANY = 4_096
"""Modules that are remembered before those which are gone are forgotten."""
_LONGEST = 256
"""Longer containers are not looked through for modules."""


class CallRow:
    """One call of a module, as long as a row of the tape or a call within it needs it."""

    __slots__ = ("about", "parent", "serial")

    def __init__(self, about: About, parent: CallRow | None, serial: int) -> None:
        self.about, self.parent, self.serial = about, parent, serial


class About:
    """What is known of a module, where it was called in the same surroundings."""

    __slots__ = ("cls", "inner", "parameters", "path", "ref")

    def __init__(self, module: Any, path: str) -> None:
        self.ref = weakref.ref(module)
        self.path, self.cls = path, type(module).__name__
        self.inner: dict[int, str] = {}
        """The paths, from here, of the modules in it, by id."""
        self.parameters = 0


def was_given(call: Call, tensor: Tensor) -> bool:
    """Whether the tensor, or what it is a view of, was among the arguments of a call."""
    base = tensor._base
    return any(x is tensor or (base is not None and x is base) for x in _tensors((*call[2], *call[3].values())))


class _Open(threading.local):
    """The rows of the calls that are going on, from the outermost on, as far as they have some."""

    def __init__(self) -> None:
        self.rows: list[CallRow] = []


class Modules:
    """The modules that were met, and who owns which parameter and buffer."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], About] = {}
        """By the id of the module and of the one that called it."""
        self.owners: dict[int, tuple[weakref.ref[Tensor], str]] = {}
        """Of parameters and buffers by id: the tensor, and the path of its module."""
        self.limit = MANY
        self.waiting: list[About] = []
        """Those whose parameters may not be there yet."""
        self.open = _Open()

    def row_at(self, depth: int) -> CallRow:
        """The row of the call that is going on at this depth, within those that it runs in."""
        rows, calls = self.open.rows, L.calls
        if len(rows) == depth and rows[-1].serial == calls[depth - 1][0]:
            return rows[-1]
        self.keep(rows)
        rows = self.open.rows
        for number, module, _, _ in calls[len(rows) : depth]:
            rows.append(CallRow(self._about(module, rows), rows[-1] if rows else None, number))
        return rows[depth - 1]

    def keep(self, rows: list[CallRow]) -> None:
        """Take those of these rows whose calls are going on."""
        known = {row.serial: row for row in rows}
        self.open.rows = []
        for number, *_ in L.calls:
            if number not in known:
                break
            self.open.rows.append(known[number])

    def _about(self, module: Any, outer: list[CallRow]) -> About:
        key = id(module), 0 if not outer else id(outer[-1].about.ref())
        about = self.known.get(key)
        if about is None or about.ref() is not module:
            about = self.known[key] = About(module, self._path(module, outer[-1] if outer else None))
            self._learn(module, about)
            self.waiting.append(about)
        return about

    def settle(self) -> None:
        """Count the parameters of modules that were new: what waited for its first input has them now."""
        for about in self.waiting:
            module = about.ref()
            own = {id(x): x for _, inner in _parts(module) for x in getattr(inner, "_parameters", {}).values()}
            about.parameters = sum(map(_size, own.values()), 0) if module is not None else about.parameters
        self.waiting = []

    def owner(self, tensor: Tensor) -> str:
        """The path of the module that a tensor is a parameter or a buffer of."""
        ref, path = self.owners.get(id(tensor), (None, ""))
        return path if ref is not None and ref() is tensor else ""

    def _learn(self, module: Any, about: About) -> None:
        """Note the modules within, and the owners of all parameters and buffers."""
        for path, inner in _parts(module):
            about.inner.setdefault(id(inner), path)
            place = f"{about.path}.{path}" if path else about.path
            for store in ("_parameters", "_buffers"):
                for tensor in getattr(inner, store, {}).values():
                    if isinstance(tensor, Tensor) and not self.owner(tensor):
                        self.owners[id(tensor)] = weakref.ref(tensor), place
        if len(self.known) + len(self.owners) > self.limit:
            self.known = {key: it for key, it in self.known.items() if it.ref() is not None}
            self.owners = {key: it for key, it in self.owners.items() if it[0]() is not None}
            self.limit = max(MANY, 2 * (len(self.known) + len(self.owners)))

    def _path(self, module: Any, outer: CallRow | None) -> str:
        while outer is not None:
            path = self._within(outer.about, module)
            if path:
                return f"{outer.about.path}.{path}"
            outer = outer.parent
        return _variable(module) or type(module).__name__

    def _within(self, about: About, module: Any) -> str:
        """The path of a module from the one that it is in, if it is in it: as a part, or in a list of its own."""
        outer = about.ref()
        if outer is None:
            return ""
        if id(module) not in about.inner:
            about.inner.update((id(inner), path) for path, inner in _parts(outer))
        if about.inner.get(id(module)):
            return about.inner[id(module)]
        return next((path for path, it in _contained(vars(outer)) if it is module), "")


def _variable(module: Any) -> str:
    """The variable that leads to a module, the outermost frame's first."""
    spaces = [variables_of(frame) for frame in reversed(script_frames(4))]
    for ways in (dict.items, _contained, _attributes):
        for space in spaces:
            for path, value in ways(space):
                if value is module and path[0] not in "_.":
                    return str(path)
    return ""


def _attributes(space: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What modules have in them, and other objects as attributes, with their paths."""
    for name, value in list(space.items()):
        if name[0] in "_." or value.__class__ in OPAQUE:
            continue
        try:
            inside = object.__getattribute__(value, "__dict__")
        except AttributeError:
            continue
        if isinstance(inside.get("_modules"), dict):
            yield from ((f"{name}.{path}", inner) for path, inner in _parts(value) if path)
        elif type(inside) is dict:
            yield from ((f"{name}.{key}", inner) for key, inner in list(inside.items()) if isinstance(key, str))


def _parts(module: Any) -> Iterator[tuple[str, Any]]:
    """A module and all in it, each once, with their paths."""
    met, stack = {id(module)}, [("", module)]
    while stack:
        path, outer = stack.pop()
        yield path, outer
        for name, inner in reversed(list(getattr(outer, "_modules", {}).items())):
            if inner is not None and id(inner) not in met:
                met.add(id(inner))
                stack.append((f"{path}.{name}" if path else name, inner))


def _contained(space: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What lists, tuples and dicts hold, with their paths."""
    for name, value in list(space.items()):
        if name[0] in "_.":
            continue
        if value.__class__ in (list, tuple) and len(value) <= _LONGEST:
            yield from ((f"{name}[{place}]", item) for place, item in enumerate(value))
        elif value.__class__ is dict and len(value) <= _LONGEST:
            yield from ((f"{name}[{key!r}]", item) for key, item in list(value.items()) if isinstance(key, (str, int)))


def _tensors(values: Iterable[Any], depth: int = 0) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif value.__class__ in (tuple, list) and depth < 2:
            yield from _tensors(value, depth + 1)
        elif value.__class__ is dict and depth < 2:
            yield from _tensors(value.values(), depth + 1)


def _size(parameter: Any) -> int:
    """How many numbers a parameter holds; none as long as its shape is not known."""
    try:
        return int(parameter.numel())
    except (AttributeError, RuntimeError, ValueError):
        return 0
