"""The variables that name tensors: those of the frames that run, and the targets of assignments on their lines."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FrameType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

from autograph_cli.record.names.source_locations import USER, kind_of
from autograph_cli.record.run.public_names import is_ours

if TYPE_CHECKING:
    from autograph_cli.engines.protocol import Output
    from autograph_cli.record.log.event_log import EventLog

_PLAIN = (str, bytes, bool, int, float, complex, type(None), range, slice)
OPAQUE = frozenset(map(id, (*_PLAIN, type, ModuleType, FunctionType, BuiltinFunctionType)))
"""The ids of types of values in which there is no tensor: a class of the script may not be hashable."""
_DEPTH = 2
"""The most containers that are opened, one inside the other."""
LONGEST = 256
"""Longer containers are data, not variables."""


def is_exactly(value: Any, *kinds: type) -> bool:
    """Return whether a value is of one of these types itself: `in` would call what a class of the script has."""
    kind = type(value)
    return any(kind is each for each in kinds)


def variables_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a running frame, without leaving references behind."""
    space = frame.f_locals
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return space
    found = dict(space)
    # Before Python 3.13 the frame keeps the dict, and with it tensors that the function has let go.
    if sys.version_info < (3, 13) and sys.getrefcount(space) <= 3:
        code = frame.f_code
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            space.pop(name, None)
    return found


def is_hidden(name: str) -> bool:
    """Return whether a variable does not name what it holds; `@` is where pytest keeps the parts of an assertion."""
    return name[0] in "_.@"


Settled = set[tuple[str, int]]
"""Variables, by name and the id of their value, in which there was nothing but leaves when they were looked through."""


def scan(
    log: EventLog, spaces: Iterable[Mapping[str, Any]], settled: Settled | None = None
) -> list[tuple[str, Output]]:
    """Note in the log what names its outputs in these namespaces; returns the plain variables among them, in order.

    What is `settled` is not looked through again, unless a leaf has come since: models and long lists take time.
    """
    variables: list[tuple[str, Output]] = []
    tensor, note = log.engine.tensor, log.note
    if settled is not None and log.new_leaves:
        settled.clear()
    log.new_leaves = False
    for space in spaces:
        for name, value in list(space.items()):
            kind = type(value)
            if id(kind) in OPAQUE or is_hidden(name):
                continue
            if issubclass(kind, tensor):
                output = note(value, name)
                if output is not None:
                    variables.append((name, output))
            elif settled is None:
                _look_through(log, name, value)
            elif (name, id(value)) not in settled and _look_through(log, name, value):
                settled.add((name, id(value)))
    return variables


def _look_through(log: EventLog, name: str, value: Any) -> bool:
    """Note the names of the tensors in a container or an object; whether it need not be done again."""
    only_leaves, found = True, False
    for path, tensor in tensors_in(name, value, cls=log.engine.tensor):
        found = True
        if not log.is_named_leaf(tensor, path):
            log.note(tensor, path)
            only_leaves = only_leaves and log.engine.is_leaf(tensor)
    return only_leaves and (found or items_of(value) != [])


def items_of(value: Any) -> list[tuple[Any, Any]] | None:
    """Return what a list, a tuple or a dict holds, with its keys, read without code of the script's own.

    None of anything else, and of what is so long that it is data, and no variable.
    """
    for kind, read in ((list, _numbered), (tuple, _numbered), (dict, dict.items)):
        if issubclass(type(value), kind):
            return list(read(value)) if kind.__len__(value) <= LONGEST else None
    return None


def _numbered(value: Any) -> Iterable[tuple[int, Any]]:
    return enumerate(list.__iter__(value) if issubclass(type(value), list) else tuple.__iter__(value))


def with_items(space: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The variables of a namespace, and after all of them what lists, tuples and dicts among them hold."""
    named = [(name, value) for name, value in list(space.items()) if not is_hidden(name)]
    held = [
        (f"{name}[{key!r}]", x)
        for name, value in named
        for key, x in items_of(value) or ()
        if is_exactly(key, str, int)
    ]
    return [*named, *held]


def written_in(kind: type, name: str) -> Any:
    """Return what a class or one of its bases holds under a name; a metaclass of the script's own is not asked."""
    for base in type.__getattribute__(kind, "__mro__"):
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes that stand in an object itself, read without code of the script's own."""
    own = written_in(type(value), "__dict__")
    found = own.__get__(value) if isinstance(own, (GetSetDescriptorType, MemberDescriptorType)) else None
    return found if type(found) is dict else {}


def parameters_in(value: Any) -> Iterator[tuple[str, Any]]:
    """The parameters and buffers of a module, unless the script has written how they are listed."""
    kind = type(value)
    found = [written_in(kind, listing) for listing in ("named_parameters", "named_buffers")]
    listings = [named for named in found if isinstance(named, FunctionType) and not _is_scripts(named)]
    if not listings or any(_is_scripts(written_in(kind, name)) for name in ("named_modules", "_named_members")):
        return
    for named in listings:
        with contextlib.suppress(AttributeError):  # the `__init__` of modules was not run
            yield from list(named(value))


def _is_scripts(function: Any) -> bool:
    return isinstance(function, FunctionType) and kind_of(function.__code__.co_filename) == USER


def tensors_in(path: str, value: Any, depth: int = 0, *, cls: type) -> Iterator[tuple[str, Any]]:
    """The tensors in a variable, with their paths: `w`, `params[0]`, `d['w']`, `model.fc1.weight`, `self.w`."""
    kind = type(value)
    if issubclass(kind, cls):
        yield path, value
    elif depth >= _DEPTH or id(kind) in OPAQUE:
        return
    elif issubclass(kind, (list, tuple, dict)):
        for key, item in items_of(value) or ():
            if is_exactly(key, str, int):
                yield from tensors_in(f"{path}[{key!r}]", item, depth + 1, cls=cls)
    elif not issubclass(kind, type):
        yield from _tensors_of(path, value, cls)


def _tensors_of(path: str, value: Any, cls: type) -> Iterator[tuple[str, Any]]:
    """The parameters of a module, or the tensors and the modules' parameters among the attributes of a plain object."""
    for name, tensor in parameters_in(value):
        yield f"{path}.{name}", tensor
    if is_ours(type(value)):
        return
    for name, item in list(attributes_of(value).items()):
        if isinstance(name, str) and not name.startswith("_"):
            if issubclass(type(item), cls):
                yield f"{path}.{name}", item
            elif issubclass(type(item), (list, tuple, dict)):
                yield from tensors_in(f"{path}.{name}", item, _DEPTH - 1, cls=cls)
            elif id(type(item)) not in OPAQUE:
                yield from ((f"{path}.{name}.{inner}", x) for inner, x in parameters_in(item))
