"""Hold each folder to its budget of lines in `lines.json`: fails where one has more, and lowers the budget where it has
fewer. A budget is raised by hand, with the reason in the commit."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUDGET = ROOT / "lines.json"
COMPILED = (".pyx", ".pxd", ".pxi")


def lines(folder: str, suffixes: tuple[str, ...]) -> int:
    """Return how many lines the files of a folder have, those of its subfolders included."""
    files = (path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)
    return sum(len(path.read_bytes().splitlines()) for path in files)


def counted(budget: dict[str, int]) -> dict[str, int]:
    """Return the lines of each room: a folder's Python, or `folder (compiled)`."""
    return {
        room: lines(room.removesuffix(" (compiled)"), COMPILED if room.endswith(" (compiled)") else (".py",))
        for room in budget
    }


def main() -> int:
    """Compare, write what went down, and return the exit code."""
    budget = json.loads(BUDGET.read_text())
    now = counted(budget)
    over = {room: count for room, count in now.items() if count > budget[room]}
    for room, count in over.items():
        print(f"{room}: {count} lines, {count - budget[room]} more than lines.json allows", file=sys.stderr)
    lowered = {room: min(count, budget[room]) for room, count in now.items()}
    BUDGET.write_text(json.dumps(lowered, indent=2) + "\n")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
