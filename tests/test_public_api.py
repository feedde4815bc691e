"""What is public at the top, and that asking for nothing imports nothing."""

from __future__ import annotations

import autograph_cli
from tests.conftest import Run


def test_public_names() -> None:
    assert autograph_cli.__all__ == [
        "AutographError",
        "Graph",
        "GraphDiff",
        "__version__",
        "assert_same_graph",
        "capture",
    ]
    for name in autograph_cli.__all__:
        assert getattr(autograph_cli, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(autograph_cli, "catpure")


def test_importing_the_package_and_its_pytest_plugin_is_light(python: Run) -> None:
    code = "import sys, autograph_cli, autograph_cli.testing.plugin; print([m for m in ('numpy', 'rich', 'click') if m in sys.modules])"
    assert python("-c", code).stdout == "[]\n"
