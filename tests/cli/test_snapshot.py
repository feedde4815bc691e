"""`autograph snapshot` writes, compares and accepts; each script runs in a process of its own."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from autograph_cli.graph import Trace
from autograph_cli.testing import recording
from autograph_cli.testing.recording import Recording, RecordingError
from tests.cli.test_explain import SARIF
from tests.conftest import Run

Cli = Callable[..., Result]
SCRIPT = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = torch.tanh(w).sum()\nloss.backward()\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "pyproject.toml").write_text("[tool.autograph]\n")
    return tmp_path


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, trace: Trace) -> dict[str, Trace | str]:
    """Stands in for running scripts: the trace of each, by name, or how it fails."""
    found: dict[str, Trace | str] = {}

    def record(script: Path, *_: object, **__: object) -> Recording:
        what = found.get(script.name, trace)
        if isinstance(what, str):
            raise RecordingError(f"{script.name} failed: {what}")
        return Recording(what)

    monkeypatch.setattr(recording, "record", record)
    return found


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()


def without_roots(trace: Trace) -> Trace:
    from msgspec.structs import replace

    step = trace.steps[0]
    node = replace(step.graph[2], op="div", name="DivBackward0")
    return replace(trace, steps=(replace(step, graph=replace(step.graph, nodes=(*step.graph.nodes[:2], node))),))


def test_a_script_is_run_written_changed_told_and_accepted(autograph: Run, tmp_path: Path) -> None:
    script = tmp_path / "expr.py"
    script.write_text(SCRIPT)
    first = autograph("snapshot", "expr.py")
    assert (first.returncode, first.stdout) == (0, "expr.graph.txt: written\n1 snapshot: 1 written\n")
    script.write_text(SCRIPT.replace("torch.tanh(w)", "torch.tanh(w).relu()"))
    checked = autograph("snapshot", "--check", "expr.py")
    assert checked.returncode == 1
    assert "  forward gained a `relu` (expr.py:3), on `tanh`\n" in checked.stdout
    assert "  + %relu: float32[3] = relu(%tanh)  grad_fn ReluBackward0\n" in checked.stdout
    assert checked.stdout.endswith("1 snapshot: 1 different\naccept with: autograph snapshot --update expr.py\n")
    assert autograph("snapshot", "--update", "expr.py").returncode == 0
    assert autograph("snapshot", "--check", "expr.py").stdout == "1 snapshot: 1 the same\n"


def test_values_and_formulas_are_kept_on_request(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(SCRIPT)
    assert autograph("snapshot", "--include", "names,values,formulas", "expr.py").returncode == 0
    text = (tmp_path / "expr.graph.txt").read_text()
    assert "[values]\n  w.grad = [0.419974, 0.419974, 0.419974]\n  loss = [2.28478]\n" in text
    assert "  tanh = self: f.tanh_backward(grad, result)\n" in text


def test_a_script_that_fails_is_trouble_and_its_snapshot_stays(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text("raise ValueError('no')\n")
    (tmp_path / "expr.graph.txt").write_text("kept")
    done = autograph("snapshot", "--update", "expr.py")
    assert (done.returncode, (tmp_path / "expr.graph.txt").read_text()) == (2, "kept")
    assert done.stdout == "expr.py: failed: ValueError: no\n1 snapshot: 1 failed\n"


def test_folders_and_patterns_stand_for_scripts(cli: Cli, made: object, tmp_path: Path) -> None:
    touch(tmp_path, "a.py", "b.py", "inner/c.py", "inner/_d.py", "inner/test_e.py", ".venv/f.py")
    assert "3 snapshots: 3 written" in cli("snapshot", ".").stdout
    assert "2 snapshots: 2 the same" in cli("snapshot", "?.py").stdout
    assert "1 snapshot: 1 the same" in cli("snapshot", "inner/c.graph.txt").stdout


def test_without_names_the_settings_say_which(cli: Cli, made: object, project: Path) -> None:
    touch(project, "a.py", "b.py")
    assert cli("snapshot").exit_code == 2
    (project / "pyproject.toml").write_text('[tool.autograph]\nfiles = ["*.py"]\nexclude = ["b.py"]\n')
    assert "a.graph.txt: written\n1 snapshot: 1 written\n" in cli("snapshot").stdout
    assert "0 snapshots\n" in cli("snapshot", "--known", "b.py").stdout
    assert "1 snapshot: 1 the same\n" in cli("snapshot", "--known").stdout


@pytest.mark.parametrize("ci", ["true", ""])
def test_what_is_missing_is_an_error_and_not_written(
    cli: Cli, made: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    touch(tmp_path, "a.py")
    monkeypatch.setenv("CI", ci)
    result = cli("snapshot", "--check", "a.py")
    assert (result.exit_code, (tmp_path / "a.graph.txt").exists()) == (2, False)
    assert "a.py: there is no a.graph.txt; write it with: autograph snapshot a.py" in result.stdout


def test_a_snapshot_is_checked_as_it_was_made(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    script = tmp_path / "package" / "train.py"
    script.write_text(f"from . import other\nimport torch\n{SCRIPT}")
    (tmp_path / "package" / "other.py").touch()
    options = ("--include", "names,lines", "--view", "backward", "--steps", "all")
    assert autograph("snapshot", "-m", "package.train", *options).returncode == 0
    head = (tmp_path / "package" / "train.graph.txt").read_text().splitlines()[:5]
    assert head[1:] == ["holds names, lines", "steps 1", "module package.train", "kept all"]
    assert autograph("snapshot", "--check", "--known").returncode == 0
    assert autograph("snapshot", "--check", "-m", "package.train").returncode == 0
    script.write_text(script.read_text().replace("tanh", "relu"))
    changed = autograph("snapshot", "--check", "-m", "package.train")
    assert changed.returncode == 1
    assert changed.stdout.endswith("accept with: autograph snapshot --update -m package.train\n")
    updated = autograph("snapshot", "--update", "--include", "names,shapes,lines", "--known")
    assert "  it holds shapes now\n" in updated.stdout


def test_what_is_no_difference_is_told_on_request(autograph: Run, tmp_path: Path) -> None:
    script = tmp_path / "sums.py"
    lines = "import torch\nw = torch.ones(3, requires_grad=True)\na = w.exp().sum()\nb = w.sin().sum()\n"
    script.write_text(f"{lines}loss = a + 0.1 * b\nloss.backward()\n")
    assert autograph("snapshot", "sums.py").returncode == 0
    script.write_text(f"{lines}total = 0.1 * b + a\ntotal.backward()\n")
    checked = autograph("snapshot", "--check", "-v", "sums.py")
    assert (checked.returncode, checked.stdout.count("\n")) == (0, 3)
    assert "the terms of a sum, or the factors of a product, are in another order\n" in checked.stdout
    assert "  `loss` is called `total` now\n" in checked.stdout


def test_data_that_is_not_the_same_in_each_run_is_not_compared(autograph: Run, tmp_path: Path) -> None:
    script = tmp_path / "loose.py"
    lines = "import os\nimport torch\nx = torch.tensor(list(os.urandom(8))) / 255\n"
    script.write_text(lines + SCRIPT.replace("(w)", "(w * x[:3])"))
    assert autograph("snapshot", "loose.py").returncode == 0
    checked = autograph("snapshot", "--check", "-v", "loose.py")
    assert checked.returncode == 0
    assert "step 1: 1 input is not the same in each run, and not compared" in checked.stdout


def test_one_summary_for_all_and_reports_for_machines(
    cli: Cli, made: dict[str, Trace | str], trace: Trace, tmp_path: Path
) -> None:
    touch(tmp_path, "a.py", "b.py", "c.py")
    cli("snapshot", "a.py", "b.py", "c.py")
    made["b.py"], made["c.py"] = without_roots(trace), "ValueError: 100% no"
    result = cli("snapshot", "--check", "-j", "3", "--github", "--junit", "out.xml", "--sarif", "out.sarif", ".")
    assert result.exit_code == 2
    assert "3 snapshots: 1 the same, 1 different, 1 failed" in result.stdout
    lines = [line for line in result.stdout.splitlines() if line.startswith("::error")]
    assert lines == [
        "::error file=b.py,title=autograph snapshot::`mul` became `div` (expr.py:5)".replace("b.py", "expr.py,line=5"),
        "::error file=c.py,title=autograph snapshot::c.py failed: ValueError: 100%25 no",
    ]
    suite = ET.parse(tmp_path / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [[child.tag for child in case] for case in suite.iter("testcase")] == [[], ["failure"], ["error"]]
    assert not list(_wrong_in_junit(ET.parse(tmp_path / "out.xml").getroot()))
    log = json.loads((tmp_path / "out.sarif").read_text("utf-8"))
    pytest.importorskip("jsonschema").validate(log, SARIF)
    (run,) = log["runs"]
    assert [each["ruleId"] for each in run["results"]] == ["snapshot-different", "snapshot-failed"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["snapshot-different", "snapshot-failed"]
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert places == [
        {"artifactLocation": {"uri": "expr.py"}, "region": {"startLine": 5}},
        {"artifactLocation": {"uri": "c.py"}},
    ]


COUNT, SECONDS, WORDS = r"\d+", r"\d+\.\d+", r"(?s).+"
JUNIT: dict[str, tuple[dict[str, str], str]] = {
    "testsuites": ({}, "(testsuite )*"),
    "testsuite": (
        {"name": WORDS, "package": WORDS, "hostname": WORDS, "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"}
        | dict.fromkeys(("id", "tests", "failures", "errors"), COUNT) | {"time": SECONDS},
        "properties (testcase )*system-out system-err ",
    ),
    "testcase": ({"name": WORDS, "classname": WORDS, "time": SECONDS}, "(failure |error )?"),
    "failure": ({"type": WORDS, "message": WORDS}, ""),
    "error": ({"type": WORDS, "message": WORDS}, ""),
    **dict.fromkeys(("properties", "system-out", "system-err"), ({}, "")),
}  # fmt: skip
"""What the schema of Ant's reports asks for, and that of Jenkins with it: the attributes, and the elements in order."""


