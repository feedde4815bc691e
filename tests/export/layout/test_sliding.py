"""Chains beside tall frames: drawn together, and with nothing in the way."""

from __future__ import annotations

from itertools import pairwise

import pytest

from autograph_cli.export.layout import sliding
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.scene.records import Arrow, Box, Frame, Scene
from tests.export.layout.test_layered import check


def beside_frames(label: str = "") -> Scene:
    """A chain of four boxes beside two frames of six each, one below the other; both lead to the same box."""
    tall = [Box(f"f{i}", "operation", f"op {i}", frame="m0" if i < 6 else "m1") for i in range(12)]
    chain = [Box(f"c{i}", "operation", f"a step {i}") for i in range(4)]
    arrows = [
        *pairwise(f"f{i}" for i in range(12)),
        *pairwise(f"c{i}" for i in range(4)),
        ("f11", "end"),
        ("c3", "end"),
    ]
    frames = Frame("m0", "0: Net"), Frame("m1", "1: Net")
    boxes = (*tall, *chain, Box("end", "operation", "end"))
    return Scene("", boxes, tuple(Arrow(*ends, label) for ends in arrows), data=True, frames=frames)


@pytest.mark.parametrize("label", ["", "[3, 4]"])
def test_a_chain_beside_tall_frames_stands_together_at_its_use(label: str) -> None:
    placed = lay_out(beside_frames(label))
    check(placed)
    spots = {box.id: spot for box, spot in zip(placed.scene.boxes, placed.positions, strict=True)}
    ways = [spots[b].y - spots[a].y for a, b in pairwise(["c0", "c1", "c2", "c3"])]
    assert max(ways) <= sliding.LABELLED + 2 * spots["c0"].height
    assert spots["c0"].y > spots["f5"].y


def test_a_large_picture_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    slid = lay_out(beside_frames(), quick=True).positions
    monkeypatch.setattr(sliding, "MOST", 3)
    left = lay_out(beside_frames(), quick=True).positions
    assert [spot.y < after.y for spot, after in zip(left, slid, strict=True)] == [12 <= n < 15 for n in range(17)]
