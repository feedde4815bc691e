"""Layered graphs made by chance, with modules in modules, as programs have them: chains, branches, and ways around."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from autograph_cli.export.scene.records import Arrow, Box, Frame, Scene

TITLES = (
    "mul",
    "relu",
    "0: Linear 20→64",
    "conv1: Conv2d 3×3, 3→64",
    "softmax dim 1",
    "cat",
    "norm: LayerNorm 64",
    "add",
)
SHAPES = ("", "[3]", "[8, 64]", "[2, 8, 16, 16]", "")
BELOW = ("", "", "• weight [64, 20]", "x · line 12")
DEEPEST = 3


def random_scene(seed: int) -> Scene:
    """Return a graph of 8 to 45 boxes in up to three levels of modules; every second one follows the gradient."""
    made = _Made(Random(seed))
    ends = [made.box((), "input"), made.box((), "leaf")][: made.chance.choice((1, 2))]
    size = made.chance.randint(8, 40)
    while len(made.boxes) < size:
        ends = made.piece(ends, "", 0)
    made.box(ends, "result")
    arrows = made.arrows if seed % 2 else [replace(its, tail=its.head, head=its.tail) for its in made.arrows]
    return Scene("", tuple(made.boxes), tuple(arrows), frames=tuple(made.frames), data=seed % 2 == 1)


class _Made:
    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []
        self.frames: list[Frame] = []

    def box(self, sources: Sequence[str], style: str = "operation", frame: str = "") -> str:
        """Add a box that follows these."""
        title = self.chance.choice(TITLES) if sources else self.chance.choice(("x", "target", "weight"))
        box = Box(f"n{len(self.boxes)}", style, title, self.chance.choice(BELOW) if sources else "", frame=frame)  # type: ignore[arg-type]
        self.arrows += [Arrow(source, box.id, self.chance.choice(SHAPES)) for source in dict.fromkeys(sources)]
        self.boxes.append(box)
        return box.id

    def piece(self, ends: list[str], frame: str, depth: int) -> list[str]:
        """Go on from these ends, in this frame, with a piece of a program; return its ends."""
        kinds = (self.chain, self.branches, self.around, self.module, self.module, self.late)
        return self.chance.choice(kinds)(ends, frame, depth + 1) if depth < DEEPEST else [self.box(ends, frame=frame)]

    def chain(self, ends: list[str], frame: str, depth: int) -> list[str]:
        for _ in range(self.chance.randint(1, 3)):
            ends = [self.box(ends, frame=frame)]
        return ends

    def branches(self, ends: list[str], frame: str, depth: int) -> list[str]:
        made = [self.piece(ends[-1:], frame, depth) for _ in range(self.chance.choice((2, 2, 3)))]
        parts = [end for its in made for end in its]
        return parts if self.chance.random() < 0.2 else [self.box(parts, frame=frame)]

    def around(self, ends: list[str], frame: str, depth: int) -> list[str]:
        return [self.box([*self.piece(ends, frame, depth), ends[-1]], frame=frame)]

    def module(self, ends: list[str], frame: str, depth: int) -> list[str]:
        its = Frame(
            f"m{len(self.frames)}", self.chance.choice(("block: Block", "1: Sequential", "attn: Attention")), frame
        )
        self.frames.append(its)
        for _ in range(self.chance.randint(1, 3)):
            ends = self.piece(ends, its.id, depth)
        return [self.box(ends, frame=its.id)]

    def late(self, ends: list[str], frame: str, depth: int) -> list[str]:
        """What an earlier piece made is used once more."""
        earlier = self.chance.choice(self.boxes).id if self.boxes else ""
        return [self.box([*ends, *([earlier] if earlier else [])], frame=frame)]
