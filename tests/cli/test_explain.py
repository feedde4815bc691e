"""`autograph explain` prints findings in four formats, and `run` explains an exception below its traceback."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., subprocess.CompletedProcess[str]]

WRONG = "import torch\nw = torch.ones(3, requires_grad=True)\ne = torch.exp(w)\ne.mul_(2)\ne.sum().backward()\n"
RIGHT = "import torch\nw = torch.ones(3, requires_grad=True)\nw.exp().sum().backward()\n"


def test_a_failed_run_is_explained_below_its_traceback(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(WRONG)
    said = autograph("run", "expr.py").stderr
    traceback, _, rest = said.partition("autograph: ")
    assert "has been modified by an inplace operation" in traceback.splitlines()[-1]
    first, second, *_ = rest.splitlines()
    assert first == "AG002 expr.py:4: e, which a backward needs, was changed in place."
    assert second.endswith("More: autograph explain")
    told = autograph("explain")
    assert told.returncode == 1
    assert told.stdout.startswith(first)
    assert "exp at expr.py:3 saved e: float32[3] for its backward" in told.stdout


def test_an_error_of_the_script_is_not_explained(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(RIGHT + "raise ValueError('too small')\n")
    assert "AG" not in autograph("run", "expr.py").stderr
    told = autograph("explain")
    assert told.stdout == "expr.py failed, and no finding explains it: ValueError: too small\n"


def test_a_script_without_a_graph_is_explained(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text("import torch\nx = torch.ones(3)\nx.sum().backward()\n")
    assert "More: autograph explain expr.py" in autograph("run", "expr.py").stderr
    (tmp_path / "pack").mkdir()
    (tmp_path / "expr.py").rename(tmp_path / "pack" / "one.py")
    assert "More: autograph explain pack/one.py" in autograph("run", "pack/one.py").stderr.replace("\\", "/")
    assert "More: autograph explain -m pack.one" in autograph("run", "-m", "pack.one").stderr
    (tmp_path / "pack" / "one.py").rename(tmp_path / "expr.py")
    assert autograph("explain", "expr.py").stdout.startswith("AG004 expr.py:3: ")


def test_a_module_is_read_where_its_package_is(autograph: Run, tmp_path: Path) -> None:
    """And not for a script of the same name in the working directory."""
    (tmp_path / "pack").mkdir()
    (tmp_path / "train.py").write_text("raise SystemExit\n")
    left = "left = torch.nn.Linear(2, 2)\nopt = torch.optim.SGD([w, *left.parameters()], lr=0.1)\n"
    steps = "for step in range(2):\n    w.exp().sum().backward()\n    opt.step()\n    opt.zero_grad()\n"
    (tmp_path / "pack" / "train.py").write_text("\n".join([*RIGHT.splitlines()[:2], left + steps]))
    told = autograph("explain", "-m", "pack.train").stdout
    assert told.startswith("AG201 pack/train.py:3: left.weight, left.bias never get a gradient")
    leaves = "import torch\nw, v = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))\n"
    cut = "with torch.no_grad():\n    h = w.exp()\nloss = (h * v).sum()\nloss.backward()\n"
    (tmp_path / "pack" / "cut.py").write_text(leaves + cut)
    assert "`h = w.exp()`: torch.no_grad(), of w" in autograph("why", "-m", "loss", "w", "pack.cut").stdout


def test_nothing_found(cli: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text(RIGHT)
    result = cli("explain", "expr.py")
    assert (result.exit_code, result.stdout) == (0, "expr.py: nothing found.\n")


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    (tmp_path / "expr.py").write_text(WRONG)
    return "expr.py"


def test_what_was_not_looked_for_is_said(cli: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "expr.py").write_text("import torch\ntorch.ones(2, requires_grad=True).sum().backward()\n")
    cli("run", "expr.py", "-q")
    said = "AG608 were not looked for; `autograph explain expr.py` records them."
    assert said in cli("explain").stderr
    assert said not in cli("explain", "expr.py").stderr


def test_github(cli: Callable[..., Result], wrong: str) -> None:
    said = cli("explain", wrong, "--format", "github").stdout
    assert said.startswith("::warning file=expr.py,line=4,title=AG002::e, which a backward needs")


def test_json(cli: Callable[..., Result], wrong: str) -> None:
    (finding,) = json.loads(cli("explain", wrong, "--format", "json").stdout)
    assert (finding["code"], finding["source"]["line"], finding["step"]) == ("AG002", 4, 0)


def test_sarif(cli: Callable[..., Result], wrong: str) -> None:
    (run,) = json.loads(cli("explain", wrong, "--format", "sarif").stdout)["runs"]
    (result,) = run["results"]
    assert result["ruleId"] == run["tool"]["driver"]["rules"][0]["id"] == "AG002"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 4}


def _object(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties}


TEXT = {"type": "string", "minLength": 1}
MESSAGE = _object(["text"], text=TEXT)
RULE = _object(["id"], id=TEXT, shortDescription=MESSAGE, fullDescription=MESSAGE, help=MESSAGE)
URI = _object(["uri"], uri={"type": "string", "pattern": r"^[\w\-.~/%:@!$&'()*+,;=]+$"})
REGION = _object([], startLine={"type": "integer", "minimum": 1})
PLACE = _object([], physicalLocation=_object(["artifactLocation"], artifactLocation=URI, region=REGION))
RESULT = _object(
    ["message"],
    ruleId=TEXT,
    level={"enum": ["none", "note", "warning", "error"]},
    message=MESSAGE,
    locations={"type": "array", "items": PLACE},
)
DRIVER = _object(["name"], name=TEXT, version=TEXT, rules={"type": "array", "uniqueItems": True, "items": RULE})
RUN = _object(["tool"], tool=_object(["driver"], driver=DRIVER), results={"type": "array", "items": RESULT})
SARIF = _object(
    ["version", "runs"], **{"$schema": TEXT}, version={"const": "2.1.0"}, runs={"type": "array", "items": RUN}
)
"""A schema of the parts of SARIF 2.1.0 that are written, in our words: its own schema is not here."""


@pytest.mark.parametrize("name", ["expr.py", "a name of {words}.py", "größe.py"])
def test_sarif_has_the_shape_that_its_schema_asks_for(
    cli: Callable[..., Result], wrong: str, tmp_path: Path, name: str
) -> None:
    (tmp_path / wrong).rename(tmp_path / name)
    jsonschema = pytest.importorskip("jsonschema")
    log = json.loads(cli("explain", name, "--format", "sarif").stdout)
    jsonschema.validate(log, SARIF)
    used = {result["ruleId"] for run in log["runs"] for result in run["results"]}
    assert used == {rule["id"] for run in log["runs"] for rule in run["tool"]["driver"]["rules"]}


def test_the_picture_is_of_the_nodes_concerned(cli: Callable[..., Result], wrong: str, tmp_path: Path) -> None:
    cli("explain", wrong, "--picture")
    assert "mul_" in (tmp_path / "expr.AG002.svg").read_text("utf-8")


def test_a_code_that_does_not_exist_is_refused(cli: Callable[..., Result], wrong: str) -> None:
    result = cli("explain", wrong, "--select", "AG999")
    assert result.exit_code == 2
    assert "'AG999' is no code, and no code begins so" in result.output


def test_a_project_ignores_codes(cli: Callable[..., Result], wrong: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.autograph.explain]\nignore = ["AG002"]\n')
    result = cli("explain", wrong)
    assert "no finding explains it" in result.stdout


def test_a_code_is_explained(cli: Callable[..., Result]) -> None:
    told = cli("explain", "AG301")
    assert told.exit_code == 0
    assert told.stdout.startswith("AG301: NaN or infinity is born in the forward pass\n\nwhy:   Every number")
    assert "do:    Keep its inputs in the domain" in told.stdout
    assert cli("explain", "AG999").exit_code != 0


LOOP = """import torch
w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
total = 0
for step in range(6):
    loss = (w ** 2).sum(){zeroed}
    loss.backward()
    optimizer.step()
    total = total + {added}
