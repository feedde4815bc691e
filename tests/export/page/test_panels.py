"""Findings and curves beside the picture of a page, and the nodes that they light up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autograph_cli.export import render
from autograph_cli.export.options import Panels
from autograph_cli.export.page.panels import told_panels
from autograph_cli.findings import Finding
from autograph_cli.graph import Source, Watched
from tests.export.nets import layers
from tests.export.pages import data_of, modules_page

GRAPH = layers(3)
LEAF = next(node for node in GRAPH if node.kind == "leaf")
FINDING = Finding(
    "AG301", "made by <log>", Source("a.py", 7), "since", "do so", ("given 0",), (len(GRAPH) - 1, LEAF.id)
)
ELSEWHERE = Finding("AG404", "adds up", None, "since", "do so")
WATCHED = Watched(LEAF.outputs[0].names[0], "gradients", ((0, 1.0, 0.1, 0.5, 0.0), (1, float("nan"), 0.1, 0.5, 0.0)))
PANELS = Panels((FINDING, ELSEWHERE), (WATCHED,))


def test_a_page_without_findings_has_empty_panels() -> None:
    data = data_of(render(GRAPH, "forward", "html").decode())
    assert data["findings"] == data["watched"] == []


def test_nodes_that_the_whole_graph_does_not_have_are_left_out() -> None:
    beyond = Finding("AG301", "", None, "", "", (), (len(GRAPH), 0))
    assert told_panels(Panels((beyond,)), GRAPH, GRAPH)["findings"][0]["nodes"] == [0]


def test_a_parameter_has_its_leaf_and_a_line_for_each_number() -> None:
    (told,) = told_panels(PANELS, GRAPH, GRAPH)["watched"]
    assert told["nodes"] == [LEAF.id]
    (curve,) = told["curves"]
    assert set(curve["lines"]) == {"norm", "max", "mean"} and curve["sick"] == [100.0]


def test_parameters_stand_in_the_order_of_the_model_and_zeros_are_told(browser: Any, tmp_path: Path) -> None:
    names = [node.outputs[0].names[0] for node in GRAPH if node.kind == "leaf"]
    watched = tuple(Watched(name, "gradients", ((0, 0.0, 0.0, 0.0, 1.0),)) for name in ("elsewhere", *reversed(names)))
    page = modules_page(browser, tmp_path, [], panels=Panels((), watched))
    assert page.locator("#watched b").all_text_contents() == [*names, "elsewhere"]
    assert set(page.locator("#watched figcaption").all_text_contents()) == {"gradient: always 0"}
    page.close()


def test_a_click_on_a_finding_or_a_parameter_chooses_its_nodes(browser: Any, tmp_path: Path) -> None:
    said: list[str] = []
    page = modules_page(browser, tmp_path, said, panels=PANELS)
    rows = page.locator("#findings .finding > button")
    assert rows.all_text_contents() == ["AG301a.py:7made by <log>", "AG404adds up"]
    assert rows.nth(1).is_disabled()
    rows.nth(0).click()
    assert page.locator("#name").text_content() == "2 nodes"
    assert page.locator("#picture .box.chosen").count() == 2
    assert "chosen" in rows.nth(0).get_attribute("class")
    rows.nth(0).click()
    assert page.locator("#picture .box.chosen").count() == 0
    page.locator("#watched button").click()
    assert page.locator("#picture .box.chosen").count() == 1
    assert page.locator("#watched svg").get_attribute("aria-label").startswith("gradient: ")
    assert page.locator("#watched polyline").count() == 3
    assert said == []
    page.close()
