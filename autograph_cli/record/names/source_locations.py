"""The place in the user's code where something happened: frames while it runs, source lines when it is written down."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterable
from types import CodeType, FrameType

from msgspec.structs import replace

import autograph_cli
from autograph_cli.graph import Graph, Source

Site = tuple[CodeType, int]
"""A position in compiled code: the code and the offset of the instruction."""

_OURS = os.path.join(os.path.dirname(autograph_cli.__file__), "")
COMPILED = os.path.join("autograph_cli", "")
"""The path by which tracebacks name compiled modules, from the root of the project on."""
_LIBRARY = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib"))
_PACKAGES = tuple(os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib"))
_RUNNER = os.path.join(_OURS, "record", "run", "runner.py")
_NOTEBOOK = os.path.join("IPython", "core", "interactiveshell.py")
_PASSES = (os.path.join(_OURS, "torch", "_core", "backward.py"), os.path.join(_OURS, "engines", "pytorch", "passes.py"))
_engines: set[str] = set()
"""The folders of other engines' own code."""

USER, ENGINE, PASS, RUNNER = range(4)
file_kinds: dict[str, int] = {}
"""The kind of each file: the user's, the engine's (or Python's own), the backward pass, or the runner, below which is
no script."""
engine_files: set[str] = set()
"""The files that are the engine's."""


def kind_of(filename: str) -> int:
    """Return what kind of code a file holds."""
    kind = file_kinds.get(filename)
    if kind is None:
        kind = file_kinds[filename] = _classify(filename)
        if kind == ENGINE:
            engine_files.add(filename)
    return kind


def add_engine(folders: Iterable[str]) -> None:
    """Files in these folders are an engine's from now on."""
    if not _engines.issuperset(folders):
        _engines.update(folders)
        file_kinds.clear()
        engine_files.clear()


def _classify(filename: str) -> int:
    if filename in _PASSES:
        return PASS
    if filename == _RUNNER or (filename.endswith(_NOTEBOOK) and filename.startswith(_PACKAGES)):
        return RUNNER
    if filename.startswith((*_engines, _OURS, COMPILED, "<autograph ", "<frozen ", "<__array_function__")):
        return ENGINE
    return ENGINE if is_library(filename) else USER


def is_library(filename: str) -> bool:
    """Return whether a file is of Python's own library."""
    return filename.startswith(_LIBRARY) and not filename.startswith(_PACKAGES)


def site_of(frame: FrameType | None, outside: Site | None = None) -> Site | None:
    """The innermost position in the user's code, from this frame on; inside a backward pass, `outside` if that is
    given."""
    files = engine_files
    while frame is not None:
        if frame.f_code.co_filename not in files:
            code = frame.f_code
            kind = file_kinds.get(code.co_filename, -1)
            if kind < 0:
                kind = kind_of(code.co_filename)
            if kind == USER:
                return code, frame.f_lasti
            if kind == RUNNER:
                break
            if kind == PASS and outside is not None:
                return outside
        frame = frame.f_back
    return None


def maker_of(frame: FrameType | None, made: object) -> FrameType | None:
    """The frame that makes an object: the first that is outside of its own `__init__`."""
    found = frame
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__init__" and code.co_argcount and frame.f_locals.get(code.co_varnames[0]) is made:
            found = frame.f_back
        frame = frame.f_back
    return found


def callers_of(frame: FrameType | None) -> tuple[Site, ...]:
    """The innermost position in the user's code, from this frame on, and that of its caller, as far as there are; where
    the innermost one is of an installed package, that of the script as well."""
    files = engine_files
    found: list[Site] = []
    own: Site | None = None
    while frame is not None:
        code = frame.f_code
        if code.co_filename not in files:
            kind = file_kinds.get(code.co_filename, -1)
            if kind < 0:
                kind = kind_of(code.co_filename)
            if kind == USER:
                site = code, frame.f_lasti
                own = site if own is None and is_of_script(frame) else own
                if len(found) < 2:
                    found.append(site)
            if kind == RUNNER or (own is not None and len(found) == 2):
                break
        frame = frame.f_back
    return tuple(found) if own is None or own is found[0] else (*found, own)


