"""Names of the engine's classes: a script that knows `torch.nn.Linear` is shown `torch.nn.modules.linear.Linear`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType

_HOUSE = __name__.partition(".")[0] + "."
loaded: list[Callable[[ModuleType], None]] = []
"""Called with each module of the engine that is imported while scripts are served."""
serving: list[PublicNames] = []
"""The names that serve scripts now."""


def is_ours(cls: type) -> bool:
    """Return whether a class belongs to what scripts are given, under either name.

    >>> is_ours(int)
    False
    """
    module = cls.__module__
    return module.startswith(_HOUSE) or module.partition(".")[0] in ("torch", "torchvision", "functorch")


_CHANGEABLE = 1 << 9
"""The flag of classes that Python made: those of compiled modules keep their names."""


class PublicNames:
    """Lets classes and public modules carry the names under which a script imports them, and takes them back."""

    def __init__(self, roots: tuple[str, ...], show: Callable[[str, ModuleType], None]) -> None:
        self._roots = roots
        self._show = show
        self._taken: dict[type, str] = {}
        """The last module that each class said it is of: a package may say it anew of what its parts define."""
        self._modules: list[tuple[ModuleType, str]] = []
        serving.append(self)
        for name, module in list(sys.modules.items()):
            if self._covers(name):
                self.give(module)

    def _covers(self, name: str) -> bool:
        return any(name == root or name.startswith(f"{root}.") for root in self._roots)

    def give(self, module: ModuleType) -> None:
        """Rename a module, unless it is private, and the classes that it defines."""
        own = module.__spec__.name if module.__spec__ else module.__name__
        for cls in list(vars(module).values()):
            if isinstance(cls, type) and cls.__module__ == own and cls.__flags__ & _CHANGEABLE:
                self._taken[cls] = own
                cls.__module__ = _home(cls).removeprefix(_HOUSE)
        if "._" not in own:
            self._modules.append((module, module.__name__))
            module.__name__ = own.removeprefix(_HOUSE)
            if "." in module.__name__:
                self._show(module.__name__, module)

    def give_later(self, spec: ModuleSpec) -> ModuleSpec:
        """A spec whose module is renamed as soon as it is loaded."""
        told_of(spec, self.give)
        return spec

    def take_back(self) -> None:
        """Give all classes and modules their own names again."""
        serving.remove(self)
        while self._taken:
            cls, own = self._taken.popitem()
            cls.__module__ = own
        while self._modules:
            module, own = self._modules.pop()
            module.__name__ = own


def _home(cls: type) -> str:
    """Return where a class is found: the package around private modules, if it shows the class."""
    public = cls.__module__.partition("._")[0]
    return public if vars(sys.modules[public]).get(cls.__name__) is cls else cls.__module__


def told_of(spec: ModuleSpec | None, tell: Callable[[ModuleType], None]) -> ModuleSpec | None:
    """The spec, whose module is told of as soon as it is loaded."""
    if spec is not None and isinstance(spec.loader, SourceFileLoader):
        spec.loader = _Telling(spec.loader.name, spec.loader.path, tell)
    return spec


class _Telling(SourceFileLoader):
    def __init__(self, name: str, path: str, tell: Callable[[ModuleType], None]) -> None:
        super().__init__(name, path)
        self._tell = tell

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        self._tell(module)
        for tell in list(loaded):
            tell(module)
