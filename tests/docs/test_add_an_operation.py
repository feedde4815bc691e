"""The page on adding an operation is followed: its first block becomes part of a family's file, its second is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.docs.pages import blocks

PAGE = ROOT / "docs" / "add-an-operation.md"
FOLLOWED = """
import importlib.machinery as machinery
import sys
from pathlib import Path

operation, test = sys.argv[1:]


class Loader(machinery.SourceFileLoader):
    def get_code(self, name):
        return compile(self.get_data(self.path) + Path(operation).read_bytes(), self.path, "exec")


class Finder(machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = super().find_spec(name, path, target) if name == "autograph_cli.torch._ops.pointwise.special" else None
        if spec is not None:
            spec.loader = Loader(name, spec.origin)
        return spec


sys.meta_path.insert(0, Finder)
import autograph_cli.torch
import pytest

sys.exit(pytest.main([test, "--noconftest", "-q", "-p", "no:cacheprovider", "-W", "error"]))
"""


def test_an_operation_and_its_test_are_the_two_files_of_the_page(tmp_path: Path) -> None:
    files = [text for language, text in blocks(PAGE) if language == "python"]
    names = [tmp_path / "operation.py", tmp_path / "test_logmeanexp.py"]
    for path, text in zip(names, files, strict=True):
        path.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-B", "-c", FOLLOWED, *map(str, names)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{files[1].count('def test_')} passed" in done.stdout
