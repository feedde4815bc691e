"""The pytest plugin, in sessions of its own: stored, compared, updated, unused, and under workers."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import AssertionRewriter

import autograph_cli
import autograph_cli.export.comparison
import autograph_cli.testing.fixture
import autograph_cli.torch  # imported before the sessions, which put back what they import
from tests.conftest import Run

Session = Callable[..., str]
INSTALLED = any(
    entry.value == "autograph_cli.testing.plugin" for entry in importlib.metadata.entry_points(group="pytest11")
)
PLUGIN = [] if INSTALLED else ["-p", "autograph_cli.testing.plugin"]
TESTS = """
import pytest
from autograph_cli import capture, torch


@pytest.fixture
def w():
    return torch.ones(3, requires_grad=True)


def test_loss(graph_snapshot, w):
    loss = torch.tanh(w * 2).sum()
    assert graph_snapshot == loss
    assert graph_snapshot.forward == loss
    assert graph_snapshot.backward == loss
    assert graph_snapshot.double_backward == loss
    assert graph_snapshot("both") == [loss, w.exp()]


@pytest.mark.parametrize("size", [2, 3])
def test_sizes(graph_snapshot, size):
    w = torch.ones(size, requires_grad=True)
    assert graph_snapshot == capture(lambda: w * w)
    assert graph_snapshot == (lambda: w + w)
"""


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Run pytest on `test_model.py` within this process, outside of CI unless told otherwise; gives what it printed."""
    pytester.makepyfile(test_model=TESTS)

    def run(*args: str, ci: str = "", code: int = 0) -> str:
        monkeypatch.setenv("CI", ci)
        result = pytester.runpytest_inprocess(
            *PLUGIN, "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *args
        )
        text = "\n".join(result.outlines)
        assert result.ret == code, text
        return text

    return run


def kept(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / "__graphs__" / "test_model").iterdir())}


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "test_model.py"
    path.write_text(path.read_text().replace(old, new))


def test_snapshots_are_written_compared_reviewed_and_accepted(session: Session, pytester: pytest.Pytester) -> None:
    assert "9 written" in session()
    files = kept(pytester.path)
    assert list(files) == [
        "test_loss.backward.graph.txt",
        "test_loss.both.graph.txt",
        "test_loss.double_backward.graph.txt",
        "test_loss.forward.graph.txt",
        "test_loss.graph.txt",
        "test_sizes[2].2.graph.txt",
        "test_sizes[2].graph.txt",
        "test_sizes[3].2.graph.txt",
        "test_sizes[3].graph.txt",
    ]
    edit(pytester.path, "torch.tanh(w * 2)", "torch.tanh(w * 2).relu()")
    failed = session(ci="true", code=1)
    assert "the graph differs from __graphs__/test_model/test_loss.graph.txt" in failed
    assert "forward gained a `relu` (test_model.py:11), on `tanh`" in failed
    assert "+ %relu: float32[3] = relu(%tanh)  grad_fn ReluBackward0" in failed
    picture = Path(failed.split("side by side: ")[1].splitlines()[0])
    assert picture.read_text().count("<svg ") == 3
    assert kept(pytester.path) == files
    assert "5 updated" in session("--graph-update")
    session(ci="true")


def test_two_of_one_name_are_refused(session: Session, pytester: pytest.Pytester) -> None:
    edit(pytester.path, '"both") == [', '"both").forward == loss\n    assert graph_snapshot(name="both") == [')
    assert "10 written" in session()
    edit(pytester.path, '"both").forward == loss', '"both") == [loss, w.exp()]')
    assert "ValueError: There are two snapshots of the name 'both' in this test." in session(code=1)


def test_a_missing_snapshot_fails_in_ci(session: Session, pytester: pytest.Pytester) -> None:
    failed = session("-k", "sizes", ci="true", code=1)
    assert "graph_snapshot: there is no " in failed
    assert not list((pytester.path / "__graphs__" / "test_model").iterdir())


def test_unused_snapshots_are_told_and_removed_with_an_update(session: Session, pytester: pytest.Pytester) -> None:
    session()
    folder = pytester.path / "__graphs__" / "test_model"
    (folder / "test_gone.graph.txt").write_text("old")
    (folder / "test_loss.9.graph.txt").write_text("old")
    (pytester.path / "__graphs__" / "test_old").mkdir()
    (pytester.path / "__graphs__" / "test_old" / "test_x.graph.txt").write_text("old")
    part = session("-k", "sizes")
    assert "test_gone" not in part
    told = session()
    assert [line for line in told.splitlines() if line.startswith("unused")] == [
        "unused: __graphs__/test_model/test_gone.graph.txt",
        "unused: __graphs__/test_model/test_loss.9.graph.txt",
        "unused: __graphs__/test_old/test_x.graph.txt",
    ]
    assert "removed: __graphs__/test_model/test_gone.graph.txt" in session("--graph-update")
    assert len(kept(pytester.path)) == 9


