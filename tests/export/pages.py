"""Pages to be tested: what their data are, and graphs with odd names or modules."""

from __future__ import annotations

import base64
import json
import re
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.export import render
from autograph_cli.graph import Edge, Graph, Node, Output, Root, TensorType
from tests.export.nets import layers
from tests.processes import PATIENCE

ROOT = Path(__file__).parents[2]
ODD = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"&quot;'",
    "权重",
    "\u2028",
    "${x}",
    "{title}",
)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    loaded = json.loads(found[1])
    if isinstance(loaded, str):
        loaded = json.loads(zlib.decompress(base64.b64decode(loaded)))
    return {**loaded, "nodes": nodes_of(loaded["nodes"])}


def go_to(page: Any, address: str) -> Any:
    """Open a page, and wait until it has run: what is packed in it comes after its load event."""
    page.goto(address)
    page.locator("#picture .box:visible").first.wait_for()
    return page


def await_count(locator: Any, count: int) -> None:
    from playwright.sync_api import expect

    expect(locator).to_have_count(count)


def await_text(locator: Any, pattern: str) -> None:
    from playwright.sync_api import expect

    expect(locator).to_have_text(re.compile(pattern))


def await_true(page: Any, script: str, given: Any = None) -> None:
    """Wait for a condition; the policy of a page does not let `wait_for_function` ask twice."""
    until = time.monotonic() + PATIENCE
    while not page.evaluate(script, given):
        assert time.monotonic() < until, script


def await_rest(page: Any) -> None:
    """Wait until what was asked for is drawn: a picture in motion has no colours, and maps follow in a frame."""
    await_true(page, "!document.querySelector('#picture svg.moving')")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def await_link(page: Any, pattern: str) -> None:
    """Wait until the address of a page has a pattern; it follows what is shown, a little later."""
    from playwright.sync_api import expect

    expect(page).to_have_url(re.compile(pattern))


def only_in_chromium(page: Any, reason: str) -> None:
    """Skip a test in a browser that cannot be told to do what it needs."""
    if page.context.browser.browser_type.name != "chromium":
        pytest.skip(reason)


def packs_of(page: str) -> list[str]:
    """Return what is unpacked when a box is opened."""
    return re.findall(r'<script type="application/json" class="pack">(.*?)</script>', page)


def pictures_of(page: str) -> list[str]:
    """Return the pictures of a page, which are packed where they are large."""
    drawn = data_of(page).get("drawn")
    if drawn is None:
        return re.findall(r"<template>\n(.*?)</template>", page, re.DOTALL)
    packed: dict[str, list[str]] = json.loads(zlib.decompress(base64.b64decode(packs_of(page)[drawn])))
    return packed["pictures"]


def nodes_of(told: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is known of each node, of the columns that a page has."""
    rows: list[dict[str, Any]] = [{} for _ in range(told["count"])]
    for fact, (values, at) in told["facts"].items():
        for row, place in zip(rows, at, strict=True):
            if place >= 0:
                row[fact] = place if values is None else values[place]
    return rows


def view_of(page: str, key: str = "") -> dict[str, Any]:
    """Return what the page knows of one view, by default the one that is seen at first."""
    data = data_of(page)
    (found,) = (view for view in data["views"] if view["key"] == (key or data["first"]))
    return {**data, **found}


def odd_graph() -> Graph:
    kind = TensorType("float32", (3,))
    nodes = [Node(i, "leaf", "AccumulateGrad", "", (Output(kind, (name,)),)) for i, name in enumerate(ODD)]
    edges = tuple(Edge(i) for i in range(len(ODD)))
    nodes.append(Node(len(ODD), "operation", "CatBackward0", "cat", (Output(kind),), edges, edges))
    return Graph(tuple(nodes), (Root("</title><b>", len(ODD)),))


def modules_page(browser: Any, folder: Path, said: list[str], **options: Any) -> Any:
    (folder / "layers.html").write_bytes(render(layers(3), "forward", "html", title="layers", **options))
    opened = browser.new_page(viewport={"width": 1200, "height": 800})
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    return go_to(opened, (folder / "layers.html").as_uri())
