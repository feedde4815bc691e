"""Boxes are coloured by what they take: the more, the darker."""

from __future__ import annotations

import re

import pytest

from autograph_cli import export, torch
from autograph_cli.export import VIEWS, ExportError
from autograph_cli.export.scene.colouring import COLOURS
from autograph_cli.export.style import FRAME_LINE, STYLES
from autograph_cli.graph import Step
from autograph_cli.record.recorder import Recorder


@pytest.fixture(scope="module")
def step() -> Step:
    recorder = Recorder("all", "a.py", record=("time", "flops", "values", "check"))
    recorder.start()
    net = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.Tanh(), torch.nn.Linear(40, 2))
    loss = net(torch.ones(50, 30)).sum()
    loss.backward()
    return recorder.finish({"net": net, "loss": loss}).steps[0]


def fills(picture: bytes) -> dict[str, str]:
    """The fill of each box, by its id; those of frames are left out."""
    boxes = re.compile(
        r'<g id="([nm]\d+\S*)" class="\w+"[^>]*>(?:<title>[^<]*</title>)?<[^>]*? fill="(#\w+)" stroke="(#\w+)"'
    )
    return {key: fill for key, fill, stroke in boxes.findall(picture.decode()) if stroke != FRAME_LINE}


def lightness(fill: str) -> int:
    return sum(int(fill[at : at + 2], 16) for at in (1, 3, 5))


@pytest.mark.parametrize(
    ("colour", "view", "amount"),
    [
        ("time", "forward", lambda node: node.measured.time),
        ("time", "backward", lambda node: node.measured.backward_time),
        ("flops", "forward", lambda node: node.measured.flops),
        ("flops", "backward", lambda node: sum(run.flops for run in node.measured.runs)),
    ],
)
def test_more_is_darker(step: Step, colour: str, view: str, amount: object) -> None:
    found = fills(export.render(step, view, "svg", colour=colour, level="aten"))
    operations = [node for node in VIEWS[view](step.graph, None, None, False) if node.kind == "operation"]
    taken = sorted((amount(node), -lightness(found[f"n{node.id}"])) for node in operations)
    assert taken == sorted(taken, key=lambda pair: pair[1]) and taken[0][1] < taken[-1][1]


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("view", ["forward", "backward", "double-backward"])
def test_every_colour_is_told_below_every_view(step: Step, colour: str, view: str) -> None:
    picture = export.render(step, view, "svg", colour=colour)
    assert f"colour: {COLOURS[colour].title or colour}, from ".encode() in picture
    assert picture != export.render(step, view, "svg")


def test_graphviz_draws_the_same_colours(step: Step) -> None:
    found = fills(export.render(step, "forward", "svg", colour="flops"))
    dot = export.render(step, "forward", "dot", colour="flops").decode()
    for key, fill in found.items():
        if fill not in {look["fillcolor"] for look in STYLES.values()}:
            assert re.search(rf'^\s*{key} \[.*fillcolor="{fill}"\]$', dot, re.MULTILINE)


def test_a_closed_module_has_the_sum_of_what_is_in_it(step: Step) -> None:
    found = fills(export.render(step, "forward", "svg", colour="flops", depth=1, level="aten"))
    modules = [lightness(fill) for key, fill in sorted(found.items()) if key.startswith("m")]
    assert len(modules) == 3 and min(modules) == modules[0] and modules[1] == max(modules) == 3 * 255
    unnamed = fills(export.render(step, "forward", "svg", colour="gradient", depth=1, level="aten"))
    assert {fill for key, fill in unnamed.items() if key.startswith("m")} == {"#E4E6EB"}


def test_what_was_not_recorded_has_no_colour() -> None:
    recorder = Recorder("all", "a.py")
    recorder.start()
    loss = torch.ones(2, requires_grad=True).sum()
    plain = recorder.finish({"loss": loss}).steps[0]
    for colour, kind in (("time", "time"), ("flops", "flops"), ("check", "check"), ("gradient", "values")):
        with pytest.raises(ExportError, match=f"autograph run --record {kind} a.py"):
            export.render(plain, "forward", "svg", colour=colour, title="a.py")
    assert b"colour: bytes" in export.render(plain, "forward", "svg", colour="bytes")
    with pytest.raises(ExportError, match="There is no colour 'red'; known ones: time, bytes, flops, check, gradient"):
        export.render(plain, "forward", "svg", colour="red")