def shown_of(sites: tuple[Site, ...]) -> Site | None:
    """Return the position of `callers_of` that is shown: the script's, if it has one."""
    return sites[2 * (len(sites) > 2)] if sites else None


def is_of_script(frame: FrameType) -> bool:
    """Return whether the code of a frame is the script's own, outside of installed packages."""
    file = frame.f_code.co_filename
    return kind_of(file) == USER and (not file.startswith(_PACKAGES) or frame.f_globals.get("__name__") == "__main__")


def script_frames(depth: int = 1, frame: FrameType | None = None) -> list[FrameType]:
    """The frames of the script that are running now, or from this one on, without installed packages, the innermost
    first.

    Below the runner there are none.
    """
    frame = frame or sys._getframe(depth)
    frames = []
    while frame is not None and kind_of(frame.f_code.co_filename) != RUNNER:
        if is_of_script(frame):
            frames.append(frame)
        frame = frame.f_back
    return frames


def innermost(places: Iterable[tuple[str, int]]) -> tuple[str, int] | None:
    """Return the first file and line of a stack that is the script's, from the innermost on; below the runner there is
    none."""
    script = getattr(sys.modules.get("__main__"), "__file__", "")
    for file, line in places:
        kind = kind_of(file)
        if kind == RUNNER:
            break
        if kind == USER and (file == script or not file.startswith(_PACKAGES)):
            return file, line
    return None


def cell_of(filename: str) -> str:
    """Return what IPython calls the cell whose code has this file name, as in `In[2]`; of any other file nothing."""
    notebook = sys.modules.get("IPython")
    shell = None if notebook is None else notebook.get_ipython()
    found = None if shell is None else shell.compile.format_code_name(filename)
    return "" if found is None else str(found[1])


def bound_in_passing(code: CodeType) -> frozenset[str]:
    """The variables of a function that stand for one thing after the other: its parameters, and what its loops bind."""
    several = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + several]
    last = max((line for _, _, line in code.co_lines() if line is not None), default=0)
    bound = [name for line, name in _bound_in_loops(code.co_filename) if code.co_firstlineno <= line <= last]
    return frozenset((*parameters, *bound))


@functools.lru_cache(64)
def _bound_in_loops(filename: str) -> frozenset[tuple[int, str]]:
    """The variables that the loops of a file bind, with their lines."""
    found: set[tuple[int, str]] = set()
    for loop in ast.walk(parsed(filename)):
        if isinstance(loop, (ast.For, ast.AsyncFor, ast.While)):
            names = ast.walk(loop)
        elif isinstance(loop, ast.comprehension):
            names = ast.walk(loop.target)
        else:
            continue
        found.update((it.lineno, it.id) for it in names if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store))
    return frozenset(found)


