"""Builds the compiled modules (`*.pyx`) with the wheel.

Without a C compiler, or with AUTOGRAPH_PURE=1, the wheel has none, which is said: the engine then runs on Python alone.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = "autograph_cli"
PURE = Path(__file__).parent / SOURCES / "pure.py"


class CompiledCore(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the extension modules to a wheel, and to the checkout of an editable installation."""

    def compiles(self) -> bool:
        """Return whether the build has compiled modules."""
        return self.target_name == "wheel" and not runpy.run_path(str(PURE))["is_pure"]()

    def dependencies(self) -> list[str]:
        """Return the packages that compiling needs."""
        return ["cython>=3.1", "setuptools>=77", "numpy>=2.0"] if self.compiles() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say what the wheel has and which Python and platform it is for."""
        if not self.compiles():
            return
        root = Path(self.root)
        self.app.display_info(f"compiling {len(sources(root))} modules, once, about a minute")
        try:
            made = compiled(root)
        except Exception as error:  # of setuptools, Cython or the compiler: whichever it is, Python's code is whole
            self.app.display_warning(f"autograph runs without its compiled modules, slower: {error}")
            return
        build_data["artifacts"] += [f"/{path}" for path in made]
        build_data.update(pure_python=False, infer_tag=True)


def sources(root: Path) -> list[Path]:
    """Return the `.pyx` files, from the root."""
    return sorted(path.relative_to(root) for path in (root / SOURCES).rglob("*.pyx"))


def compiled(root: Path) -> list[str]:
    """Build each `.pyx` in its folder, on all cores, and return the paths of the modules from the root."""
    import numpy
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    os.chdir(root)
    options = {"include_dirs": [numpy.get_include()], "extra_compile_args": FLAGS}
    extensions = [Extension(".".join(path.with_suffix("").parts), [str(path)], **options) for path in sources(root)]
    cores = os.cpu_count()
    distribution = Distribution({"ext_modules": cythonize(extensions, build_dir="build/cython", nthreads=cores)})
    command = distribution.get_command_obj("build_ext")
    command.inplace = True
    command.parallel = cores
    command.ensure_finalized()
    command.run()
    return [command.get_ext_filename(extension.name) for extension in extensions]


FLAGS = [] if os.name == "nt" else ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
"""Sums and products are rounded one by one, as NumPy's are. What a debugger reads, which Python's own flags ask for,
would be four fifths of the bytes."""
FLAGS += os.environ.get("AUTOGRAPH_CFLAGS", "").split()  # what `make sanitize` asks for
