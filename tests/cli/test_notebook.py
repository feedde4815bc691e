"""The cell magic in a real IPython shell."""

import builtins
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli import AutographError, record
from autograph_cli.engines import connect
from autograph_cli.record.graphs import pytorch
from autograph_cli.record.run.imports import EngineFinder
from tests.export.pages import data_of

IPython = pytest.importorskip("IPython")

CELL = """
import torch
x = torch.ones(3, requires_grad=True)
loss = (torch.tanh(x) ** 2).sum()
loss.backward()
loss.item()
"""


class Shell:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        InteractiveShell.clear_instance()
        self.shell = InteractiveShell.instance(history_load_length=0)
        self.shown: list[Any] = []
        monkeypatch.setattr("IPython.display.display", self.shown.append)
        self.shell.run_line_magic("load_ext", "autograph_cli")

    def cell(self, options: str, code: str) -> None:
        self.shell.run_cell_magic("autograph", options, code)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    """A shell of the test's own; what it and the extension leave in the process is taken back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    modules, finders, hooks = dict(sys.modules), sys.meta_path[:], (sys.displayhook, sys.excepthook)
    names = set(vars(builtins))
    with connect("builtin").kept():
        notebook = Shell(monkeypatch)
        yield notebook
    notebook.shell.history_manager.end_session()
    thread = notebook.shell.history_manager.save_thread
    if thread is not None:
        thread.stop()
    for finder in sys.meta_path:
        if isinstance(finder, EngineFinder) and finder not in finders:
            finder.close()
    sys.meta_path[:], (sys.displayhook, sys.excepthook) = finders, hooks
    for name in set(vars(builtins)) - names:
        delattr(builtins, name)
    served = ("__main__",) if pytorch.is_loaded() else ("__main__", "torch")  # PyTorch is imported once in a process
    for name in [name for name in sys.modules if name.partition(".")[0] in served]:
        del sys.modules[name]
    sys.modules.update({name: module for name, module in modules.items() if name not in sys.modules})


def test_a_cell_is_run_and_its_graph_is_shown(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.cell("", CELL)
    (picture,) = shell.shown
    assert "tanh" in picture.data
    assert "loss" in shell.shell.user_ns
    assert "1.74" in capsys.readouterr().out


@pytest.mark.parametrize(("line", "project"), [("--engine torch", "builtin"), ("", "torch")])
def test_a_cell_that_asks_for_a_pytorch_that_is_not_there_says_so(
    shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str, project: str
) -> None:
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("PyTorch is installed")
    (tmp_path / "pyproject.toml").write_text(f'[tool.autograph]\nengine = "{project}"\n')
    shell.cell(line, CELL)
    assert capsys.readouterr().err.startswith("%%autograph: PyTorch is not installed here: ")
    shell.cell("--engine builtin", CELL)
    assert len(shell.shown) == 1


def test_a_cell_shows_a_page_that_reaches_nothing_around_it(shell: Shell) -> None:
    shell.cell("", CELL)
    (shown,) = shell.shown
    assert shown.data.startswith('<iframe title="autograph" sandbox="allow-scripts allow-downloads" srcdoc="')
    assert "allow-same-origin" not in shown.data and "<script" not in shown.data and "&lt;script" in shown.data


def test_tensors_are_shown_by_name(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.cell("-f text", CELL.replace("loss.backward()", "").replace("loss.item()", ""))
    shell.shell.run_line_magic("autograph", "--backward loss")
    assert "TanhBackward0" in shell.shown[0].data and "&quot;first&quot;:&quot;backward&quot;" in shell.shown[0].data
    shell.shell.run_line_magic("autograph", "nobody")
    told = "%autograph: there is no variable 'nobody': name the tensors to show"
    assert capsys.readouterr().err.startswith(told) and len(shell.shown) == 1


def test_a_trace_shows_itself(shell: Shell) -> None:
    import autograph_cli.export
    from autograph_cli.graph import Trace

    shell.shell.run_cell(
        "import autograph_cli\nimport torch\nwith autograph_cli.record() as made:\n"
        "    x = torch.ones(3, requires_grad=True)\n    loss = (x * 2).sum()\n    loss.backward()"
    )
    for shown in (shell.shell.user_ns["made"], shell.shell.user_ns["made"].trace):
        assert shown._repr_html_().startswith("<iframe")
    assert autograph_cli.export.notebook_html(Trace("empty.py")) is None


def test_a_block_in_a_cell_shows_what_it_made_and_not_what_cells_before_made(shell: Shell) -> None:
    shell.shell.run_cell(
        "import autograph_cli\nimport torch\nx = torch.ones(3, requires_grad=True)\nold = (x * 3).sum()"
    )
    shell.shell.run_cell("with autograph_cli.record() as made:\n    loss = (x ** 2).sum()", store_history=True)
    made = shell.shell.user_ns["made"]
    assert [node.op or node.kind for node in made.step.graph] == ["leaf", "pow", "sum"]
    assert [root.name for root in made.step.graph.roots] == ["loss"]
    assert made.trace.script == made.step.graph[1].source.file == "In[1]"


def test_a_block_shows_what_of_older_graphs_its_own_hangs_on_or_differentiates(shell: Shell) -> None:
    shell.shell.run_cell(
        "import autograph_cli\nimport torch\nx = torch.ones(3, requires_grad=True)\nold = (x * 3).sum()"
    )
    shell.shell.run_cell("with autograph_cli.record() as on:\n    new = old.exp()")
    shell.shell.run_cell("with autograph_cli.record() as through:\n    old.backward()")
    for name, ops, root in (("on", ["leaf", "mul", "sum", "exp"], "new"), ("through", ["leaf", "mul", "sum"], "old")):
        graph = shell.shell.user_ns[name].step.graph
        assert ([node.op or node.kind for node in graph], [each.name for each in graph.roots]) == (ops, [root])


def test_no_line_of_ipython_is_a_source_line(shell: Shell) -> None:
    shell.cell("", "import torch\nx = torch.ones(3, requires_grad=True)\nloss = (x ** 2).sum()")
    assert "loss = (x" in shell.shown[0].data and "interactiveshell" not in shell.shown[0].data


def test_options_are_those_of_render(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.cell("--backward --double-backward -f svg", CELL)
    assert ["TanhBackward0" in picture.data for picture in shell.shown] == [True, True]
    shell.cell("-f text", CELL)
    assert "x: float32[3]" in capsys.readouterr().out


@pytest.mark.parametrize("options", ["--show values,formula,time", "--backward --inside PowBackward0"])
def test_what_is_shown_of_a_cell_is_recorded_by_itself(shell: Shell, options: str) -> None:
    shell.cell(options, CELL)
    if "--inside" in options and pytorch.is_loaded():
        pytest.skip("PyTorch does not tell what the backward of a node is made of")
    assert len(shell.shown) == 1


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [("--shade", CELL, "No such option"), ("", "1 + 1", "built no graph"), ("--root nobody", CELL, "nobody")],
)
def test_what_is_wrong_is_said_in_a_sentence(
    shell: Shell, capsys: pytest.CaptureFixture[str], options: str, code: str, sentence: str
) -> None:
    shell.cell(options, code)
    told = capsys.readouterr().err
    assert sentence in told
    assert "Traceback" not in told
    assert shell.shown == []


def test_a_cell_that_is_no_python_is_told_without_a_way_to_it(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.cell("", "x = = 2")
    told = "".join(capsys.readouterr())
    assert "invalid syntax" in told
    assert "notebook.py" not in told
    assert shell.shown == []


def test_what_a_cell_raises_is_raised_and_the_next_cell_runs(shell: Shell) -> None:
    with pytest.raises(ZeroDivisionError):
        shell.cell("", "1 / 0")
    shell.cell("", CELL)
    assert len(shell.shown) == 1


def test_where_pytorch_is_loaded_the_cell_uses_it(shell: Shell) -> None:
    torch = pytest.importorskip("torch")
    shell.shell.user_ns["torch"] = torch
    shell.cell("--backward", CELL)
    assert isinstance(shell.shell.user_ns["loss"], torch.Tensor)
    assert "TanhBackward0" in shell.shown[0].data


CELLS = {
    "%load_ext autograph_cli\nimport autograph_cli, autograph_cli.export, torch": [],
    "with autograph_cli.record() as made:\n    x = torch.ones(3, requires_grad=True)\n    loss = (x ** 2).sum()\nmade": [
        "image/svg+xml",
        "text/html",
        "text/plain",
    ],
    f"%%autograph --backward\n{CELL.replace('loss.item()', '')}": ["text/html", "text/plain"],
    f"%%autograph -f svg\n{CELL.replace('loss.item()', '')}": ["image/svg+xml", "text/plain"],
    "%autograph loss": ["text/html", "text/plain"],
}
"""Cells of a notebook, and the types that their outputs have."""


def test_a_kernel_sends_pages_and_pictures() -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(notebook, timeout=300).execute()
    assert [sorted(out["data"]) for cell in notebook.cells for out in cell.outputs] == [*filter(None, CELLS.values())]


LIVE = """
import autograph_cli, autograph_cli.torch as torch
x = torch.ones(3, requires_grad=True)
with autograph_cli.record(live=True, record={"values"}) as made:
    for turn in range(3):
        (x * turn).pow(2).sum().backward()
