"""The words of a legend, held to the boxes that are left in the picture."""

from __future__ import annotations

from msgspec.structs import replace

from autograph_cli.export.scene.labels import SUM
from autograph_cli.export.scene.parameters import FIXED, MARK
from autograph_cli.export.scene.records import Scene
from autograph_cli.export.simplify.bundling import NOTE as BUNDLED
from autograph_cli.export.simplify.gradients import MADE
from autograph_cli.export.simplify.repeats import NOTE as EQUAL
from autograph_cli.export.simplify.rolling import still_true

FOLDED = "folded: "
_ON_BOXES: tuple[tuple[str, str], ...] = (
    (f"{MARK}a leaf", MARK),
    (f"{FIXED}an input, no gradient", FIXED),
    (f"{MADE}a result", MADE),
    ("∂ f:", "∂ "),
    (SUM, SUM),
    ("part:", "(part "),
    (EQUAL, "× "),
)
"""The beginning of a note, and the sign on a box or a frame that it explains."""


def with_true_legend(scene: Scene) -> Scene:
    """The scene with the samples and notes that explain something in it, and one note for all that was folded."""
    styles = {box.style for box in scene.boxes}
    texts = [text for box in scene.boxes for text in (box.title, *box.below)]
    words = "\n".join([*texts, *(frame.title for frame in scene.frames)])
    labels = {arrow.label for arrow in scene.arrows}
    gone = {note for note in scene.notes for start, sign in _ON_BOXES if note.startswith(start) and sign not in words}
    if not any(" × [" in label or label.endswith(" tensors") for label in labels):
        gone.add(BUNDLED)
    folded = [note for note in scene.notes if note.startswith(FOLDED)]
    notes = [note for note in still_true(scene) if note not in gone and not note.startswith(FOLDED)]
    if len(folded) > 1:
        several = [box.many for box in scene.boxes if box.many > 1]
        folded = [f"{FOLDED}{sum(several):,} operations in {len(several):,} boxes"] if several else folded[-1:]
    legend = tuple([entry for entry in scene.legend if entry[0] in styles])
    return replace(scene, legend=legend, notes=(*notes, *folded))
