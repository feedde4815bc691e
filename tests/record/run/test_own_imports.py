"""Which modules this package imports, and that those of a script stay the script's."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import autograph_cli
from autograph_cli.record.run import runner
from autograph_cli.record.run.imports import REFUSED, SERVED
from autograph_cli.record.run.own_imports import OTHERS

PACKAGE = Path(autograph_cli.__file__).parent
NOT_FOR_US = {*SERVED, *REFUSED, "autograph_cli"}


def imported(tree: ast.AST) -> Iterator[str]:
    """The top-level names of all import statements, and of calls of `import_module` with a plain name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and not name.value.startswith("."):
                yield name.value.partition(".")[0]


def test_every_package_that_is_imported_is_known() -> None:
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        found |= set(imported(ast.parse(path.read_text("utf-8"))))
    assert found - NOT_FOR_US - sys.stdlib_module_names <= set(OTHERS)


@pytest.mark.parametrize(
    ("files", "script"),
    [
        ({"statistics.py": "x = 1"}, "import statistics; assert statistics.x == 1"),
        ({"rich.py": "x = 1"}, "import rich; assert rich.x == 1"),
        ({"rich/__init__.py": "x = 1", "rich/a.py": "y = 2"}, "import rich.a; assert rich.x + rich.a.y == 3"),
        ({"inner/__init__.py": "import wave", "wave.py": "x = 1"}, "import inner; assert inner.wave.x == 1"),
        ({"wave.py": "x = 1"}, "import wave, torch; assert wave.x == 1"),
        ({"secrets.py": "raise ImportError"}, "import torch; torch.manual_seed(0); torch.randn(2)"),
        ({"sympy.py": "x = 1"}, "import sys, sympy\nassert sys.modules['sympy'] is sympy"),
    ],
)  # fmt: skip
def test_a_script_has_its_own_modules(tmp_path: Path, files: dict[str, str], script: str) -> None:
    before = {name: sys.modules.pop(name) for name in ("statistics", "wave", "secrets") if name in sys.modules}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "s.py").write_text(script)
    known, finders = set(sys.modules), [*sys.meta_path]
    try:
        assert runner.run(runner.Target.of(str(tmp_path / "s.py"))).failure == ""
        beside = [name for name, each in sys.modules.items() if str(tmp_path) in (getattr(each, "__file__", "") or "")]
        assert not {"statistics", "rich", "wave", "sympy"} & set(beside)
        assert sys.meta_path == finders
    finally:
        for name in set(sys.modules) - known:
            if str(tmp_path) in (getattr(sys.modules[name], "__file__", "") or ""):
                del sys.modules[name]
        sys.modules.update(before)
