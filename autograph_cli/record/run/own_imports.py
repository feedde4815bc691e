"""Keeps the imports of this package apart from a script's, where files beside that are named like other modules."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

OTHERS = (
    "IPython", "PIL", "anywidget", "click", "cupy", "cupyx", "graphviz", "graphviz_pure", "lightning", "matplotlib",
    "ml_dtypes", "mpi4py", "msgspec", "networkx", "numpy", "onnx", "pygments", "pytest", "pytorch_lightning",
    "rich", "sympy", "tensorboard", "traitlets", "transformers",
)  # fmt: skip
"""The packages of others that this one imports, some of them where they are installed only."""
_FOR_BOTH = {*sys.stdlib_module_names, "autograph_cli", "ml_dtypes", "numpy"}
"""The modules that are not loaded twice: a script gets those that the command has imported already."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


class OwnImports:
    """While the folder of a script is in front of `sys.path`, this package finds the modules that it was written for.

    What it imports at any depth, such as `secrets` by way of NumPy, is looked for in all places but that folder. What
    the script imports is found as `python` finds it.
    """

    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder)
        try:
            there = {name.removesuffix(".py") for name in os.listdir(folder)}
        except OSError:
            there = set()
        self._names = {
            name
            for name in there - {*sys.builtin_module_names}
            if any(map(os.path.isfile, self._places(name))) and not self._is_scripts(sys.modules.get(name))
        }
        self._hidden: dict[str, ModuleType] = {}

    def __enter__(self) -> OwnImports:
        self._hidden = _taken_out(self._names - _FOR_BOTH)
        self._names &= {*sys.stdlib_module_names, *OTHERS}
        sys.meta_path.insert(0, self)
        return self

    def script_ended(self) -> None:
        """From now on `sys.modules` has no module of the script under a name that this package imports."""
        _taken_out({name for name in self._names if self._is_scripts(sys.modules.get(name))})
        sys.modules.update(self._hidden)

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)
        sys.modules.update(self._hidden)

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if path is not None or name not in self._names or not self._is_asked_by_us():
            return None
        found = PathFinder.find_spec(name, [each for each in sys.path if os.path.realpath(each) != self._folder])
        if found is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found

    def _is_asked_by_us(self) -> bool:
        """Return whether the import comes from this package, by way of libraries or not, and from nothing of the
        script."""
        inner = self._folder + os.sep
        libraries = tuple([each for each in sys.path if each.startswith(inner)])
        frame = sys._getframe(2)
        while frame.f_back is not None:
            file = frame.f_code.co_filename
            if file.startswith(_PACKAGE):
                return True
            of_script = file.startswith(inner) and not (libraries and file.startswith(libraries))
            if of_script or frame.f_globals.get("__name__") == "__main__":
                return False
            frame = frame.f_back
        return True

    def _is_scripts(self, module: ModuleType | None) -> bool:
        """Return whether the module was imported from the script's folder."""
        return module is not None and getattr(module, "__file__", None) in self._places(module.__name__)

    def _places(self, name: str) -> tuple[str, str]:
        return os.path.join(self._folder, name, "__init__.py"), os.path.join(self._folder, f"{name}.py")


def _taken_out(roots: set[str]) -> dict[str, ModuleType]:
    """The loaded modules of these names and what is in them, which are no longer in `sys.modules`."""
    return {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] in roots}
