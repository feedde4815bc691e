"""Serves `import torch` and its companions from the engine while a script runs, whether or not PyTorch is installed."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .public_names import PublicNames, told_of

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # to import that takes longer than to serve

SERVED = {
    "functorch": "autograph_cli.functorch",
    "torch": "autograph_cli.torch",
    "torchvision": "autograph_cli.torchvision",
}
"""The packages that a script imports, and what it is given."""
REFUSED = ("torchaudio", "torchtext")
"""Packages that are built on PyTorch's own binaries: importing them would bring PyTorch in beside the engine."""


@contextlib.contextmanager
def serve() -> Iterator[None]:
    """Within the block, `import torch` and all its submodules give the modules of `autograph_cli.torch`; see `SERVED`.

    They are the same module objects under a second name, and their classes carry it (`PublicNames`). Afterwards
    `sys.meta_path`, the names of PyTorch in `sys.modules` and those of the classes are as they were. A module that the
    engine lacks raises `ModuleNotFoundError` and is named in it.

    >>> with serve():
    ...     from torch.nn import functional as F
    """
    hidden = _take_modules()
    finder = EngineFinder()
    sys.meta_path.insert(0, finder)
    if _SPAWN in sys.modules:
        finder.serve_children_of(sys.modules[_SPAWN])
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        finder.close()
        _take_modules()
        sys.modules.update(hidden)


_SPAWN = "multiprocessing.spawn"


class EngineFinder(Loader):
    """Answers for `torch`, its companions and what is in them, and says what is missing there."""

    def __init__(self) -> None:
        self._opened: list[ModuleType] = []
        self._spawning: tuple[Any, Any] | None = None
        """The module that starts processes, and its function that prepares them, as it was before."""
        self._names = PublicNames(tuple(SERVED.values()), self._show)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root = fullname.partition(".")[0]
        if root in REFUSED:
            return None if PathFinder.find_spec(root) is None else ModuleSpec(fullname, _Refusal())
        if root in SERVED:
            return ModuleSpec(fullname, self, is_package=True)
        if fullname == _SPAWN:
            return told_of(PathFinder.find_spec(fullname, path), self.serve_children_of)
        for name, ours in SERVED.items():
            if fullname == ours or fullname.startswith(ours + "."):
                spec = PathFinder.find_spec(fullname, path)
                if spec is None:
                    raise _missing(name + fullname.removeprefix(ours), fullname)
                return self._names.give_later(spec)
        return None

    def serve_children_of(self, spawn: Any) -> None:
        """Let processes that `multiprocessing.spawn` starts be served as well."""
        prepare = spawn.get_preparation_data
        self._spawning = spawn, prepare
        spawn.get_preparation_data = lambda name: {**prepare(name), "autograph": _ServeInChild()}

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """Return what `importlib.metadata` says of the served packages: libraries ask it which version of torch there
        is."""
        found = importlib.import_module(".served_distribution", __package__)  # few scripts ask, and it reads mail
        name = getattr(context, "name", None)
        return [found.ServedDistribution(served) for served in SERVED if name in (None, served)]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put the engine's module instead of the empty one: the import system hands out what it finds there."""
        name = module.__name__
        self._show(name, importlib.import_module(engine_name(name)))

    def _show(self, name: str, module: ModuleType) -> None:
        """Let a module of the engine be found under its served name, as `typing.get_type_hints` finds those of
        classes."""
        if name.partition(".")[0] == "torch":
            _speak_for(module)
        if not hasattr(module, "__path__"):
            # So that imports from within it come to this finder too, and fail in words of our own.
            module.__path__ = []
            self._opened.append(module)
        sys.modules[name] = module

    def close(self) -> None:
        """Leave no mark on the engine's modules."""
        if self._spawning is not None:
            self._spawning[0].get_preparation_data = self._spawning[1]
        self._names.take_back()
        for module in self._opened:
            vars(module).pop("__path__", None)
        self._opened.clear()


class _Refusal(Loader):
    """Refuses to import modules that are installed; a library that only asks whether they exist gets its answer."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        root = name.partition(".")[0]
        raise ModuleNotFoundError(f"{root} is built on PyTorch itself and cannot run on autograph's engine", name=name)


def engine_name(name: str) -> str:
    """The module that a served name stands for.

    >>> engine_name("torch.nn")
    'autograph_cli.torch.nn'
    """
    root, dot, inner = name.partition(".")
    return SERVED[root] + dot + inner


def sentences() -> Any:
    """Return what the engine says of names that it lacks."""
    from autograph_cli.torch import _missing  # the engine, which not every script needs

    return _missing


def _speak_for(module: ModuleType) -> None:
    sentences().speak_for(module)


def _missing(name: str, ours: str) -> ModuleNotFoundError:
    above = sys.modules.get(ours.rpartition(".")[0])
    return ModuleNotFoundError(sentences().refusal(name, () if above is None else vars(above)), name=name)


def _take_modules() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] in (*SERVED, *REFUSED)]
    return {name: sys.modules.pop(name) for name in names}


class _ServeInChild:
    """Unpickled first of all by a spawned process: its `import torch` is served as well."""

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return serve_in_child, ()


def serve_in_child() -> None:
    """Serve until this process ends."""
    if not any(isinstance(finder, EngineFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, EngineFinder())
