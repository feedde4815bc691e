"""The modules that run: each call of one, the path under which the script keeps it, and what belongs to it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import CodeType
from typing import Any

from msgspec import Struct

from autograph_cli.engines.protocol import ModuleCall
from autograph_cli.record.names.source_locations import bound_in_passing, script_frames
from autograph_cli.record.names.variables import OPAQUE, attributes_of, is_exactly, is_hidden, variables_of

MANY = 4_096
"""Modules that are remembered before those which are gone are forgotten."""
_LONGEST = 256
"""Longer containers are not looked through for modules."""


class CallEvent(Struct, frozen=True, eq=False):
    """One call of a module, as long as an event of the log or a call within it needs it."""

    about: About
    parent: CallEvent | None
    serial: int


class Tree:
    """A module and all in it, by id: what each is in, and under which name."""

    def __init__(self, root: Any) -> None:
        self.root = id(root)
        self.positions: dict[int, tuple[int, str]] = {}
        self.grow(root)

    def grow(self, root: Any) -> None:
        """Take in what has come since."""
        for outer, name, inner in _nested(root):
            self.positions.setdefault(id(inner), (id(outer), name))

    def path(self, outer: int, inner: int) -> str:
        """The path from one module to another in it; empty where there is none."""
        names: list[str] = []
        while inner != outer:
            if inner == self.root or inner not in self.positions:
                return ""
            inner, name = self.positions[inner]
            names.append(name)
        return ".".join(reversed(names))


class About:
    """The facts on a module, as it was called in the same surroundings."""

    __slots__ = ("cls", "id", "layer", "parameters", "path", "ref", "tree")

    def __init__(self, module: Any, path: str, tree: Tree) -> None:
        self.ref, self.id = weakref.ref(module), id(module)
        self.path, self.cls = path, type(module).__name__
        self.tree = tree
        """The modules in it, as part of those around it."""
        self.parameters = 0
        self.layer = "" if is_layer(type(module)) else None
        """Return the arguments that a layer of `torch.nn` was made with, once its parameters are counted."""

    def key(self) -> int:
        """One number for all that is known of the same living module."""
        module = self.ref()
        return id(self if module is None else module)


def is_layer(cls: type) -> bool:
    """Return whether a class of modules is one of `torch.nn`, under either of its names."""
    return f"{cls.__module__}.".startswith(("torch.nn.", "autograph_cli.torch.nn."))


_UNSAID = ("num_heads", "reduction")
"""Arguments that `extra_repr` of a layer leaves out, though readers ask for them."""


def made_with(layer: Any) -> str:
    """Return what a layer of `torch.nn` was made with, as it says itself, and what it leaves out."""
    try:
        said = type(layer).extra_repr(layer)
    except (AttributeError, RuntimeError, TypeError):
        said = ""  # a layer whose attributes a script took away
    more = [f"{name}={value!r}" for name in _UNSAID if isinstance(value := vars(layer).get(name), (int, str))]
    return ", ".join(filter(None, [said, *more]))


def was_given(call: ModuleCall, tensor: Any, base: Any) -> bool:
    """Return whether the tensor, or what it is a view of, was among the arguments of a call."""
    return any(x is tensor or (base is not None and x is base) for x in _items((*call.args, *call.kwargs.values())))


class Modules:
    """The modules that were met, and who owns which parameter and buffer."""

    def __init__(self, tensor: type) -> None:
        self.tensor = tensor
        """The class of tensors."""
        self.known: dict[tuple[int, int | None], About] = {}
        """By the id of the module and of the one that called it."""
        self.owners: dict[int, tuple[weakref.ref[Any], str, str]] = {}
        """Parameters and buffers by id: the tensor, the path of its module, and its name there."""
        self.limit = MANY
        self.entered: list[Callable[[ModuleCall, str], None]] = []
        """Told of each call of a module that is in no other's, with its path."""
        self.waiting: list[About] = []
        """The modules whose parameters may not exist yet."""

    def enter(self, known: list[CallEvent], calls: Sequence[ModuleCall]) -> CallEvent:
        """Bring what is known of a thread's calls up to those that are going on now; returns the innermost."""
        depth = len(known)
        while depth and (depth > len(calls) or known[depth - 1].serial != calls[depth - 1].number):
            depth -= 1
        del known[depth:]
        outer = known[-1] if depth else None
        counted: dict[int, int] = {}
        for call in calls[depth:]:
            module = call.module
            key = id(module), None if outer is None else outer.about.id
            about = self.known.get(key)
            if about is None or about.ref() is not module:
                about = self.known[key] = self._met(module, outer)
                self._describe(about, module, counted)  # it may be gone when its call is over
                self.waiting.append(about)
            if outer is None:
                for tell in self.entered:
                    tell(call, about.path)
            outer = CallEvent(about, outer, call.number)
            known.append(outer)
        return known[-1]

    def _met(self, module: Any, outer: CallEvent | None) -> About:
        """A module that is new here: a part of one that is running, or one by itself."""
        while outer is not None:
            above = outer.about
            path, tree = _within(above, module)
            if path:
                path = f"{above.path}.{path}"
                if tree is not None:
                    self._own(module, path)
                return About(module, path, tree or self._learn(module, path))
            outer = outer.parent
        path = _variable(module) or type(module).__name__
        return About(module, path, self._learn(module, path))

    def settle(self) -> None:
        """Count the parameters of modules that were new: what waited for its first input has them now."""
        counted: dict[int, int] = {}
        for about in self.waiting:
            module = about.ref()
            if module is not None:
                self._describe(about, module, counted)
        self.waiting = []

    def _describe(self, about: About, module: Any, counted: dict[int, int]) -> None:
        if id(module) not in counted:
            counted |= _counted(module)
        about.parameters = counted[id(module)]
        if about.layer is not None:
            about.layer = made_with(module)

    def owner(self, tensor: Any) -> str:
        """The path of the module that a tensor is a parameter or a buffer of."""
        ref, path, _ = self.owners.get(id(tensor), _NOBODY)
        return path if ref is not None and ref() is tensor else ""

    def name(self, tensor: Any) -> str:
        """The name of a parameter or a buffer, with the path of its module."""
        return ".".join(self.owners[id(tensor)][1:])

    def _learn(self, module: Any, path: str) -> Tree:
        """Note the modules within, and the owners of all parameters and buffers."""
        for inside, inner in parts(module):
            self._own(inner, f"{path}.{inside}" if inside else path)
        if len(self.known) + len(self.owners) > self.limit:
            self.known = {key: it for key, it in self.known.items() if it.ref() is not None}
            self.owners = {key: it for key, it in self.owners.items() if it[0]() is not None}
            self.limit = max(MANY, 2 * (len(self.known) + len(self.owners)))
        return Tree(module)

    def _own(self, module: Any, path: str) -> None:
        for store in ("_parameters", "_buffers"):
            for name, tensor in getattr(module, store, {}).items():
                if isinstance(tensor, self.tensor) and not self.owner(tensor):
                    self.owners[id(tensor)] = weakref.ref(tensor), path, name