INLINE = """
from autograph_cli import torch


def test_loss(graph_snapshot):
    w = torch.ones(3, requires_grad=True)
    assert graph_snapshot(torch.tanh(w * 2).sum()) == ""
    assert graph_snapshot(w.exp()) == ''; assert graph_snapshot(name="named") == w.sin()
"""


def test_texts_in_tests_are_filled_in(session: Session, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_model=INLINE)
    assert "the text is empty; fill it in with: pytest --graph-update" in session(code=1)
    assert "2 filled in, in the tests themselves" in session("--graph-update")
    text = (pytester.path / "test_model.py").read_text()
    assert (
        '== """\n        order 0\n          leaf w: float32[3]  with values=1\n          %mul: float32[3] = mul(w)'
        in text
    )
    assert list(kept(pytester.path)) == ["test_loss.named.graph.txt"]
    session(ci="true")
    edit(pytester.path, "torch.tanh", "torch.cosh")
    failed = session(code=1)
    assert "`tanh` became `cosh`" in failed and "the graph differs from test_model.py" in failed
    assert "1 filled in" in session("--graph-update")
    session()


def test_workers_send_home_what_they_used(session: Session, pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    assert "9 written" in session()
    (pytester.path / "__graphs__" / "test_model" / "test_gone.graph.txt").write_text("old")
    assert [line for line in session("-n", "2").splitlines() if "unused" in line] == [
        "unused: __graphs__/test_model/test_gone.graph.txt"
    ]


def test_on_request_the_engine_is_what_tests_and_their_models_import(python: Run, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import torch\n")
    (tmp_path / "model.py").write_text("import torch\nnet = torch.nn.Linear(3, 2)\n")
    (tmp_path / "test_model.py").write_text(
        "import torch\nfrom model import net\n\ndef test_net(graph_snapshot):\n    assert 'autograph' in torch.__version__\n"
        "    assert graph_snapshot == net(torch.ones(4, 3)).sum()\n"
    )
    result = python(
        "-m", "pytest", *PLUGIN, "--graph-engine", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", CI=""
    )
    assert "1 passed" in result.stdout, result.stdout
    assert "leaf net.weight: float32[2, 3]" in kept(tmp_path)["test_net.graph.txt"]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_tensors_of_pytorch_are_compared_too(python: Run, tmp_path: Path) -> None:
    (tmp_path / "test_model.py").write_text(
        "import torch\n\ndef test_real(graph_snapshot):\n    model = torch.nn.Linear(3, 2)\n"
        "    loss = model(torch.ones(4, 3)).tanh().sum()\n    assert graph_snapshot == loss\n"
        "    assert graph_snapshot.double_backward == loss\n"
    )
    options = ["-m", "pytest", *PLUGIN, "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    assert python(*options, CI="").returncode == 0
    assert "leaf model.weight: float32[2, 3]" in kept(tmp_path)["test_real.graph.txt"]
    edit(tmp_path, ".tanh()", ".sigmoid()")
    assert "`tanh` became `sigmoid`" in python(*options, CI="").stdout


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_on_request_pytorch_is_recorded_while_a_test_runs(python: Run, tmp_path: Path) -> None:
    (tmp_path / "test_model.py").write_text(
        "import torch\n\ndef test_real(graph_snapshot):\n    model = torch.nn.Linear(3, 2)\n"
        "    loss = (model(torch.ones(4, 3)) * torch.ones(2)).sum()\n    assert graph_snapshot == loss\n"
        "    assert graph_snapshot.double_backward == loss\n"
    )
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    result = python("-m", "pytest", *PLUGIN, "--graph-engine", "torch", *options, CI="")
    assert "1 passed" in result.stdout, result.stdout
    text = kept(tmp_path)["test_real.graph.txt"]
    assert "mul(%addmm, %input_2)" in text  # what has no gradient too


MASKED = """
import torch


def test_masked(graph_snapshot):
    w = torch.ones(3, requires_grad=True)
    mask = torch.tril(torch.ones(3, 3), diagonal=0)
    loss = (w * mask).sum()
    assert graph_snapshot == loss
    assert graph_snapshot.double_backward == (w**3).sum()
    assert graph_snapshot(loss) == ""
    assert graph_snapshot(name="module") == Twice()(w).sum()


class Twice(torch.nn.Module):
    def forward(self, x):
        return x * 2.0
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("tril", "triu", "`tril` became `triu` (test_model.py:6)"),
        ("diagonal=0", "diagonal=1", "`tril` (test_model.py:6) is called with diagonal=1"),
        ("torch.ones(3, 3)", "torch.full((3, 3), 2.0)", "was 1 and is 2"),
        ("torch.ones(3, requires", "torch.zeros(3, requires", "leaf `w` was 1 and is 0"),
        ("(w * mask)", "(mask * w)", ""),
        ("x * 2.0", "x * 3.0", "`Twice` `mul`"),  # pytest keeps it in a variable of its own
    ],
)
def test_with_the_engine_the_data_path_is_held_as_the_command_holds_it(
    session: Session, pytester: pytest.Pytester, old: str, new: str, told: str
) -> None:
    pytester.makepyfile(test_model=MASKED)
    session("--graph-engine", "--graph-update")
    filled = Path("test_model.py")
    text = filled.read_text()
    assert text.count("untracked") == 1 and "mask: float32[3, 3] = tril(%input)  untracked" in text
    session("--graph-engine")
    filled.write_text(text.replace(old, new, 1))
    assert told in session("--graph-engine", ci="1", code=bool(told))


@pytest.mark.parametrize("import_", ["import torch", "from autograph_cli import torch"])
def test_without_the_option_the_engine_that_a_test_imports_is_recorded(
    python: Run, tmp_path: Path, import_: str
) -> None:
    if import_ == "import torch" and importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    file, options = tmp_path / "test_model.py", [*PLUGIN, "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    file.write_text(PLAIN.replace("import torch", import_, 1))
    assert "3 passed" in python("-m", "pytest", *options, CI="").stdout
    assert "3 passed" in python("-m", "pytest", *options, CI="1").stdout, "numbers of other runs are not compared"
    for old, new, _ in CHANGED:
        file.write_text(file.read_text().replace(old, new, 1))
    told = python("-m", "pytest", *options, CI="1").stdout
    assert [said for *_, said in CHANGED if said not in told] == [], told


PLAIN = """
import torch

DATA, ONES = torch.randn(4, 3), torch.ones(3)


def test_masked(graph_snapshot):
    w = torch.ones(3, requires_grad=True)
    out = (w * DATA * ONES).masked_fill(torch.tril(torch.ones(4, 3)) == 0, -7.0)
    out = torch.nn.functional.layer_norm(out, (3,), eps=1e-5)
    assert graph_snapshot == (out * torch.tensor([1.0, 2.0, 3.0])).sum()


def test_trained(graph_snapshot):
    w = torch.ones(3, requires_grad=True)

    def step():
        (w * 2.0).topk(2, largest=True).values.sum().backward()

    assert graph_snapshot == step


def test_drawn(graph_snapshot):
    w = torch.ones(3, requires_grad=True)
    loss = torch.dropout(w, 0.25, True).sum()
    loss.backward()
    assert graph_snapshot == loss
"""
CHANGED = [
    ("-7.0", "-8.0", "`masked_fill` (test_model.py:9) is called with value=-8, not value=-7"),
    ("torch.ones(3)", "torch.zeros(3)", "input `ONES` (test_model.py:9) was 1 and is 0"),
    ("tril", "triu", "`tril` became `triu` (test_model.py:9)"),
    ("eps=1e-5", "eps=1e-3", "is called with eps=0.001, not eps=1e-05"),
    ("[1.0, 2.0", "[1.0, 5.0", "was [1, 2, 3] and is [1, 5, 3]"),
    ("largest=True", "largest=False", "`topk` (test_model.py:18) is called with largest=False"),
    ("0.25", "0.5", " and is drawn by bernoulli(p=0.5)"),
]


def test_one_that_holds_less_is_compared_by_what_it_holds(session: Session, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_model=MASKED.replace('    assert graph_snapshot(loss) == ""\n', ""))
    pytester.makepyprojecttoml('[tool.autograph]\ninclude = ["names", "shapes", "dtypes"]')
    session("--graph-engine")
    pytester.makepyprojecttoml("")
    session("--graph-engine", ci="1")
    assert "updated" in session("--graph-engine", "--graph-update")


def test_pytest_does_not_warn_of_the_package_where_it_was_imported_before() -> None:
    assert AssertionRewriter.is_rewrite_disabled(autograph_cli.__doc__ or "")
