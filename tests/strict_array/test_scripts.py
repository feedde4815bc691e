"""The samples and the programs on a GPU: they print what they print on the CPU, and leave the same graphs.

What they print differs where PyTorch tells the device, and where a line with it becomes too long. Random numbers are
those of the CPU in both runs, for PyTorch draws others on a GPU.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli import torch
from autograph_cli.graph import Snapshot, compare
from autograph_cli.graph.snapshot_reader import read_snapshot
from autograph_cli.record.run import runner
from autograph_cli.testing import files, settings
from autograph_cli.testing.recording import recorded
from autograph_cli.testing.scripts import snapshot_path, trace_sections
from tests.record.run.test_programs import same_text

ROOT = Path(__file__).parent.parent.parent
SETTINGS = settings.load(ROOT)
SCRIPTS = [path.relative_to(ROOT).as_posix() for pattern in SETTINGS.files for path in sorted(ROOT.glob(pattern))]
OF_NUMPY = "tests/programs/14_cube_function.py"
"""Asks a tensor for its array, which is refused on a GPU."""
TOLD = {"@cuda:0": "", ", device='cuda:0'": "", "device = cuda:0": "device = cpu", "is_cuda = True": "is_cuda = False"}
"""How a device is told, and what stands there on the CPU."""


def as_on_the_cpu(text: str) -> str:
    for there, here in TOLD.items():
        text = text.replace(there, here)
    return text


def in_a_row(text: str) -> str:
    return " ".join(text.split())


def ran(script: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Return what a script prints, and its snapshot."""
    target = runner.Target.of(str(ROOT / script), tuple(SETTINGS.arguments.get(script, ())))
    result, trace = recorded(target, SETTINGS.steps)
    said = capsys.readouterr()
    assert result.exit_code == 0, said.err
    assert not said.err
    sections = trace_sections(trace, SETTINGS)
    return said.out, Snapshot(Path(script).name, sections, SETTINGS.include, trace.total_steps).to_text()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("on_gpu")
@pytest.mark.parametrize("script", [script for script in SCRIPTS if script != OF_NUMPY])
def test_a_script_differs_by_the_device_alone(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    torch.set_default_device(None)
    printed, _ = ran(script, capsys)
    torch.set_default_device("cuda")
    printed_there, snapshot = ran(script, capsys)
    assert same_text(in_a_row(as_on_the_cpu(printed_there)), in_a_row(as_on_the_cpu(printed)))
    # What hooks change is looked at on the CPU alone.
    found = compare(replace(files.load(snapshot_path(ROOT / script)), hooks=()), read_snapshot(as_on_the_cpu(snapshot)))
    assert not found, "\n".join([*found.sentences, "", found.to_text()])


@pytest.mark.usefixtures("on_gpu")
def test_a_script_that_asks_for_an_array_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    result, _ = runner.record(runner.Target.of(str(ROOT / OF_NUMPY)))
    assert result.exit_code == 2
    assert "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()" in capsys.readouterr().err
