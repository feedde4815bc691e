"""`autograph info`: versions, engines, devices, layout programs."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

import autograph_cli
from autograph_cli import __version__
from autograph_cli.cli.printing import say
from autograph_cli.pure import is_pure

NEEDED = ("numpy", "ml_dtypes", "click", "rich", "pygments", "graphviz", "graphviz-pure")
OPTIONAL = ("torch",)
SYSTEM_LAYOUT = ("dot",)
TAPE = Path(autograph_cli.__file__).parent / "torch" / "_core" / "running" / "fast_tape"
"""The file of the compiled tape, without the ending that names Python and platform; its source ends with `.pyx`."""


@click.command
def info() -> None:
    """Print the versions of autograph and what it stands on, its engines, devices and layout programs."""
    for title, rows in sections():
        say(title, style="bold")
        for name, text in rows:
            say(f"  {name:<14} {text}".rstrip())


def sections() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the lines to print, section by section."""
    versions = [(name, _version(name)) for name in OPTIONAL]
    return [
        (
            "versions",
            [
                ("autograph", __version__),
                ("python", platform.python_version()),
                *((name, _version(name) or "not installed") for name in NEEDED),
                *((name, text) for name, text in versions if text),
            ],
        ),
        ("engines", list(_engines())),
        ("devices", [("cpu", platform.machine())]),
        (
            "layout programs",
            [
                ("graphviz-pure", _version("graphviz-pure") or "not installed"),
                *((name, shutil.which(name) or "not installed") for name in SYSTEM_LAYOUT),
            ],
        ),
    ]


def _engines() -> Iterator[tuple[str, str]]:
    is_compiled = not is_pure() and any(TAPE.parent.glob(f"{TAPE.name}.*[!x]"))
    compiled = "compiled" if is_compiled else "without compiled modules"
    yield "builtin", f"NumPy {_version('numpy')}, {compiled}, serves import torch"
    installed = _version("torch")
    folders = [os.path.dirname(sys.executable), os.environ.get("PATH", "")]
    started, mpi = shutil.which("mpiexec", path=os.pathsep.join(folders)), _version("mpi4py")
    yield "ranks", f"mpi4py {mpi}, {started}" if mpi and started else "mpi4py or mpiexec is not installed"
    yield "torch", f"PyTorch {installed}, with --engine torch" if installed else "PyTorch is not installed"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
