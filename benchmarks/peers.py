"""The same models drawn by torchviz, torchview, TorchLens and autograph, on one PyTorch: writes docs/peers.md.

    python benchmarks/peers.py [MODEL ...]

Each drawing is a process of its own, after PyTorch is imported: seconds and peak memory from the model to DOT, what the
DOT weighs and holds, and whether a second process writes the same bytes. It needs PyTorch and the packages torchviz,
torchview and torchlens (no dependencies); what is not there is left out.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "peers.md"


def models() -> dict[str, Callable[[], tuple[Any, Any, bool]]]:
    """By name: what makes a module, its input, and whether a gradient penalty is taken."""
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
                nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after),
            )  # fmt: skip
            same = before == after
            self.around = nn.Identity() if same else nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            return torch.relu(self.inner(x) + self.around(x))

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.inner = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            several = [p.unflatten(-1, (4, -1)).transpose(1, 2) for p in self.attention(self.before(x)).chunk(3, -1)]
            found = nn.functional.scaled_dot_product_attention(*several, is_causal=True).transpose(1, 2).flatten(2)
            x = x + self.out(found)
            return x + self.inner(self.after(x))

    class Steps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.head = nn.LSTMCell(8, 16), nn.Linear(16, 1)

        def forward(self, x: Any) -> Any:
            state = None
            for t in range(50):
                state = self.cell(x[t], state)
            return self.head(state[0])

    def mlp() -> Any:
        return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))

    def resnet() -> Any:
        sizes = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2)]
        stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        blocks = [Residual(*size) for size in (*sizes, (512, 512, 1))]
        return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))

    def lenet() -> Any:
        return nn.Sequential(
            nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
        )  # fmt: skip

    def gpt() -> Any:
        return nn.Sequential(nn.Embedding(64, 64), *[Block(64) for _ in range(2)], nn.Linear(64, 64))

    return {
        "MLP": lambda: (mlp(), torch.rand(4, 8), False),
        "LeNet": lambda: (lenet(), torch.rand(4, 1, 28, 28), False),
        "ResNet-18": lambda: (resnet(), torch.rand(2, 3, 64, 64), False),
        "small GPT": lambda: (gpt(), torch.randint(64, (2, 16)), False),
        "LSTM, 50 steps": lambda: (Steps(), torch.rand(50, 2, 8), False),
        "gradient penalty": lambda: (mlp(), torch.rand(4, 8, requires_grad=True), True),
    }


def computed(model: Any, x: Any, penalty: bool) -> Any:
    """What is differentiated: the sum of the outputs, or the penalty on its slope."""
    import torch

    total = model(x).sum()
    if not penalty:
        return total
    (slope,) = torch.autograd.grad(total, x, create_graph=True)
    return ((slope.norm(dim=1) - 1) ** 2).mean()


def torchviz(model: Any, x: Any, penalty: bool) -> str:
    import torchviz as tool

    return str(tool.make_dot(computed(model, x, penalty), params=dict(model.named_parameters())).source)


def torchview(model: Any, x: Any, penalty: bool) -> str:
    import torchview as tool

    return str(tool.draw_graph(model, input_data=x, expand_nested=True).visual_graph.source)


def torchlens(model: Any, x: Any, penalty: bool) -> str:
    import torchlens as tool

    with tempfile.TemporaryDirectory() as folder:
        drawn = tool.trace(model, x).draw(vis_outpath=f"{folder}/graph", vis_save_only=True, vis_fileformat="svg")
        sources = [path for path in Path(folder).iterdir() if path.suffix in ("", ".dot", ".gv")]
        return sources[0].read_text() if sources else str(drawn)


def autograph(model: Any, x: Any, penalty: bool) -> str:
    import autograph_cli

    with autograph_cli.record(steps="all") as trace:
        computed(model, x, penalty).backward()
    with tempfile.TemporaryDirectory() as folder:
        trace.render(path := f"{folder}/graph.dot", view="double-backward" if penalty else "backward")
        return Path(path).read_text()


TOOLS = {each.__name__: each for each in (torchviz, torchview, torchlens, autograph)}


def one(tool: str, model: str) -> None:
    """One drawing, as JSON on stdout."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    made = models()[model]()
    torch.ones(2, requires_grad=True).sum().backward()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    text = TOOLS[tool](*made)
    took = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    found = {
        "seconds": took,
        "peak": peak / 1024,
        "size": len(text.encode()) / 1024,
        "hash": hashlib.sha256(text.encode()).hexdigest(),
        "orders": "order 1" in text,
        "names": "0.weight" in text or "cell.weight" in text,
        "lines": "peers.py" in text,
    }
    print(json.dumps(found))


def measure(tool: str, model: str) -> dict[str, Any] | str:
    """Two runs of one drawing, the first one's figures; or the last line of its error."""
    runs = []
    for _ in range(2):
        done = subprocess.run([sys.executable, __file__, "--one", tool, model], capture_output=True, text=True)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["failed"])[-1][:90]
        runs.append(json.loads(done.stdout.strip().splitlines()[-1]))
    return runs[0] | {"same": runs[0]["hash"] == runs[1]["hash"], "seconds": min(run["seconds"] for run in runs)}


def page(found: dict[tuple[str, str], dict[str, Any] | str]) -> str:
    """docs/peers.md"""
    import torch

    word = {True: "yes", False: "no"}
    lines = [
        "# Beside other tools",
        "",
        f"Made by `python benchmarks/peers.py` on PyTorch {torch.__version__}; not to be edited by hand. Each tool draws the same",
        "models, each time in a process of its own, one thread: seconds of processor time and MiB of memory from the model to DOT,",
        "the import of the tool included; KiB of DOT; whether two runs give the same bytes; whether orders of derivative are told",
        "apart, and whether parameters' names and source lines are in it. torchview and TorchLens draw the forward pass,",
        "torchviz and autograph the gradient graph, autograph with all orders of the gradient penalty apart.",
        "",
        "| model | tool | seconds | MiB | KiB | same bytes | orders | names | lines |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (model, tool), told in found.items():
        if isinstance(told, str):
            lines.append(f"| {model} | {tool} | {told} | | | | | | |")
            continue
        flags = " | ".join(word[told[key]] for key in ("same", "orders", "names", "lines"))
        lines.append(
            f"| {model} | {tool} | {told['seconds']:.2f} | {told['peak']:.0f} | {told['size']:.0f} | {flags} |"
        )
    return "\n".join([*lines, ""])


def main(wanted: list[str]) -> None:
    import importlib.util

    tools = [tool for tool in TOOLS if tool == "autograph" or importlib.util.find_spec(tool)]
    names = wanted or list(models())
    found = {(model, tool): measure(tool, model) for model in names for tool in tools}
    PAGE.write_text(page(found))
    print(PAGE.read_text())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:4])
    else:
        main(sys.argv[1:])