made
"""


def test_a_live_recording_shows_one_page_that_follows_the_run(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The widget of a notebook is anywidget's; here one that keeps all that it is given takes its place."""
    pages: list[str] = []

    class Widget:
        def __setattr__(self, name: str, value: str) -> None:
            pages.append(value)

    monkeypatch.setattr("autograph_cli.widget._widget", Widget)
    monkeypatch.setattr("autograph_cli.widget.OFTEN", 0.0)
    monkeypatch.setattr("autograph_cli.widget.SHARE", 0)
    shell.shell.run_cell(LIVE)
    assert [type(each) for each in shell.shown] == [Widget], "one picture, and none of the recording itself"
    assert pages[1::2] == ["1 step", "2 steps", "3 steps", "3 steps"]
    for page, step in zip(pages[::2], (1, 2, 3, 3), strict=True):
        assert data_of(page)["steps"][-1]["n"] == step
    made = shell.shell.user_ns["made"]
    code = LIVE.replace("live=True, ", "").replace("made\n", "quiet\n").replace("as made", "as quiet")
    shell.shell.run_cell(code)
    quiet = shell.shell.user_ns["quiet"]
    assert [step.graph.to_text(details=True) for step in made.trace.steps] == [
        step.graph.to_text(details=True) for step in quiet.trace.steps
    ]


def test_a_live_recording_needs_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AutographError, match=r"pip install 'autograph-cli\[notebook\]'|no notebook runs this"):
        record(live=True)
