"""Chains of boxes that are laid out as one tall box each, so that they stand beside frames and not below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from autograph_cli.export.scene.scene import Frame, Scene

SHORTEST = 3
"""Boxes from which on a chain is worth it."""
MOST = 400
"""Boxes of a scene up to which this is tried: it is laid out twice."""


def gathered(scene: Scene) -> Scene:
    """The scene with each chain that has a frame beside it in a bare frame of its own; as it is if there is none."""
    if not scene.frames or len(scene.boxes) > MOST:
        return scene
    beside = {(frame.parent, frame.band) for frame in scene.frames}
    frames, of = list(scene.frames), {}
    for chain in _chains(scene):
        first = scene.boxes[chain[0]]
        if len(chain) >= SHORTEST and (first.frame, first.band) in beside:
            frames.append(Frame(f"chain {first.id}", "", first.frame, first.band, bare=True))
            of.update(dict.fromkeys(chain, frames[-1].id))
    if not of:
        return scene
    boxes = tuple(replace(box, frame=of.get(number, box.frame)) for number, box in enumerate(scene.boxes))
    return replace(scene, boxes=boxes, frames=tuple(frames))


def _chains(scene: Scene) -> Iterator[list[int]]:
    """Boxes of one frame and band, by their numbers, of which each has one arrow at most on either side."""
    index = {box.id: number for number, box in enumerate(scene.boxes)}
    ends = [(index[arrow.tail], index[arrow.head]) for arrow in scene.arrows]
    out, into = Counter(tail for tail, _ in ends), Counter(head for _, head in ends)
    backed = {end for arrow, its in zip(scene.arrows, ends, strict=True) if arrow.back or arrow.keeps for end in its}
    alone = {
        number for number in range(len(scene.boxes)) if out[number] < 2 and into[number] < 2 and number not in backed
    }
    after = {
        tail: head
        for tail, head in ends
        if tail in alone and head in alone and _home(scene, tail) == _home(scene, head)
    }
    for start in sorted(alone - set(after.values())):
        chain = [start]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        yield chain


def _home(scene: Scene, number: int) -> tuple[str, int]:
    return scene.boxes[number].frame, scene.boxes[number].band