_NOBODY: tuple[None, str, str] = None, "", ""


def _within(about: About, module: Any) -> tuple[str, Tree | None]:
    """The path of a module from the one that it is in, if it is in it: as a part, or in a list of its own."""
    outer = about.ref()
    if outer is None:
        return "", None
    path = about.tree.path(id(outer), id(module))
    if path:
        return path, about.tree
    if about.tree.root != id(outer) or id(module) not in about.tree.positions:
        about.tree = Tree(outer)  # it has more in it than it had, or something that is in another part as well
        path = about.tree.path(id(outer), id(module))
    return path or next((path for path, it in _contained(vars(outer)) if it is module), ""), None


def _counted(module: Any) -> dict[int, int]:
    """Return how many parameters a module and each one in it has, by id; what is in several positions counts once."""
    nested = list(_nested(module))
    every = [module, *(inner for _, _, inner in nested)]
    own = {id(inner): [x for x in getattr(inner, "_parameters", {}).values() if x is not None] for inner in every}
    found = {position: sum(map(_size, tensors)) for position, tensors in own.items()}
    alone = len({id(x) for tensors in own.values() for x in tensors}) == sum(map(len, own.values()))
    if len(every) != 1 + sum(_count_parts(inner) for inner in every) or not alone:
        return {id(module): sum(map(_size, {id(x): x for tensors in own.values() for x in tensors}.values()))}
    for outer, _, inner in reversed(nested):
        found[id(outer)] += found[id(inner)]
    return found


