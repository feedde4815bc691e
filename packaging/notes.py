"""The notes of a release: the part of CHANGELOG.md under the version of the package.

`--unreleased` takes the part under Unreleased where there is one, `--version` prints the version alone. Of a part with
`In short`, that is taken."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def version() -> str:
    """The version that autograph_cli/__init__.py has."""
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "autograph_cli" / "__init__.py").read_text("utf-8"), re.M)
    assert found
    return found[1]


def notes(changelog: str, wanted: str) -> str:
    """Return what stands below `## VERSION`, up to the next version; raises `SystemExit` if nothing does."""
    parts = re.split(r"^## \[?([^\]\s]+)\]?.*\n", changelog, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True)).get(wanted, "").strip()
    if not found:
        raise SystemExit(f"CHANGELOG.md has nothing under `## {wanted}`: rename `## Unreleased` and commit that first.")
    short = re.search(r"^### In short\n(.*?)(?=^### )", found, flags=re.MULTILINE | re.DOTALL)
    return f"autograph {wanted}\n\n{short[1].strip() if short else found}\n"


def main(arguments: list[str]) -> str:
    """The text to print."""
    if "--version" in arguments:
        return f"{version()}\n"
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    unreleased = "--unreleased" in arguments and "\n## Unreleased\n" in changelog
    return notes(changelog, "Unreleased" if unreleased else version())


if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1:]))
