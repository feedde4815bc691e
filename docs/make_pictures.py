"""Draws the pictures of these docs anew, with autograph itself: `make pictures`."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from autograph_cli import export  # noqa: E402
from autograph_cli.cli.render import READABLE  # noqa: E402
from autograph_cli.graph import Slice, Trace  # noqa: E402
from autograph_cli.record import runner  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
EVERY = ("forward", "backward", "double-backward")
PICTURES: dict[str, tuple[str, ...]] = {
    "samples/first.py": EVERY,
    "samples/recurrence.py": ("forward", "backward"),
    "tests/programs/02_logits_loss.py": EVERY,
    "tests/programs/12_sinh_function.py": EVERY,
    "tests/programs/13_sinh_wrong.py": EVERY,
    "tests/programs/22_higher_order.py": EVERY,
}
"""Which views of which scripts are shown."""
ROLLED = ("samples/recurrence.py",)
"""Of which scripts one turn of each loop is shown."""
PARTS = {"tests/programs/22_higher_order.py": ("slice", "double-backward", Slice(start=("w2",), end=("penalty",)))}
"""Of which scripts a part is shown as well: the picture's name, the view, the part."""


def record(script: str) -> Trace:
    """Run a script of this repository, its output unseen, and return its trace."""
    with contextlib.redirect_stdout(io.StringIO()):
        result, trace = runner.record(runner.Target.of(str(ROOT / script)))
    if result.exit_code:
        raise SystemExit(f"{script}: {result.failure}")
    return trace


def pictures(script: str) -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of each picture of a script, drawn now as `autograph render` draws them."""
    trace = record(script)
    for view in PICTURES[script]:
        name = f"{Path(script).stem}.{view}.svg"
        yield name, export.render(trace.steps[-1], view, title=trace.script, max_nodes=READABLE, roll=script in ROLLED)
    if script in PARTS:
        word, view, part = PARTS[script]
        yield f"{Path(script).stem}.{word}.svg", export.render(trace.steps[-1], view, part=part, title=trace.script)


def main() -> None:
    """Write all pictures; what else lies in their folder is an old one."""
    FOLDER.mkdir(exist_ok=True)
    made = {name: content for script in PICTURES for name, content in pictures(script)}
    for name, content in made.items():
        (FOLDER / name).write_bytes(content)
    for old in FOLDER.iterdir():
        if old.name not in made:
            old.unlink()
    print(f"{len(made)} pictures in {FOLDER.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
