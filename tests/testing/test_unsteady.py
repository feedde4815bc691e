"""Positions that a script draws at random are compared as long as the same ones are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.testing import checking, sweeps
from autograph_cli.testing.checking import Result
from autograph_cli.testing.settings import Settings

SCRIPT = """
import torch

torch.manual_seed(1337)
data = torch.randn(400)
model = torch.nn.Linear(8, 8)
for step in range(2):
    starts = torch.randint(len(data) - 9, (6,))
    x = torch.stack([data[i : i + 8] for i in starts])
    y = torch.stack([data[i + 1 : i + 9] for i in starts])
    loss = (model(x) - y).square().mean()
    loss.backward()
"""


def settled(script: Path, mode: str) -> Result:
    with sweeps.pool(1, False) as pool:
        assert pool is not None
        (result,) = checking.check([script], Settings(script.parent), mode, pool)  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("seed(1337)", "seed(1338)", ""),
        ("    starts", "    torch.rand(3)\n    starts", ""),
        ("data[i + 1 : i + 9]", "data[i : i + 8]", "is called with end="),
        ("Linear(8, 8)", "Linear(8, 8, bias=False)", "`model.bias` no longer gets a gradient"),
        ("range(2)", "range(3)", "the script made 3 steps, not 2"),
    ],
    ids=["seed", "another-draw", "not-shifted", "no-bias", "more-steps"],
)
def test_random_positions(tmp_path: Path, old: str, new: str, told: str) -> None:
    script = tmp_path / "batches.py"
    script.write_text(SCRIPT, "utf-8")
    assert settled(script, "write").outcome.status == "written"
    script.write_text(SCRIPT.replace(old, new), "utf-8")
    found = settled(script, "check")
    sentences = [] if not found.outcome.diff else found.outcome.diff.sentences
    assert found.outcome.status == ("different" if told else "same"), sentences
    assert told in "\n".join(sentences)
    assert any("random positions" in note for note in found.notes) == ("end=" not in told)
    assert not ("bias" in told and any("slice" in one for one in sentences))
