"""The shape of a tensor stands at an arrow where it is news."""

from __future__ import annotations

import pytest

from autograph_cli.export import render
from autograph_cli.export.scene.scene import NUMBER, Arrow, Box, Scene
from autograph_cli.export.simplify.said_once import said_once
from autograph_cli.graph import Trace

BOXES = tuple(Box(name, "operation", name) for name in "abcdefx")
CASES = {
    "a chain": ("ab[3] bc[3] cd[3]", "ab[3] bc cd"),
    "a change": ("ab[3] bc[3] cd[4] de[4]", "ab[3] bc cd[4] de"),
    "another shape comes in": ("ab[3] xb[1] bc[3] cd[3]", "ab[3] xb[1] bc[3] cd"),
    "the same shape comes in": ("ab[3] xb[3] bc[3]", "ab[3] xb[3] bc"),
    "a single number": ("ab[3] bc cd de", "ab[3] bcscalar cd de"),
    "a single number at first": ("ab bc[3] cd[3]", "abscalar bc[3] cd"),
    "only single numbers": ("ab bc", "ab bc"),
    "one of several results": ("ab[3] bc#1 [3] cd[3]", "ab[3] bc#1 [3] cd[3]"),
}


def arrows(text: str) -> tuple[Arrow, ...]:
    return tuple(Arrow(words[0], words[1], words[2:]) for words in text.replace("1 [", "1~[").split()) if text else ()


@pytest.mark.parametrize("case", CASES)
def test_a_shape_stands_where_it_is_news(case: str) -> None:
    given, wanted = CASES[case]
    assert said_once(Scene("", BOXES, arrows(given))).arrows == arrows(wanted)


def test_what_is_kept_or_wrong_is_no_way_of_shapes() -> None:
    kept = Arrow("b", "x", "self", keeps=True)
    assert said_once(Scene("", BOXES, (*arrows("ab[3] bc[3]"), kept))).arrows == (*arrows("ab[3] bc"), kept)


def test_the_legend_says_it() -> None:
    scene = Scene("", BOXES, arrows("ab[3] bc[3] cd"), notes=("[shape], float32", NUMBER, "more"))
    assert said_once(scene).notes == ("[shape], float32", "no shape: as before", "more")
    alone = Scene("", BOXES, arrows("ab bc"), notes=(NUMBER,))
    assert said_once(alone) == alone


def test_a_page_whose_boxes_open_and_close_has_all_shapes(traces: dict[str, Trace]) -> None:
    step = traces["logits_loss"].steps[0]
    assert render(step, format="html").count(b"[5, 3]") > render(step).count(b">[5, 3]<") > 0