def _wrong_in_junit(element: ET.Element) -> Iterator[str]:
    attributes, inner = JUNIT[element.tag]
    yield from (name for name, form in attributes.items() if not re.fullmatch(form, element.get(name, "")))
    yield from element.attrib.keys() - attributes.keys()
    if not re.fullmatch(inner, "".join(f"{child.tag} " for child in element)):
        yield f"what is in {element.tag}"
    for child in element:
        yield from _wrong_in_junit(child)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.py"], "There is no file nothing.py"),
        (["--include", "names,colours", "."], "--include has 'colours', which is none of names"),
    ],
)
def test_a_request_that_makes_no_sense_is_trouble(cli: Cli, arguments: list[str], message: str) -> None:
    result = cli("snapshot", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_request_is_answered(tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(SCRIPT)
    asked = {"script": str(tmp_path / "expr.py"), "module": False, "arguments": [], "steps": "first", "extras": []}
    asked |= {"measured": [], "environment": {}, "engine": "builtin", "seed": None, "dtype": ""}
    assert json.loads(recording.answer(json.dumps(asked)))["exit_code"] == 0


MODEL = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
net(torch.ones(5, 3) * 2).square().mean().backward()
"""


def test_a_snapshot_of_one_module_holds_what_ran_in_it(autograph: Run, tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text(MODEL, "utf-8")
    made = autograph("snapshot", "--module", "0", "model.py", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "model.graph.txt").read_text("utf-8")
    assert "\nwithin 0\n" in text
    assert "tanh" not in text
    for before, after, code in (("nn.Tanh", "nn.GELU", 0), ("nn.Linear(3, 4)", "nn.Linear(3, 4, bias=False)", 1)):
        script.write_text(MODEL.replace(before, after), "utf-8")
        assert autograph("snapshot", "--check", "model.py", cwd=tmp_path).returncode == code
    accept = autograph("snapshot", "--check", "--module", "0", "model.py", cwd=tmp_path)
    assert "accept with: autograph snapshot --update --module 0 model.py" in accept.stdout
    assert (
        "There is no module 'encoder' here"
        in autograph("snapshot", "--update", "--module", "encoder", "model.py", cwd=tmp_path).stdout
    )


TWO_KINDS = """\
import torch

v, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
for turn in range(4):
    first = (v * 2).sum()
    first.backward()
    second = (w * v.detach()).sum()
    second.backward()
"""


@pytest.mark.parametrize(
    ("steps", "titles"),
    [
        ("second", "8"),
        ("train.py:6", "7"),
        ("last", "7 8"),
        ("first", "1 2"),
        ("first,second", "1 2 8"),
        ("3:5,train.py:8", "3 4 8"),
        ("third", "train.py: No step that was kept of train.py has a backward call on the line third, or a root"),
    ],
)
def test_steps_are_kept_by_kind_line_and_root(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, steps: str, titles: str
) -> None:
    (tmp_path / "train.py").write_text(TWO_KINDS)
    monkeypatch.chdir(tmp_path)
    done = cli("snapshot", "--steps", steps, "train.py")
    if not (tmp_path / "train.graph.txt").exists():
        assert done.exit_code == 2 and done.stdout.startswith(titles)
        return
    text = (tmp_path / "train.graph.txt").read_text()
    assert re.findall(r"^\[step (\d+)\]", text, re.MULTILINE) == titles.split() and f"\nkept {steps}\n" in text
    assert cli("snapshot", "--check", "train.py").exit_code == 0
