"""The settings of a project for its snapshots: `[tool.autograph]` in pyproject.toml."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from autograph_cli import AutographError
from autograph_cli.engines import NAMES
from autograph_cli.graph.diff import DEFAULT_PARTS
from autograph_cli.graph.snapshot import HOLDS, TOLERANCE

STEPS = "first,last"
"""The steps that are kept unless told otherwise."""
VIEWS = ("graph", "forward", "backward", "double-backward")
COMMANDS = ("render", "show", "explain")
"""Tables of their own, for the commands of these names."""
_STEP = r"(first|last|all|\d{1,18}|\d{0,18}:\d{0,18}(:[1-9]\d{0,17})?)"
_STEPS = re.compile(rf"{_STEP}(,{_STEP})*")


class SettingsError(AutographError):
    """A setting that is unknown or makes no sense."""


class Settings(Struct, frozen=True):
    """The settings of snapshots; `files` are looked for in `folder`, where pyproject.toml is."""

    folder: Path = field(default_factory=Path.cwd)
    files: tuple[str, ...] = ()
    """The scripts that `autograph snapshot` takes when none is named, as patterns such as `samples/*.py`."""
    exclude: tuple[str, ...] = ()
    """Patterns of scripts that are left out."""
    steps: str = STEPS
    views: tuple[str, ...] = ("graph",)
    include: tuple[str, ...] = DEFAULT_PARTS
    """Parts of snapshots: names, shapes, dtypes, constants, lines, modules, untracked, values, formulas, digests."""
    engine: str = "builtin"
    """The engine that runs scripts: builtin, torch or auto."""
    tolerance: float = TOLERANCE
    """The most that values may differ, relative to their size."""
    within: tuple[str, ...] = ()
    """The modules that a snapshot is of, by their paths or the ends of these; an option of the command alone."""
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The arguments of scripts, by their path from the folder."""


def load(start: Path | None = None) -> Settings:
    """The settings of the nearest pyproject.toml that has some, from this folder upwards; else the defaults."""
    found, path = _nearest(start)
    return Settings((start or Path.cwd()).absolute()) if path is None else read(found, path.parent, str(path))


def table(command: str, start: Path | None = None) -> tuple[dict[str, Any], Path | None]:
    """Return what `[tool.autograph.<command>]` says, unchecked, and the file in which it stands."""
    found, path = _nearest(start)
    part = found.get(command, {}) if isinstance(found, dict) else {}
    if not isinstance(part, dict):
        raise SettingsError(f"{path}: tool.autograph.{command} is no table.")
    if path is not None:
        read(found, path.parent, str(path))
    return part, path


def _nearest(start: Path | None) -> tuple[Any, Path | None]:
    """The table `tool.autograph` of the nearest pyproject.toml that has it."""
    start = (start or Path.cwd()).absolute()
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if not path.is_file():
            continue
        read_toml = importlib.import_module("tomllib").loads  # only where there is such a file
        try:
            found = read_toml(path.read_text("utf-8")).get("tool", {}).get("autograph")
        except (OSError, ValueError) as error:
            raise SettingsError(f"Cannot read {path}: {error}.") from None
        if found is not None:
            return found, path
    return {}, None


def read(table: Any, folder: Path, name: str = "pyproject.toml") -> Settings:
    """Check the table; raises `SettingsError`, naming the key.

    >>> read({"include": ["names", "shapes"]}, Path(".")).include
    ('names', 'shapes')
    """
    if not isinstance(table, dict):
        raise SettingsError(f"{name}: tool.autograph is no table.")
    known = [name for name in Settings.__struct_fields__ if name in _READERS]
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key in COMMANDS:
            continue
        if key not in known:
            every = ", ".join((*known, *COMMANDS))
            raise SettingsError(f"{name}: tool.autograph has no setting {key!r}; known ones: {every}.")
        try:
            found[key] = _READERS[key](value)
        except ValueError as error:
            raise SettingsError(f"{name}: tool.autograph.{key} {error}.") from None
    return Settings(folder, **found)


def parts(names: Any) -> tuple[str, ...]:
    """Return what a snapshot holds, in one order; raises `ValueError` for an unknown part."""
    chosen = _chosen(HOLDS)(names)
    return tuple(part for part in HOLDS if part in chosen)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"must be a list of strings, not {value!r}")
    return tuple(value)


def _chosen(known: tuple[str, ...]) -> Callable[[Any], tuple[str, ...]]:
    def read_chosen(value: Any) -> tuple[str, ...]:
        for item in _texts(value):
            if item not in known:
                raise ValueError(f"has {item!r}, which is none of {', '.join(known)}")
        return tuple(value)

    return read_chosen


def _steps(value: Any) -> str:
    text = value.replace(" ", "") if isinstance(value, str) else ""
    if not _STEPS.fullmatch(text) or ":" in text.split(","):
        raise ValueError(f"must be such as 'first,last', 'all', '3' or '10:20', not {value!r}")
    return str(text)


def _engine(value: Any) -> str:
    if value not in NAMES:
        raise ValueError(f"must be one of {', '.join(NAMES)}, not {value!r}")
    return str(value)


def _tolerance(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise ValueError(f"must be a number from 0 to 1, not {value!r}")
    return float(value)


def _arguments(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError("must be a table of lists of strings")
    return {key: _texts(item) for key, item in value.items()}


_READERS: dict[str, Callable[[Any], Any]] = {
    "files": _texts, "exclude": _texts, "steps": _steps, "engine": _engine, "views": _chosen(VIEWS), "include": parts,
    "tolerance": _tolerance, "arguments": _arguments,
}  # fmt: skip