def _count_parts(module: Any) -> int:
    return sum(inner is not None for inner in getattr(module, "_modules", {}).values())


def _variable(module: Any) -> str:
    """The variable that leads to a module, the outermost frame's first.

    What a loop or a call binds stands for one module after the other: it comes after all else.
    """
    frames = list(reversed(script_frames(4)))
    spaces = [variables_of(frame) for frame in frames]
    passing = [bound_in_passing(frame.f_code) for frame in frames]
    met: set[int] = set()  # of modules in one another, each has a frame with all that are in it
    for ways in (dict.items, _contained, partial(_attributes, met=met)):
        for space, skipped in zip(spaces, passing, strict=True):
            for path, value in ways(space):
                if value is module and not is_hidden(path) and path not in skipped:
                    return str(path)
    own = [_first_of_method(frame.f_code, module) for frame in frames]  # `self`, which says nothing
    variables = (
        (name, x) for space, mine in zip(spaces, own, strict=True) for name, x in space.items() if name != mine
    )
    return next((name for name, value in variables if value is module and not is_hidden(name)), "")


def _first_of_method(code: CodeType, module: Any) -> str:
    """Return the name of the first parameter of a method of this module; nothing for code of anything else."""
    methods = (vars(cls).get(code.co_name) for cls in type(module).__mro__)
    return code.co_varnames[0] if any(getattr(method, "__code__", None) is code for method in methods) else ""


def _attributes(space: Mapping[str, Any], met: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield what modules have in them, and other objects as attributes, with their paths; of modules only what is not
    among those that were `met` in others."""
    for name, value in list(space.items()):
        if is_hidden(name) or id(type(value)) in OPAQUE:
            continue
        inside = attributes_of(value)
        if isinstance(inside.get("_modules"), dict):
            if id(value) not in met:
                yield from ((f"{name}.{path}", inner) for path, inner in parts(value, met) if path)
        else:
            attributes = {key: inner for key, inner in list(inside.items()) if isinstance(key, str) and key}
            yield from ((f"{name}.{key}", inner) for key, inner in attributes.items())
            yield from ((f"{name}.{path}", inner) for path, inner in _contained(attributes))


def _nested(module: Any, met: set[int] | None = None) -> Iterator[tuple[Any, str, Any]]:
    """Yield what is in a module, each once: the module that it is in, its name there, and itself; without those that
    are among the `met`, where what is given is noted."""
    met = set() if met is None else met
    stack = [(None, "", module)]
    while stack:
        outer, name, inner = stack.pop()
        if outer is not None:
            yield outer, name, inner
        for name, part in reversed(list(getattr(inner, "_modules", {}).items())):
            if part is not None and part is not module and id(part) not in met:
                met.add(id(part))
                stack.append((inner, name, part))


def parts(module: Any, met: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """A module and all in it, each once, with their paths; see `_nested` for `met`."""
    paths = {id(module): ""}
    yield "", module
    for outer, name, inner in _nested(module, met):
        above = paths[id(outer)]
        paths[id(inner)] = f"{above}.{name}" if above else name
        yield paths[id(inner)], inner


def _contained(space: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what lists, tuples and dicts hold, with their paths."""
    for name, value in list(space.items()):
        if is_hidden(name):
            continue
        if is_exactly(value, list, tuple) and len(value) <= _LONGEST:
            yield from ((f"{name}[{position}]", item) for position, item in enumerate(value))
        elif type(value) is dict and len(value) <= _LONGEST:
            yield from ((f"{name}[{key!r}]", item) for key, item in list(value.items()) if isinstance(key, (str, int)))


def _items(values: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    for value in values:
        if is_exactly(value, tuple, list) and depth < 2:
            yield from _items(value, depth + 1)
        elif type(value) is dict and depth < 2:
            yield from _items(value.values(), depth + 1)
        else:
            yield value


def _size(parameter: Any) -> int:
    """Return how many numbers a parameter holds; none as long as its shape is not known."""
    try:
        return int(parameter.numel())
    except (AttributeError, RuntimeError, ValueError):
        return 0
