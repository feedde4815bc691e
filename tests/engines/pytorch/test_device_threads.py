"""PyTorch runs the nodes of a device in a thread of the device's own: what is recorded of them is what the CPU's thread
would tell."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

BY_PYTHON = "torch.utils.backend_registration"


def _has_devices_of_python() -> bool:
    """Return whether the installed PyTorch takes a device that is written in Python, as from 2.10 on."""
    if importlib.util.find_spec("torch") is None:
        return False
    found = importlib.util.find_spec(BY_PYTHON)
    return found is not None and "for_python_backend" in str(found.loader.get_data(found.origin))  # type: ignore


@pytest.mark.skipif(not _has_devices_of_python(), reason="PyTorch from 2.10 on is not installed")
def test_passes_in_threads_of_a_device_are_recorded_as_those_of_the_cpu(
    python: Callable[..., CompletedProcess[str]],
) -> None:
    done = python("-W", "ignore", "-m", "tests.engines.pytorch.device_programs")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 9
    assert {name: there for name, (_, there) in found.items()} == {name: cpu for name, (cpu, _) in found.items()}
    assert all(cpu.startswith("None\n") for cpu, _ in found.values())


CAPTURE = """
import torch
from autograph_cli.engines import connect
from autograph_cli.record.recorder import Recorder
recorder = Recorder("all", record={"values", "time"}, engine=connect("torch"))
torch.cuda.is_initialized = torch.cuda.is_current_stream_capturing = lambda: True
w = torch.ones(3, requires_grad=True)
recorder.start()
(w * 2).sum().backward()
trace = recorder.finish({"w": w})
print(repr(recorder.broken), [node.measured.values for node in trace.steps[0].graph if node.measured])
"""


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_no_number_is_read_while_a_cuda_graph_is_captured(python: Callable[..., CompletedProcess[str]]) -> None:
    done = python("-c", CAPTURE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("'' [")
    assert "Summary" not in done.stdout


ZEROED = """
from tests.engines.pytorch import device_thread
import torch
device_thread.register()
model = torch.nn.Linear(3, 1).to(device_thread.NAME)
optimizer = torch.optim.SGD(model.parameters(), 0.1, foreach=False)
x = torch.ones(4, 3).to(device_thread.NAME)
for _ in range(4):
    optimizer.zero_grad(set_to_none=False)
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.skipif(not _has_devices_of_python(), reason="PyTorch from 2.10 on is not installed")
def test_gradients_of_a_device_that_were_set_to_zero_do_not_add_up(
    python: Callable[..., CompletedProcess[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zeroed.py").write_text(ZEROED)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    done = python("-m", "autograph_cli", "explain", "--engine", "torch", str(tmp_path / "zeroed.py"))
    assert "zeroed.py: nothing found" in done.stdout + done.stderr