class Sources:
    """Source lines of positions in code; files are named from the script's folder, so the same on every machine."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder)
        self._sources: dict[tuple[int, int], Source] = {}
        self._codes: list[CodeType] = []
        self._assignments: dict[str, dict[int, Assignment]] = {}
        self._assigned: dict[tuple[int, int], tuple[int, tuple[str | None, ...]]] = {}

    def source(self, site: Site | None) -> Source | None:
        """The line of a site, or None where no code of the user's was running."""
        if site is None:
            return None
        code, offset = site
        key = id(code), offset
        if key not in self._sources:
            self._codes.append(code)  # so that its id stays its own
            line = line_of(code, offset)
            text = linecache.getline(code.co_filename, line).strip()
            name = "" if code.co_name == "<module>" else getattr(code, "co_qualname", code.co_name)
            self._sources[key] = Source(self.file(code.co_filename), line, text, name.replace(".<locals>", ""))
        return self._sources[key]

    def placed_at(self, source: Source) -> Source:
        """A source with the path that all others have."""
        return replace(source, file=self.file(source.file))

    def placed(self, graph: Graph) -> Graph:
        """A graph whose sources have whole paths, with those that all others have."""
        if all(node.source is None for node in graph):
            return graph
        nodes = [node if node.source is None else replace(node, source=self.placed_at(node.source)) for node in graph]
        return replace(graph, nodes=tuple(nodes))

    def file(self, filename: str) -> str:
        """The name of a file from the script's folder, or from the folder of packages."""
        cell = cell_of(filename)
        if cell or filename.startswith("<"):
            return cell or filename
        path = os.path.realpath(filename)
        for folder in (self.folder, *_PACKAGES):
            if path.startswith(os.path.join(folder, "")):
                return os.path.relpath(path, folder).replace(os.sep, "/")
        return os.path.basename(path)

    def assignment(self, site: Site) -> Assignment | None:
        """The assignment in which a site stands."""
        code, offset = site
        if code.co_filename not in self._assignments:
            self._assignments[code.co_filename] = _assignments(code.co_filename)
        return self._assignments[code.co_filename].get(line_of(code, offset))

    def assigned(self, site: Site) -> tuple[int, tuple[str | None, ...]]:
        """The id of the assignment in which a site stands, and the names that it gives what is computed there."""
        code, offset = site
        key = id(code), offset
        if key not in self._assigned:
            self._codes.append(code)  # so that its id stays its own
            assignment = self.assignment(site)
            names = () if assignment is None else assignment.names_at(end_of(site))
            self._assigned[key] = id(assignment), names
        return self._assigned[key]


def line_of(code: CodeType, offset: int) -> int:
    """The line of an instruction."""
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def end_of(site: Site) -> Position | None:
    """The line and the column where the expression at a site ends; None where Python (before 3.11) does not keep it."""
    code, offset = site
    if hasattr(code, "co_positions"):
        _, line, _, column = next(itertools.islice(code.co_positions(), offset // 2, None))
        return None if line is None or column is None else (line, column)
    return None


Position = tuple[int, int]
"""A line and a column."""


class Assignment:
    """The bindings of a statement: names, and the expressions that they are bound to."""

    __slots__ = ("parts",)

    def __init__(self, target: ast.expr, value: ast.expr) -> None:
        self.parts: list[tuple[tuple[str | None, ...], ast.expr]] = []
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        else:
            pairs = [(target, value)]
        for names, part in pairs:
            several = names.elts if isinstance(names, (ast.Tuple, ast.List)) else [names]
            self.parts.append((tuple(map(_name, several)), part))

    def names_at(self, end: Position | None) -> tuple[str | None, ...]:
        """The names of the value whose expression ends here, one for each output of a node.

        Without columns only a calculation is sure to be what its line made last.
        """
        if end is None:
            ((names, value), *more) = self.parts
            return names if not more and isinstance(value, (ast.BinOp, ast.UnaryOp)) else ()
        return next((names for names, value in self.parts if end == (value.end_lineno, value.end_col_offset)), ())


def _name(target: ast.expr) -> str | None:
    return target.id if isinstance(target, ast.Name) else None


def parsed(filename: str) -> ast.Module:
    """The text of a file; nothing where there is none that Python reads."""
    return _parsed("".join(linecache.getlines(filename)))


@functools.lru_cache(16)
def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _assignments(filename: str) -> dict[int, Assignment]:
    """The assignments of a file by every line that they take."""
    found: dict[int, Assignment] = {}
    for statement in ast.walk(parsed(filename)):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            made = Assignment(statement.targets[0], statement.value)
        elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)) and statement.value is not None:
            made = Assignment(statement.target, statement.value)
        else:
            continue
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
            found[line] = made
    return found
