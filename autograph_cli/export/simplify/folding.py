"""A scene that is too big to read, with its chains folded to one box each."""

from __future__ import annotations

import math
import re
from collections import Counter

from msgspec.structs import replace

from autograph_cli.export.scene.modules import LONGEST_TITLE
from autograph_cli.export.scene.parameters import chips_of
from autograph_cli.export.scene.records import Arrow, Box, Scene, joined, together
from autograph_cli.export.simplify.rolling import turns_of
from autograph_cli.export.style import OPERATIONS, Style

_NUMBER = re.compile(r"\d+")
TOLD = 12
"""Members of a folded chain that its tooltip lists."""
SHOWN = 3
"""Members that its title names."""


def fold(scene: Scene, limit: int) -> Scene:
    """The scene with as many of its longest chains folded as it takes to get down to `limit` boxes, or with all folded.

    A chain is a row of operations of one band, each the only one that the next is made from; leaves and inputs that are
    used there alone go with it, each drawn once. Of one that is longer than it takes, a part is folded, and of all that
    are alike the same part. A note tells how much was folded.
    """
    excess = len(scene.boxes) - limit
    if excess <= 0:
        return scene
    web = _Web(scene)
    into: dict[str, str] = {}
    titles: dict[str, Box] = {}
    for alike in sorted(web.chains(), key=lambda alike: -len(alike[0])):
        if excess <= 0:
            break
        share = math.ceil(excess / len(alike)) + 1
        for whole in alike:
            chain = web.lightest(whole, share)
            tags = web.equivalents(chain)
            into |= dict.fromkeys(chain[1:], chain[0]) | tags
            titles[chain[0]] = _folded([web.boxes[key] for key in chain])
            excess -= len(chain) - 1 + len(tags)
    if not titles:
        return scene
    hidden = [web.boxes[key] for key, head in into.items() if head in titles and _may_fold(web.boxes[key])]
    words = _counted([*hidden, *(web.boxes[key] for key in titles)])
    note = f"folded: {words} in {len(titles):,} box{'es' * (len(titles) > 1)}"
    boxes = together(scene, into, titles)
    return replace(scene, boxes=boxes, arrows=joined(scene, into), notes=(*scene.notes, note))


class _Web:
    def __init__(self, scene: Scene) -> None:
        self.boxes = {box.id: box for box in scene.boxes}
        self.ahead: dict[str, list[Arrow]] = {box.id: [] for box in scene.boxes}
        self.behind: dict[str, list[Arrow]] = {box.id: [] for box in scene.boxes}
        for arrow in scene.arrows:
            self.ahead[arrow.tail].append(arrow)
            self.behind[arrow.head].append(arrow)

    def lone(self, key: str) -> bool:
        """Return whether this is a leaf or an input that is used once."""
        return self.boxes[key].style in ("leaf", "input") and len(self.ahead[key]) + len(self.behind[key]) == 1

    def chains(self) -> list[list[list[str]]]:
        """The chains of two operations and more, in the direction of the arrows; those of the same titles together, but
        for their sizes."""
        following = {}
        for key, box in self.boxes.items():
            heads = [arrow.head for arrow in self.ahead[key] if not self.lone(arrow.head)]
            if len(heads) != 1 or not _may_fold(box) or not _may_fold(self.boxes[heads[0]]):
                continue
            tails = [arrow.tail for arrow in self.behind[heads[0]] if not self.lone(arrow.tail)]
            if len(tails) == 1 and _place(self.boxes[heads[0]]) == _place(box):
                following[key] = heads[0]
        starts = following.keys() - set(following.values())
        chains: dict[tuple[str, ...], list[list[str]]] = {}
        for start in (key for key in self.boxes if key in starts):
            chain = [start]
            while chain[-1] in following:
                chain.append(following[chain[-1]])
            chains.setdefault(tuple([_NUMBER.sub("", self.boxes[key].title) for key in chain]), []).append(chain)
        return list(chains.values())

    def lightest(self, chain: list[str], count: int) -> list[str]:
        """Return `count` boxes of a chain side by side, with the fewest modules and leaves among them."""
        weights = [(self.boxes[key].style == "module") + bool(self.boxes[key].lines) for key in chain]
        starts = range(max(1, len(chain) - count + 1))
        start = min(starts, key=lambda start: sum(weights[start : start + count]))
        return chain[start : start + count]

    def equivalents(self, chain: list[str]) -> dict[str, str]:
        """Map each leaf or input of a chain to the first one that shows the same tensor."""
        first: dict[str, str] = {}
        equivalents = {}
        for key in chain:
            for arrow in (*self.behind[key], *self.ahead[key]):
                other = arrow.tail if arrow.head == key else arrow.head
                if self.lone(other):
                    same = first.setdefault(f"{self.boxes[other].title} {self.boxes[other].tooltip}", other)
                    if same != other:
                        equivalents[other] = same
        return equivalents


def _may_fold(box: Box) -> bool:
    return box.style == "module" or box.style in OPERATIONS


def _place(box: Box) -> tuple[int, str, bool]:
    """Return where a box stands, and whether autograd recorded it: what differs in this is folded apart."""
    return box.band, box.frame, box.style != "untracked"


def _counted(boxes: list[Box]) -> str:
    """`12 operations and 3 modules`."""
    modules = [box for box in boxes if box.style == "module"]
    operations = sum(box.many for box in boxes if box.style != "module")
    counts = ((operations, "operation"), (len(modules), "module"))
    return " and ".join(f"{count:,} {word}{'s' * (count > 1)}" for count, word in counts if count)


def _folded(members: list[Box]) -> Box:
    titles = [box.title for box in members]
    shown = titles if len(titles) <= SHOWN else [titles[0], "…", titles[-1]]
    counts = Counter(titles)
    told = _counted(members)
    lines = [f"{told}: " + ", ".join(f"{count:,} {name}" for name, count in counts.most_common())]
    lines += [box.tooltip.partition("\n")[0] + (f"  {box.subtitle}" if box.subtitle else "") for box in members[:TOLD]]
    if len(members) > TOLD:
        lines.append(f"… and {len(members) - TOLD:,} more")
    style: Style = "module" if any(box.style == "module" for box in members) else members[0].style
    below = tuple([f"→ {title}" for title in shown[1:]])
    words = " ".join((shown[0], *below))
    title, below = (words, ()) if len(words) <= LONGEST_TITLE else (shown[0], below)
    chips = chips_of(members)
    subtitle = " · ".join(filter(None, (turns_of(members), f"{told} {chips}".rstrip())))
    many = sum(box.many for box in members if box.style != "module")
    tooltip = "\n".join(lines)
    return replace(
        members[0], style=style, title=title, subtitle=subtitle, lines=below, tooltip=tooltip, many=many, spare=0
    )