print((total / 6).item())
"""
UNZEROED = (
    LOOP.format(zeroed="", added="loss.detach()"),
    LOOP.format(zeroed="\n    optimizer.zero_grad()", added="loss.detach()"),
)
SUMMED = (
    LOOP.format(zeroed="; optimizer.zero_grad()", added="loss"),
    LOOP.format(zeroed="; optimizer.zero_grad()", added="loss.detach()"),
)


@pytest.mark.parametrize(("wrong", "right"), [UNZEROED, SUMMED])
def test_a_safe_edit_is_shown_and_made(cli: Callable[..., Result], tmp_path: Path, wrong: str, right: str) -> None:
    file = tmp_path / "loop.py"
    file.write_text(wrong)
    shown = cli("explain", "loop.py", "--diff")
    assert shown.exit_code == 1
    assert "--- loop.py\n+++ loop.py\n@@" in shown.stdout
    assert file.read_text() == wrong
    assert cli("explain", "loop.py", "--fix").exit_code == 1
    assert file.read_text() == right
    assert cli("explain", "loop.py").exit_code == 0


def test_what_has_no_safe_edit_is_left_alone(cli: Callable[..., Result], wrong: str, tmp_path: Path) -> None:
    told = cli("explain", wrong, "--fix")
    assert "No finding has an edit that is safe." in told.stderr
    assert (tmp_path / wrong).read_text() == WRONG
