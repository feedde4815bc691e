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
PROGRAMS = {"lightning": (LIGHTNING, 4), "transformers": (TRANSFORMERS, 3)}


@pytest.mark.parametrize("package", PROGRAMS)
def test_a_callback_keeps_the_trace(python: Run, tmp_path: Path, package: str) -> None:
    for needed in ("torch", package):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    program, steps = PROGRAMS[package]
    (tmp_path / "fit.py").write_text(program)
    done = python("fit.py")
    assert done.returncode == 0, done.stderr
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert (trace["engine"], trace["total_steps"]) == ("pytorch", steps)
    assert [step["number"] for step in trace["steps"]] == [0, steps - 1]
