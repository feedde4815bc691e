"""Loops of many lengths and kinds, recorded as `autograph run` does: prints which steps of each kind there were, and which
are kept.

    python last_steps.py builtin FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from autograph_cli.engines import connect
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run.runner import Target, record

HEAD = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
torch.manual_seed(0)
model, other = nn.Linear(2, 1), nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(4, 2)
pairs = [torch.ones(4, 2)] * 120
def step(data=x):
    optimizer.zero_grad()
    loss = model(data).pow(2).mean()
    loss.backward()
    optimizer.step()
class Numbers(Dataset):
    def __init__(self):
        self.numbers = torch.ones(70, 2)
    def __len__(self):
        "How many there are."
        return len(self.numbers)
    def __getitem__(self, n):
        return self.numbers[n]
def bar(given):
    yield from given
"""
LOOPS = {
    **{f"range {n}": f"for i in range({n}):\n    step()" for n in (1, 2, 5, 15, 16, 17, 18, 20, 33, 100, 1000)},
    **{f"while {n}": f"i = 0\nwhile i < {n}:\n    step()\n    i += 1" for n in (5, 17, 20, 60)},
    "GAN": "for i in range(90):\n    model(x).mean().backward()\n    other(x).mean().backward()",
    "GAN, 5 critics": """
for i in range(60):
    for _ in range(5):
        model(x).mean().backward()
    other(x).mean().backward()
""",
    "accumulation": """
for i in range(90):
    (model(x).mean() / 4).backward()
    if i % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
""",
    "every tenth": "for i in range(305):\n    step()\n    if i % 10 == 9:\n        other(x).mean().backward()",
    "epochs": """
data, epochs = DataLoader(TensorDataset(torch.ones(70, 2)), batch_size=4, shuffle=True), 7
for epoch in range(epochs):
    for (batch,) in data:
        step(batch)
    with torch.no_grad():
        model(x)
""",
    "functions": """
def epoch(data):
    for i, batch in enumerate(data, start=1):
        step(batch)
def main(settings):
    data = DataLoader(Numbers(), settings["batch"], drop_last=True)
    for n in range(1, settings["epochs"] + 1):
        epoch(data)
main({"batch": 4, "epochs": 6})
""",
    "slices": """
data = torch.ones(600, 2)
for epoch in range(3):
    for at in range(0, data.size(0), 10):
        step(data[at : at + 10])
""",
    "zip": "for a, b in zip(pairs, pairs[:90]):\n    step(b)",
    "counted": "for each in pairs:\n    step(each)",
    "two kinds of loops": "for rate in (1, 2, 3):\n    for i in range(40):\n        step()",
    "backwards": "for i in reversed(range(90)):\n    step()",
    "skipped": "for epoch in range(3):\n    for i in range(50):\n        if i % 3 == 1:\n            continue\n        step()",
    "now and then": "n = 0\nfor each in pairs:\n    n += 1\n    if n % 7 == 0:\n        step()",
    "broken off": "for i in range(10_000):\n    step()\n    if i == 40:\n        break",
    "returned": "def search():\n    for i in range(10_000):\n        step()\n        if i == 40:\n            return\nsearch()",
    "some function's": "for each in bar(pairs[:50]):\n    step(each)",
    "parts": "for rows in torch.randperm(500).split(10):\n    step(torch.ones(500, 2)[rows])",
    "a class": """
class Trainer:
    def __init__(self, turns):
        self.turns = turns
    def fit(self):
        for turn in range(self.turns):
            self.turn()
    def turn(self):
        step()
Trainer(75).fit()
""",
    "then a sum": "for i in range(90):\n    step()\ntotal = model.weight.sum()",
}


def told(engine: str, body: str, file: Path) -> tuple[list[int], list[int]]:
    """Return the number of the last step of each kind, and those of the steps that are kept."""
    file.write_text(HEAD + body + "\n", encoding="utf-8")
    recorder = Recorder("first,last", file.name, engine=connect(engine), each=False)
    result, trace = record(Target("file", str(file)), recorder=recorder, engine=engine)
    assert not result.failure and not recorder.broken, (result.failure, recorder.broken)
    return [kind.last + 1 for kind in trace.kinds] or [trace.total_steps], [step.nth for step in trace.steps]


def main(engine: str, folder: str) -> None:
    if engine == "torch":
        import torch  # noqa: F401
    found = [told(engine, body, Path(folder) / f"loop{n}.py") for n, body in enumerate(LOOPS.values())]
    json.dump(dict(zip(LOOPS, found, strict=True)), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
