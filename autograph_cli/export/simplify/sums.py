"""Sums of the gradients of one tensor, in which each adds one to the sum before, as one box."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from autograph_cli.export.scene.labels import SUM
from autograph_cli.export.scene.records import Scene, joined, together
from autograph_cli.export.simplify.rolling import turns_of


def sums_together(scene: Scene) -> Scene:
    """The scene with one box for the sums of a tensor's gradients that are used in the next one alone."""
    sums = {box.id: box for box in scene.boxes if box.title.startswith(SUM)}
    ways = [(arrow.head, arrow.tail) if scene.data else (arrow.tail, arrow.head) for arrow in scene.arrows]
    used, into = Counter(made for _, made in ways), dict[str, str]()
    for user, made in ways:
        if user in sums and made in sums and used[made] == 1 and not sums[made].below:
            one, other = sums[user], sums[made]
            alike = (one.title, one.band, one.frame) == (other.title, other.band, other.frame)
            if alike and not turns_of([one]):
                into[made] = user
    if not into:
        return scene
    for made in into:
        while into[made] in into:
            into[made] = into[into[made]]
    drawn = {last: replace(sums[last], many=sums[last].many + more) for last, more in Counter(into.values()).items()}
    return replace(scene, boxes=together(scene, into, drawn), arrows=joined(scene, into))
