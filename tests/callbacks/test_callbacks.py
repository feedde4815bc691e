"""Recording from within Lightning's and transformers' trainers, where these are installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tests.conftest import Run

LIGHTNING = """
import torch, lightning as L
from autograph_cli.callbacks.lightning import RecordGraph
class M(L.LightningModule):
    def __init__(s): super().__init__(); s.l=torch.nn.Linear(3,1)
    def training_step(s,b,i): return s.l(b[0]).pow(2).mean()
    def configure_optimizers(s): return torch.optim.SGD(s.parameters(),0.1)
d=torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(8,3)),batch_size=2)
L.Trainer(max_epochs=1,logger=False,enable_checkpointing=False,enable_progress_bar=False,enable_model_summary=False,accelerator="cpu",callbacks=[RecordGraph("trace.json")]).fit(M(),d)
"""
TRANSFORMERS = """
import torch, transformers, logging
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from autograph_cli.callbacks.transformers import RecordGraph
m=GPT2LMHeadModel(GPT2Config(n_layer=2,n_head=2,n_embd=16,vocab_size=32,n_positions=16))
data=[{"input_ids":torch.arange(8),"labels":torch.arange(8)} for _ in range(8)]
t=Trainer(m,TrainingArguments("out",max_steps=3,per_device_train_batch_size=2,report_to=[],save_strategy="no",use_cpu=True,disable_tqdm=True),train_dataset=data,callbacks=[RecordGraph("trace.json")])
t.train()
"""
STEPS = {"lightning": 4, "transformers": 3}


@pytest.mark.parametrize("package", STEPS)
def test_a_callback_keeps_the_trace(python: Run, tmp_path: Path, package: str) -> None:
    for needed in ("torch", package):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    (tmp_path / "fit.py").write_text({"lightning": LIGHTNING, "transformers": TRANSFORMERS}[package])
    done = python("fit.py")
    assert done.returncode == 0, done.stderr
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert (trace["script"], trace["engine"], trace["total_steps"]) == ("fit.py", "pytorch", STEPS[package])
    assert [step["number"] for step in trace["steps"]] == [0, STEPS[package] - 1]


STAND_INS = {
    "lightning/__init__.py": "",
    "lightning/pytorch.py": """
class Callback: ...
class Trainer:
    def __init__(self, callback):
        self.callback = callback
    def fit(self, step):
        try:
            self.callback.on_train_start(self, None)
            for number in range(4):
                step(number)
            self.callback.on_train_end(self, None)
        except BaseException as error:
            self.callback.on_exception(self, None, error)
            raise
""",
    "transformers.py": """
class TrainerCallback: ...
class Handler: ...
class Trainer:
    def __init__(self, callback):
        self.callback_handler = Handler()
        self.callback_handler.callbacks = [callback]
    def train(self, step):
        callback, = self.callback_handler.callbacks
        callback.on_train_begin(None, None, None)
        for number in range(4):
            step(number)
        callback.on_train_end(None, None, None)
    fit = lambda self, step: self.train(step)
""",
}
"""As much of the packages as the callbacks meet."""
FIT = """
import pathlib, sys
from autograph_cli import engines, torch
from autograph_cli.record.names import source_locations
packages = str(pathlib.Path("packages").absolute())
source_locations._PACKAGES = (*source_locations._PACKAGES, packages)
sys.path.append(packages)
connect = engines.connect
engines.connect = lambda name: connect("builtin")
from {trainers} import Trainer
from autograph_cli.callbacks.{package} import RecordGraph

def main():
    weight = torch.ones(3, requires_grad=True)
    def step(number):
        if number == 2:
            {happens}
        (weight * number).sum().backward()
    try:
        Trainer(RecordGraph({path!r})).fit(step)
    except BaseException as error:
        print(type(error).__name__)
    (weight * 2).exp().sum().backward()

main()
"""
ENDINGS = {
    "pass": ("", 4, ""),
    "raise ValueError('bad')": ("ValueError\n", 2, "ValueError: bad"),
    "raise KeyboardInterrupt": ("KeyboardInterrupt\n", 2, "KeyboardInterrupt"),
    "sys.exit(3)": ("SystemExit\n", 2, "SystemExit: 3"),
}
"""What happens in the third step; what is printed, how many steps are recorded, and the failure that is kept."""


def fitted(python: Run, folder: Path, package: str, happens: str, path: str) -> tuple[str, str]:
    """Return what a script printed that trains with a stand-in for the package."""
    for name, text in STAND_INS.items():
        (folder / "packages" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "packages" / name).write_text(text)
    trainers = {"lightning": "lightning.pytorch"}.get(package, package)
    (folder / "fit.py").write_text(FIT.format(package=package, trainers=trainers, happens=happens, path=path))
    done = python("fit.py")
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("happens", ENDINGS)
@pytest.mark.parametrize("package", STEPS)
def test_the_trace_is_kept_however_a_training_ends(python: Run, tmp_path: Path, package: str, happens: str) -> None:
    """And what the script does afterwards is not in it."""
    printed, steps, failure = ENDINGS[happens]
    assert fitted(python, tmp_path, package, happens, "trace.json") == (printed, "")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert (trace["script"], trace["total_steps"], trace["failure"]) == ("fit.py", steps, failure)
    sources = {node["source"]["file"] for step in trace["steps"] for node in step["graph"]["nodes"] if "source" in node}
    assert sources == {"fit.py"}
    assert "exp" not in json.dumps(trace["steps"])


@pytest.mark.parametrize("package", STEPS)
def test_a_trace_that_cannot_be_written_hides_no_exception(python: Run, tmp_path: Path, package: str) -> None:
    printed, told = fitted(python, tmp_path, package, "raise ValueError('bad')", "no/such/folder.json")
    assert (printed, told.count("\n")) == ("ValueError\n", 1)
    assert told.startswith("autograph: Cannot write no/such/folder.json")
