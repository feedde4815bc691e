"""Serves `import torch` and its companions from the engine while a script runs, whether or not PyTorch is installed."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing.spawn as spawn
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from .public_names import PublicNames

SERVED = {
    "functorch": "autograph_cli.functorch",
    "safetensors": "autograph_cli.safetensors",
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
    prepare = spawn.get_preparation_data
    spawn.get_preparation_data = _preparing(prepare)  # type: ignore[assignment]
    try:
        yield
    finally:
        spawn.get_preparation_data = prepare
        sys.meta_path.remove(finder)
        finder.close()
        _take_modules()
        sys.modules.update(hidden)


class EngineFinder(DistributionFinder, Loader):
    """Answers for `torch`, its companions and what is in them, and says what is missing there."""

    def __init__(self) -> None:
        self._opened: list[ModuleType] = []
        self._names = PublicNames(tuple(SERVED.values()), self._show)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root = fullname.partition(".")[0]
        if root in REFUSED:
            return None if PathFinder.find_spec(root) is None else ModuleSpec(fullname, _Refusal())
        if root in SERVED:
            return ModuleSpec(fullname, self, is_package=True)
        for name, ours in SERVED.items():
            if fullname == ours or fullname.startswith(ours + "."):
                spec = PathFinder.find_spec(fullname, path)
                if spec is None:
                    raise _missing(name + fullname.removeprefix(ours), fullname)
                return self._names.give_later(spec)
        return None

    def find_distributions(self, context: Any = None) -> Iterable[Distribution]:
        """What `importlib.metadata` says of the served packages: libraries ask it which version of torch there is."""
        name = getattr(context, "name", None)
        return [ServedDistribution(served) for served in SERVED if name in (None, served)]

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
        self._names.take_back()
        for module in self._opened:
            vars(module).pop("__path__", None)
        self._opened.clear()


class _Refusal(Loader):
    """For what is installed and cannot be imported: a library that only asks whether it is there gets its answer."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        root = name.partition(".")[0]
        raise ModuleNotFoundError(f"{root} is built on PyTorch itself and cannot run on autograph's engine", name=name)


class ServedDistribution(Distribution):
    """The name and the version of a served package, as an installed one would tell them.

    >>> ServedDistribution("torch").metadata["Name"]
    'torch'
    """

    def __init__(self, name: str) -> None:
        self._served = name

    def read_text(self, filename: str) -> str | None:
        if filename == "top_level.txt":
            return self._served
        if filename != "METADATA":
            return None
        version = importlib.import_module(SERVED[self._served]).__version__
        return f"Metadata-Version: 2.1\nName: {self._served}\nVersion: {version}\n"

    def locate_file(self, path: Any) -> Path:
        return Path(str(importlib.import_module(SERVED[self._served]).__file__)).parent.joinpath(path)


def engine_name(name: str) -> str:
    """The module that a served name stands for.

    >>> engine_name("torch.nn")
    'autograph_cli.torch.nn'
    """
    root, dot, inner = name.partition(".")
    return SERVED[root] + dot + inner


def sentences() -> Any:
    """What the engine says of names that it lacks."""
    from autograph_cli.torch import _missing  # the engine takes a second to import, and not every script needs it

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


def _preparing(prepare: Callable[[str], dict[str, Any]]) -> Callable[[str], dict[str, Any]]:
    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**prepare(name), "autograph": _ServeInChild()}

    return get_preparation_data
