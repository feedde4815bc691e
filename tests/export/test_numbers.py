"""Numbers go along the arrows of a picture, and are those that a reader computes by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.export import render
from autograph_cli.graph import Trace, Values
from autograph_cli.graph.facts import parse_shown, values_line
from autograph_cli.record.measure.values import number_text
from autograph_cli.record.run import runner

ROOT = Path(__file__).parents[2]
X, W, B = (1.0, 2.0, 3.0), (0.5, -1.0, 2.0), 0.1
Record = Callable[[str], Trace]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Record:
    """Return what the engine records of a script of the repository, or of a text, with its numbers."""

    def record(script: str) -> Trace:
        monkeypatch.chdir(tmp_path)
        path = ROOT / script if script.endswith(".py") else tmp_path / "script.py"
        if not script.endswith(".py"):
            path.write_text(f"import torch\n{script}")
        return runner.record(runner.Target.of(str(path), ()), record=("values",))[1]

    return record


def arrows(trace: Trace, view: str, shown: str = "values", **how: Any) -> dict[tuple[str, str], str]:
    """Return what stands at the arrows of a picture, by the titles of the boxes that they join."""
    chart = render(trace.steps[-1], view, "mermaid", shown=parse_shown(shown), **how).decode()
    titles = dict(re.findall(r'^ *(\w+)[\[(/]+"(.*?)(?:<br/>.*)?"', chart, re.MULTILINE))
    found = re.findall(r'^ *(\w+) -\.?->(?:\|"(.*?)"\|)? (\w+)$', chart, re.MULTILINE)
    return {(titles[tail], titles[head]): label.replace("#8203;", "") for tail, label, head in found}


def listed(*numbers: float) -> str:
    return f"[{', '.join(map(number_text, numbers))}]"


def test_the_first_sample_by_hand(recorded: Record) -> None:
    trace = recorded("samples/first.py")
    inner = [w * x + B for w, x in zip(W, X, strict=True)]
    y = [math.tanh(number) for number in inner]
    assert arrows(trace, "forward") == {
        ("x", "mul"): listed(*X),
        ("w", "mul"): listed(*W),
        ("mul", "add"): listed(*(w * x for w, x in zip(W, X, strict=True))),
        ("b", "add"): number_text(B),
        ("add", "tanh"): listed(*inner),
        ("tanh", "y"): listed(*y),
        ("y", "pow 2"): "",
        ("pow 2", "sum"): listed(*(number**2 for number in y)),
        ("sum", "loss"): number_text(sum(number**2 for number in y)),
    }


def test_gradients_of_the_first_sample_by_hand(recorded: Record) -> None:
    found = arrows(recorded("samples/first.py"), "backward", "gradients")
    y = [math.tanh(w * x + B) for w, x in zip(W, X, strict=True)]
    delta = [2 * number * (1 - number**2) for number in y]
    assert found["loss", "SumBackward0"] == "1"
    assert found["SumBackward0", "PowBackward0"] == listed(1, 1, 1)
    assert [float(word) for word in found["TanhBackward0", "AddBackward0"][1:-1].split(", ")] == pytest.approx(
        delta, rel=2e-3
    )
    assert float(found["AddBackward0", "b"]) == pytest.approx(sum(delta), rel=1e-3)
    grads = [float(word) for word in found["MulBackward0", "w"][1:-1].split(", ")]
    assert grads == pytest.approx([number * x for number, x in zip(delta, X, strict=True)], rel=2e-3)
    # The pill of y and the power both lead there: what arrives is their sum, and stands on the box.
    assert "2." not in found["PowBackward0", "TanhBackward0"]


def test_derivatives_by_hand(recorded: Record) -> None:
    trace = recorded(
        "x = torch.tensor(3.0, requires_grad=True)\ny = x**4\ng, = torch.autograd.grad(y, x, create_graph=True)\n"
    )
    found = arrows(trace, "double-backward", flow="data")
    assert found["pow 4", "y"] == "81"
    assert found["pow 3", "mul × 4"] == "27"
    assert found["mul", "g"] == "108"


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (Values(("5",), count=1), "5"),
        (Values(("[[1, 2],", " [3, 4]]"), count=4), "[[1, 2], [3, 4]]"),
        (Values(("[0, 1, 2, 3, 4, 5, 8, 8]",), count=8), "0 … 8 ▄▄▄▄▄▄▁█"),
        (Values(("[2, 2, 2, 2, 2, 2, 2]",), count=7), "2"),
        (Values(("[nan, 2, 2, 2, 2, 2, 2]",), count=7), "2 · 1 NaN"),
        (Values(("[nan, inf, 2, 2, 2, -inf, 2]",), count=7), "-inf … inf · 1 NaN"),
        (Values(("[nan, nan, nan, nan, nan, nan, nan]",), count=7), "all NaN"),
        (Values(("[True, True, True, True, True, True, True]",), count=7), ""),
        (Values(("[1+2j, 1, 1, 1, 1, 1, 1]",), count=7), ""),
        (Values((), count=2000, nans=2000), "all NaN"),
        (
            Values((), "-1", "0.5", "2", 100, 25, 3, (1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2)),
            "-1 … 2 · 3 NaN ▄▁▁▁▁▁▁█",
        ),
    ],
)
def test_numbers_on_a_line(values: Values, line: str) -> None:
    assert values_line(values) == line


def test_many_numbers_are_a_shape_a_range_and_bars(recorded: Record) -> None:
    trace = recorded("w = torch.arange(20.0, requires_grad=True)\nloss = w.exp().sum()\n")
    label = arrows(trace, "forward")["w", "exp"]
    assert re.fullmatch(r"\[20\] 0 … 19 [▁-█]{8}", label)
    picture = render(trace.steps[-1], shown=parse_shown("values")).decode()
    assert ">[20] 0 … 19<" in picture and 'height="9"' in picture
    assert not re.search("<text[^>]*>[^<]*[▁-█]", picture)
    assert render(trace.steps[-1], format="pdf", shown=parse_shown("values"))
    assert render(trace.steps[-1], format="png", shown=parse_shown("values"))


def test_the_dtype_stands_before_numbers_of_another_one(recorded: Record) -> None:
    trace = recorded(
        "w = torch.ones(3, requires_grad=True)\ni = torch.tensor([2, 0])\nloss = w[i].exp().exp().sum()\nloss.backward()\n"
    )
    assert "int64[2, 0]" in arrows(trace, "forward").values()


def test_a_loop_is_rolled_though_its_numbers_differ(recorded: Record) -> None:
    trace = recorded("w = torch.tensor(0.5, requires_grad=True)\nh = w\nfor _ in range(8):\n    h = (h * w).tanh()\n")
    assert "mul" in {title for pair in arrows(trace, "forward", roll=True) for title in pair}
    plain, shown = (
        render(trace.steps[-1], shown=parse_shown(words), roll=True).count(b'class="operation"')
        for words in ("", "values")
    )
    assert plain == shown < 5


def test_a_part_of_a_gradient_graph_has_its_numbers_on_the_boxes(recorded: Record) -> None:
    trace = recorded("w = torch.ones(2, requires_grad=True)\ny = w * 2\nloss = (y * 3).sum()\nloss.backward()\n")
    whole = render(trace.steps[-1], "backward", shown=parse_shown("gradients"))
    part = render(trace.steps[-1], "backward", shown=parse_shown("gradients"), roots=("y",))
    assert b">grad [6, 6]<" in part and b">grad [6, 6]<" not in whole
