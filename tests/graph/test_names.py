"""Names and texts as they are printed."""

from __future__ import annotations

import pytest

from autograph_cli.graph.names import TOGETHER, visible_bytes, visible_joined

LINES = [f"n{number} [label=x]\n" for number in range(2 * TOGETHER + 1)]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["a", "", "b\n"],
        [""] * (TOGETHER + 1) + ["after\n"],
        LINES,
        [*LINES, "∂ y • \x1b[31m\tq\n", "\ud800\n", *LINES],
    ],
)
def test_lines_are_joined_as_the_whole_text_is_written(lines: list[str]) -> None:
    assert visible_joined(iter(lines)) == visible_bytes("".join(lines))
