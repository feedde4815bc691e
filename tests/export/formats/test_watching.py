"""What was watched over the steps of a run, as small multiples and as rows."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ElementTree

import pytest
from msgspec.structs import replace

from autograph_cli.export import ExportError
from autograph_cli.export.formats import watching
from autograph_cli.graph import Trace, Watched

GRADIENTS = Watched(
    "net.<w>", "gradients", ((0, 1.0, 0.1, 0.5, 0.0), (1, 10.0, 0.1, 5.0, 0.5), (2, float("nan"), 0.1, 1.0, 0.0))
)
UPDATES = Watched("net.<w>", "updates", ((0, 0.1, 0.0, 0.05, 0.0, 0.01), (1, 0.1, 0.0, 0.05, 0.0, 0.0001)))
BIAS = Watched("net.b", "gradients", ((1, 2.0, 0.1, 2.0, 0.0),))
TRACE = Trace("a.py", total_steps=3, watched=(GRADIENTS, UPDATES, BIAS))
_SVG = "{http://www.w3.org/2000/svg}"


def drawn(trace: Trace) -> ElementTree.Element:
    return ElementTree.fromstring(watching.to_svg(trace))


def test_a_row_for_each_parameter_and_a_column_for_each_kind() -> None:
    picture = drawn(TRACE)
    texts = [text.text for text in picture.iter(f"{_SVG}text")]
    assert texts[0] == "a.py, 3 steps"
    assert [text for text in texts if text in watching.KINDS.values()] == ["gradient", "update / values"]
    assert [text for text in texts if text and text.startswith("net.")] == ["net.<w>", "net.b"]
    told = [group.findtext(f"{_SVG}title") for group in picture.iter(f"{_SVG}g")]
    assert told == [
        "net.<w>, gradients: last nan in step 3",
        "net.b, gradients: last 2 in step 2",
        "net.<w>, updates: last 0.0001 in step 2",
    ]


def test_lines_are_on_one_scale_and_what_is_no_number_is_red() -> None:
    first, second, third = drawn(TRACE).iter(f"{_SVG}g")
    lines = [line.get("points", "").split() for line in first.iter(f"{_SVG}polyline")]
    mean, pale, dark = [[tuple(map(float, point.split(","))) for point in line] for line in lines]
    assert len(mean) == len(pale) == 3 and len(dark) == 2 and dark[0][1] > dark[1][1]
    assert len(list(second.iter(f"{_SVG}circle"))) == 3 and not list(second.iter(f"{_SVG}polyline"))
    red = [path for path in first.iter(f"{_SVG}path") if path.get("stroke") == "#C62828"]
    assert len(red) == 1
    assert [path.get("stroke-dasharray") for path in third.iter(f"{_SVG}path")] == ["3,3"]


def test_many_parameters_are_drawn_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "MOST", 1)
    picture = drawn(TRACE)
    assert len(list(picture.iter(f"{_SVG}g"))) == 2
    assert any("1 more parameters" in (text.text or "") for text in picture.iter(f"{_SVG}text"))


def test_rows_have_all_the_numbers() -> None:
    found = list(csv.DictReader(watching.to_csv(TRACE).splitlines()))
    assert len(found) == sum(len(each.rows) for each in TRACE.watched)
    assert found[0] == {
        "parameter": "net.<w>",
        "kind": "gradients",
        "step": "1",
        "norm": "1",
        "mean": "0.1",
        "max": "0.5",
        "zeros": "0",
        "ratio": "",
    }
    assert found[2]["norm"] == "nan" and found[4]["ratio"] == "0.0001"


@pytest.mark.parametrize("name", watching.FORMATS)
def test_a_run_that_was_not_watched_is_refused(name: str) -> None:
    for trace in (Trace("a.py"), replace(TRACE, watched=(Watched("w", "values"),))):
        with pytest.raises(ExportError, match=r"autograph run --watch gradients,values,updates a\.py"):
            watching.FORMATS[name](trace)


def test_zeros_alone_have_a_picture() -> None:
    zeros = Watched("w", "gradients", ((0, 0.0, 0.0, 0.0, 1.0), (1, 0.0, 0.0, 0.0, 1.0)))
    (group,) = drawn(Trace("a.py", watched=(zeros,))).iter(f"{_SVG}g")
    assert len(list(group.iter(f"{_SVG}polygon"))) == 1 and not list(group.iter(f"{_SVG}polyline"))
