"""Shows what TorchLens' `first_divergence` and autograph's say of the same pairs of models.

    python benchmarks/divergence_peers.py

Needs PyTorch and torchlens. A pair is one small model with one line written in two ways.
"""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from typing import Any

import torch

from autograph_cli.graph.divergence import divergence
from autograph_cli.graph.parting_text import sentence
from autograph_cli.record.run.runner import Target, record

MODEL = """\
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.norm, self.two = nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 3)
    def forward(self, x):
        h = self.one(x)
        h = WAY
        return self.two(self.norm(h))
net, x = Net(), torch.randn(5, 6)
"""
LOSS = "loss = net(x).pow(3).mean()\nloss.backward()\n"
USUAL = "torch.tanh(h)"
PAIRS = {
    "the same": USUAL,
    "another activation": "nn.functional.gelu(h)",
    "moved by 0.001": "torch.tanh(h + 0.001)",
    "composed: rounding alone": "2 * torch.sigmoid(2 * h) - 1",
    "times 1.7 / 1.7: rounding alone": "torch.tanh(h * 1.7 / 1.7)",
    "half detached": "0.5 * torch.tanh(h) + 0.5 * torch.tanh(h).detach()",
    "a hook that doubles the gradient": "(h.requires_grad and h.register_hook(lambda g: 2 * g), torch.tanh(h))[1]",
}


def lens(torchlens: Any, way: str) -> Any:
    """The trace of the model's forward pass."""
    scope: dict[str, Any] = {}
    exec(MODEL.replace("WAY", way), scope)
    return torchlens.trace(scope["net"], scope["x"])


def ours(way: str, folder: Path, name: str) -> Any:
    """The trace of the script."""
    path = folder / name
    path.write_text(MODEL.replace("WAY", way) + LOSS, "utf-8")
    return record(Target.of(str(path)), "all", record=("values",), engine="torch")[1]


def main() -> None:
    """Print a row for each pair."""
    with tempfile.TemporaryDirectory() as place:
        old = ours(USUAL, Path(place), "a.py")
        found = {name: divergence(old, ours(way, Path(place), "b.py")) for name, way in PAIRS.items()}
    torchlens = importlib.import_module("torchlens")  # after the runs above, for it wraps PyTorch's functions
    its = lens(torchlens, USUAL)
    print("| pair | torchlens | autograph |\n|---|---|---|")
    for name, way in PAIRS.items():
        row = torchlens.debug.first_divergence(its, lens(torchlens, way))
        told = "none" if row is None else f"{row['op']}: {row['reason'] or row['status']}"
        print(f"| {name} | {told} | {sentence(found[name], ('a.py', 'b.py'))} |", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
