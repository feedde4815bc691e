"""Models, each with the changes that are planted in it: in a comment below the line that it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.graph.parting_programs import Planted

KINDS = {"F": "forward", "B": "backward", "R": "rounding", "S": "same"}
FOLDER = Path(__file__).parent / "parting_models"


def planted_models(*kinds: str) -> Iterator[Planted]:
    """All changes of these kinds, in order of models; lines that end in the same `# @word` are right for each other."""
    for path in sorted(FOLDER.glob("*.py")):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        changes = {
            at: line.strip() for at, line in enumerate(lines) if line.strip()[:2] in {f"#{kind}" for kind in KINDS}
        }
        for at, change in changes.items():
            of = next(above for above in range(at, -1, -1) if above not in changes)
            indent = lines[of][: len(lines[of]) - len(lines[of].lstrip())]
            _, mark, tag = lines[of].partition("# @")
            like = tuple(n + 1 for n, line in enumerate(lines) if mark and line.endswith(f"# @{tag}"))
            new = "\n".join([*lines[:of], indent + change[3:], *lines[of + 1 :], ""])
            name = f"{path.stem} {at + 1} {change}"
            if KINDS[change[1]] in kinds:
                yield Planted(name, text, new, KINDS[change[1]], of + 1, like)
