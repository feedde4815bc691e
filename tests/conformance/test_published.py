"""Published scripts are taken from READMEs and notebooks, and what they print is compared without times and rounding."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from conformance import libraries, published
from tests.processes import finished

README = """Metadata-Version: 2.1
Name: Two-Blocks
Version: 1.0

```python
import torch
x = torch.ones(2, 1024, requires_grad=True)
y = (x * 3).tanh().sum(1)
made = dict(depth = 12)
```

```python
no_import_of(torch)
```
"""


@pytest.fixture
def found(tmp_path: Path) -> list[tuple[str, str, str]]:
    package = tmp_path / "libs" / "two_blocks-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text(README)
    notebook = tmp_path / "sources" / "some-lib-2.0" / "A first try.ipynb"
    notebook.parent.mkdir(parents=True)
    cells = [
        {"cell_type": "markdown", "source": ["words"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import torch\n", "print(torch.ones(2))"]},
    ]
    notebook.write_text(json.dumps({"cells": cells}))
    return list(published.scripts(tmp_path / "libs", tmp_path / "sources"))


def test_blocks_and_notebooks_that_import_pytorch_become_scripts(found: list[tuple[str, str, str]]) -> None:
    assert [row[:2] for row in found] == [("two-blocks", "readme_01"), ("some-lib", "A_first_try")]
    assert "torch.ones(2, 128, requires_grad=True)" in found[0][2] and "depth = 2" in found[0][2]
    assert "pass\nimport torch" in found[1][2]


def test_a_script_tells_the_tensors_and_gradients_that_it_leaves(
    found: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(found[0][2])
    command = [sys.executable, "-m", "autograph_cli", "run", "-q", str(script)]
    done = finished(command, cwd=tmp_path, check=True)
    name, first, second = done.stdout.splitlines()[1:]
    assert name == "y (2,) torch.float32 254.734 254.734"
    assert first.startswith("  order 1: 1 (2, 128) torch.float32 965.071 965.071")
    assert second.startswith("  order 2: (2, 128) torch.float32 ")


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("took 3.25s, 12 ms <X object at 0x12ab>", "took 0.25 s, 900 us <X object at 0x77>", True),
        ("x (2,) torch.float32 1e-07 12.5", "x (2,) torch.float32 -3e-06 12.5", True),
        ("x (2,) torch.float32 6.25 12.5", "x (2,) torch.float32 -6.25 12.5", False),
        ("x (2,) torch.float32 6.25 12.5", "x (3,) torch.float32 6.25 12.5", False),
        ("x (2,) torch.float32 6.25 12.5", "x (2,) torch.float64 6.25 12.5", False),
        ("loss 1.000", "loss 1.009", True),
        ("loss 1.0", "loss 1.1", False),
        ("loss 1.0", "loss 1.0 2.0", False),
    ],
)
def test_rounding_and_times_do_not_count(ours: str, theirs: str, same: bool) -> None:
    assert libraries.same(published.comparable(ours), published.comparable(theirs), 1e-2, 1e-2) is same
