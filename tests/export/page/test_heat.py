"""Boxes coloured by what they take: closed modules by all that is in them, and one outlier does not hide the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli.export import render
from autograph_cli.graph import Graph, Values
from autograph_cli.graph.records import Measured
from tests.export.nets import layers
from tests.export.pages import go_to

FILL = "(element) => getComputedStyle(element.firstElementChild).fill"
WHITE = "rgb(255, 250, 240)"


def timed(times: list[int]) -> Graph:
    """Layers whose operations took so long, one after the other, each with as large a gradient."""
    graph, left = layers(len(times)), iter(times)
    nodes = []
    for node in graph:
        if node.kind == "operation" and (time := next(left, None)) is not None:
            measured = Measured(time=time, gradients=(Values((f"[{time}]",), count=1),), error=time / 1e6)
            node = replace(node, measured=measured)
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


@pytest.fixture
def opened(browser: Any, tmp_path: Path, request: Any) -> Any:
    (tmp_path / "heat.html").write_bytes(render(timed(request.param), "forward", "html", level="aten", max_nodes=None))
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    go_to(page, (tmp_path / "heat.html").as_uri())
    while page.locator(".shut:visible").count():
        page.keyboard.press("]")
    yield page
    page.close()


def ends(page: Any) -> list[str]:
    return [text.strip() for text in page.locator("#scale span").all_text_contents()]


@pytest.mark.parametrize("opened", [[1000, 2000, 4000, 8000]], indirect=True)
def test_a_closed_module_has_the_sum_of_what_is_in_it(opened: Any) -> None:
    opened.select_option("#colour", "time")
    assert ends(opened) == ["1.0 µs", "8.0 µs"] and opened.locator("#scale .ramp").count() == 1
    while opened.locator(".box:not(.shut):visible").count() > 3:
        before = opened.locator(".box:visible").count()
        opened.keyboard.press("[")
        if opened.locator(".box:visible").count() == before:
            break
    shut = opened.locator(".shut:visible")
    assert shut.count() >= 1
    assert all(shut.nth(number).evaluate(FILL) != "rgb(228, 230, 235)" for number in range(shut.count()))
    assert "15.0 µs" in ends(opened) or sum(float(text.split()[0]) for text in ends(opened)) > 8


@pytest.mark.parametrize("opened", [[1000, 2000, 4000, 8000]], indirect=True)
def test_what_does_not_add_up_is_the_most_that_is_in_it(opened: Any) -> None:
    opened.select_option("#colour", "norm")
    for _ in range(4):
        opened.keyboard.press("[")
    assert max(float(text) for text in ends(opened)) == 8000
    opened.select_option("#colour", "error")
    assert max(float(text) for text in ends(opened)) == 0.008


@pytest.mark.parametrize("opened", [[1000, 1500, 2000, 2500, 3000, 900_000_000]], indirect=True)
def test_one_outlier_does_not_make_the_rest_alike(opened: Any) -> None:
    opened.select_option("#colour", "time")
    fills = {element.evaluate(FILL) for element in opened.locator("#picture .box:visible").all()}
    assert len(fills - {"rgb(255, 255, 255)"}) == 5, "the outlier has the colour of the most of the others"
    assert opened.text_content("#scale small") == "up to 900.00 ms" and ends(opened)[1] == "from 3.0 µs"
