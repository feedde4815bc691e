"""`%%autograph`: in a notebook, run a cell, record it, and show its page below; `%autograph loss`: that of tensors.

    %load_ext autograph_cli

    %%autograph --backward --show dtype
    import torch
    x = torch.ones(3, requires_grad=True)
    loss = (x ** 2).sum()

    %autograph loss

The options are those of `autograph render`; with `-f svg` or another format, a cell shows that in the
place of the page. Where PyTorch is loaded already, or `--engine torch` or the project asks for it, the cell
uses it, recorded as `autograph run --engine torch` does; else autograph's engine.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import itertools
import linecache
import shlex
import sys
import warnings
from pathlib import Path
from typing import Any

import click

from autograph_cli import AutographError, engines
from autograph_cli.atomic_files import temporary_folder
from autograph_cli.cli.options import engine_of, to_record
from autograph_cli.cli.render import render
from autograph_cli.engines.protocol import Connect
from autograph_cli.export.page.html import in_frame
from autograph_cli.graph import GraphError, Step, Trace
from autograph_cli.record.graphs import pytorch
from autograph_cli.record.run import imports, store

_cells = itertools.count(1)


def load(shell: Any) -> None:
    """Give an IPython shell the cell magic; without PyTorch, all cells may import the engine as torch."""

    def autograph(line: str, cell: str | None = None) -> None:
        if cell is None:
            show(shell, line)
        else:
            run(shell, line, cell)

    shell.register_magic_function(autograph, "line_cell", "autograph")
    if "torch" not in sys.modules and importlib.util.find_spec("torch") is None:
        imports.serve_in_child()


def run(shell: Any, line: str, cell: str) -> None:
    """Run a cell as the shell would, and display the pictures that the options ask for.

    What the cell raises is raised, and there is no picture. A wrong option, or a cell that builds no graph, is told
    in a sentence, and a cell that is no Python as the shell tells it.
    """
    options = shlex.split(line)
    try:
        ast.parse(shell.transform_cell(cell))
    except SyntaxError:
        shell.showsyntaxerror()
        return
    asked = _asked(options)
    try:
        name = engine_of(asked.get("engine") or ("torch" if pytorch.is_loaded() else None))
        engine = engines.connect(name)
    except AutographError as error:
        print(f"%%autograph: {error}", file=sys.stderr)
        return
    beside = to_record(asked.get("shown") or (), asked.get("opened_node"))
    _display(_record(shell, cell, beside, engine, served=name == "builtin"), options)


def show(shell: Any, line: str) -> None:
    """Display what the tensors of these names hang on."""
    options = shlex.split(line)
    names = [word for word in options if word in shell.user_ns]
    if not names:
        unknown = f"there is no variable {options[0]!r}: " if options and options[0].isidentifier() else ""
        print(f"%autograph: {unknown}name the tensors to show, as in `%autograph loss`.", file=sys.stderr)
        return
    tensors = ", ".join(f"{name!r}: {name}" for name in names)
    try:
        graph = shell.ev(f"__import__('autograph_cli').capture({{{tensors}}})")
    except (AutographError, GraphError, TypeError) as error:
        print(f"%autograph: {error}", file=sys.stderr)
        return
    _display(Trace("cell", (Step(0, graph),), 1), [word for word in options if word not in names])


def _display(trace: Trace, options: list[str]) -> None:
    notebook: Any = importlib.import_module("IPython.display")
    if not {"-f", "--format"} & {word.partition("=")[0] for word in options}:
        options = [*options, "-f", "html"]
    with temporary_folder() as folder:
        file = store.save(trace, Path(folder, "cell.json"))
        pictures = Path(folder, "pictures")
        pictures.mkdir()
        if not _render([str(file), *options, "-o", f"{pictures}/"]):
            return
        for picture in sorted(pictures.iterdir(), key=lambda path: path.stat().st_mtime_ns):
            data = picture.read_bytes()
            if picture.suffix == ".svg":
                notebook.display(notebook.SVG(data=data.decode()))
            elif picture.suffix == ".png":
                notebook.display(notebook.Image(data=data))
            elif picture.suffix == ".html":
                with warnings.catch_warnings():  # IPython would have an IFrame, which cannot be given a page
                    warnings.simplefilter("ignore", UserWarning)
                    notebook.display(notebook.HTML(in_frame(data.decode())))
            else:
                print(data.decode(errors="replace"))


def _asked(options: list[str]) -> dict[str, Any]:
    """What the options ask for; wrong ones are for the drawing to tell."""
    try:
        return render.make_context("%%autograph", list(options), resilient_parsing=True).params
    except AutographError:
        return {}


def _render(options: list[str]) -> bool:
    try:
        # What it says of files is of no use here: they are gone at once.
        with contextlib.redirect_stderr(None), contextlib.redirect_stdout(None):
            render.main(options, prog_name="%%autograph", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code == 0
    except click.ClickException as error:
        print(f"%%autograph: {error.format_message()}", file=sys.stderr)
        return False
    except (AutographError, GraphError) as error:
        print(f"%%autograph: {error}", file=sys.stderr)
        return False
    return True


def _record(shell: Any, cell: str, beside: tuple[str, ...], engine: Connect, *, served: bool) -> Trace:
    from autograph_cli.record.recorder import Recorder  # the engine: not before a cell asks

    recorder = Recorder("first,last", "cell", record=beside, engine=engine)
    with imports.serve() if served else contextlib.nullcontext():
        recorder.start()
        try:
            _execute(shell, cell)
        finally:
            trace = recorder.finish({k: v for k, v in shell.user_ns.items() if not k.startswith("_")})
    return trace


def _execute(shell: Any, cell: str) -> None:
    """Run the cell in the shell's namespace; the value of a last line that is an expression is displayed."""
    source = shell.transform_cell(cell)
    name = f"<cell {next(_cells)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), shell.user_ns)
    if isinstance(last, ast.Expr) and not source.rstrip().endswith(";"):
        shell.displayhook(eval(compile(ast.Expression(last.value), name, "eval"), shell.user_ns))
    elif isinstance(last, ast.Expr):
        exec(compile(ast.Module([last], []), name, "exec"), shell.user_ns)
