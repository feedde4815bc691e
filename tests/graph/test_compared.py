"""The plain arguments of an operation are compared as they are read."""

from __future__ import annotations

import pytest

from autograph_cli.graph.compared import constants
from autograph_cli.graph.records import Node, Saved


@pytest.mark.parametrize(
    ("kept", "read"),
    [
        ("9.999999747378752e-06", "1e-05"),
        ("[0.10000000149011612, -0.30000001192092896]", "[0.1, -0.3]"),
        ("0.35355339059327373", "0.35355339059327373"),
        ("1.0000000000000002", "1.0000000000000002"),
        ("1.7976931348623157e+308", "1.7976931348623157e+308"),
        ("2.0", "2"),
        ("0.5", "0.5"),
    ],
)
def test_a_number_of_float32_has_the_digits_that_tell_it_from_others(kept: str, read: str) -> None:
    node = Node(0, "operation", "AddBackward0", "add", (), saved=(Saved("_saved_other", value=kept),))
    assert constants(node) == {"other": read}
