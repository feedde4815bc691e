"""The same models drawn by other tools and by autograph, on one PyTorch: writes docs/peers.md.

    python benchmarks/peers.py [MODEL ...]

Each drawing is a process of its own, after PyTorch is imported: processor time and peak memory from the model to what the
tool shows, what that weighs and holds, and whether a second process writes the same bytes. It needs PyTorch; a tool that
is not there is left out: `pip install torchviz torchview torchlens tinygrad ai-edge-model-explorer netron playwright`, and
a Chromium for Netron.
"""

from __future__ import annotations

import hashlib
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from peers_viewers import model_explorer, netron, remade, tinygrad

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "peers.md"
sys.path.insert(0, str(ROOT))


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
    """Return what is differentiated: the sum of the outputs, or the penalty on its slope."""
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


DRAWING = (torchviz, torchview, torchlens, tinygrad, model_explorer, netron, autograph)
TOOLS = {each.__name__: each for each in DRAWING}
PACKAGES = dict.fromkeys(TOOLS) | {name: name for name in TOOLS} | {
    "model_explorer": "ai-edge-model-explorer", "autograph": "autograph-cli"
}  # fmt: skip
# Words of a tool's own by which a node of a derivative, the order of one, a parameter and a line of the script are told.
MARKS = {
    "derivatives": ("Backward", "backward=True"),
    "orders": ("order 1",),
    "names": ("0.weight", "cell.weight"),
    "lines": ("peers.py",),
}
RUNS = 3


def one(tool: str, model: str) -> None:
    """One drawing, as JSON on stdout."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    made = models()[model]()
    torch.ones(2, requires_grad=True).sum().backward()
    if tool == "tinygrad":
        made = remade(*made)
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
    }
    print(json.dumps(found | {key: any(mark in text for mark in marks) for key, marks in MARKS.items()}))


def measure(tool: str, model: str) -> dict[str, Any] | str:
    """Some runs of one drawing, their median time; or the last line of its error."""
    runs = []
    for _ in range(RUNS):
        done = subprocess.run([sys.executable, __file__, "--one", tool, model], capture_output=True, text=True)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["failed"])[-1]
        (told,) = (line for line in done.stdout.splitlines() if line.startswith("{"))  # tools print, too
        runs.append(json.loads(told))
    same = len({run["hash"] for run in runs}) == 1
    return runs[0] | {"same": same, "seconds": statistics.median(run["seconds"] for run in runs)}


def page(found: dict[tuple[str, str], dict[str, Any] | str]) -> str:
    """docs/peers.md"""
    parts = (INTRODUCTION, [versions(found), ""], table(found), ["", *REFUSED], refusals(found), ["", *TRIED, ""])
    return "\n".join(line for part in parts for line in part)


INTRODUCTION = """\
# Beside other tools

Made by `python benchmarks/peers.py [MODEL ...]`, which has six models; those in the table were measured. Each tool shows the same ones, each
time in a process of its own, one thread, after PyTorch is imported.

- time: processor time from the model to what the tool shows, its import included (not tinygrad's), over autograph's: medians of
  three runs on a machine that does other things too, so read no more than the size of a ratio. Netron's is without the browser.
- MiB: the memory that this adds at its peak. KiB: what it shows: DOT, for tinygrad and Model Explorer the JSON that their page gets, for
  Netron the picture in its page.
- same: whether every run gives the same bytes. derivatives: whether nodes of the backward pass are in it; orders: whether first derivatives,
  second ones and so on are told apart; names: parameters' names; lines: the lines of the script.

torchview and TorchLens draw the forward pass as it runs, Model Explorer and Netron a program of `torch.export`; torchviz and
autograph the gradient graph; tinygrad the gradients of the same model made of its own layers and tensors, without making kernels.

""".splitlines()
REFUSED = ["## What is not shown", ""]
TRIED = """\
## What they have and a table does not show

Seen with the same versions:

- tinygrad (`VIZ=-1 DEV=NULL TRACEMETA=2 python FILE.py`, what it recorded read by the functions of `tinygrad.viz.serve`): every rewrite of a graph from
  tensors to kernels, one after the other. A node of a gradient says so (`backward=True`) and names its method, not its order; the
  calls that led to a graph are shown for the whole graph.
- Model Explorer (`model-explorer FILE.json`, in Chromium): layers that open in place, a search, numbers on nodes from a second file.
  `autograph render --backward -f model-explorer` is a gradient graph for it: modules are layers there, and nodes go by their `grad_fn`.
- torchvista (`trace_model(model, inputs, export_format="html")`, 0.2.13, in Chromium): the modules of the forward pass, closed to one level, each with a sign
  that opens it and one that tells its parameters' shapes; one file of 2.8 MB for a model of three layers. No derivative, value or line is in it.
- Netron (`netron FILE`, in Chromium): what `torch.export.save` wrote, and what `autograph render -f onnx` did, with shapes on the arrows. The latter is the
  forward graph with the names of parameters and, in each node's description, the line; a gradient that the script takes itself is there as operations.
- TensorBoard (`SummaryWriter.add_graph`, in Chromium): the traced forward graph, with closed modules, a search, and colours
  that modules of one structure share. No derivative or value is in it.

## What a person sees first

`python benchmarks/peers_first_sight.py FOLDER` shows the same models in Chromium (1280 by 800), and takes a screenshot of each. Seconds of processor
time, one run each, on a machine that does other things too: until the page can be opened, with the tool's server, and of the page's main thread
until 2.5 seconds after its picture is there. The MLP, which is made first, has the import of the tool in it; autograph's has a backward pass in it, and all views.

| model | tool | made | shown |
|---|---|---|---|
| MLP | autograph | 1.2 | 0.11 |
| MLP | torchvista | 1.3 | 0.20 |
| MLP | netron | 0.4 | 0.27 |
| MLP | model_explorer | 2.0 | 0.72 |
| MLP | tensorboard | 1.0 | 1.49 |
| ResNet-18 | autograph | 4.9 | 0.33 |
| ResNet-18 | torchvista | 0.7 | 0.27 |
| ResNet-18 | netron | 0.7 | 0.58 |
| ResNet-18 | model_explorer | 2.5 | 0.68 |
| ResNet-18 | tensorboard | 4.8 | 1.37 |
| LeNet | autograph | 1.0 | 0.13 |
| LeNet | torchvista | 0.1 | 0.24 |
| LeNet | netron | 0.1 | 0.27 |
| LeNet | model_explorer | 2.0 | 0.64 |
| LeNet | tensorboard | 1.1 | 1.28 |

The others (small GPT; LSTM, 50 steps) were not measured.

- autograph: each layer with its parameters and shapes, of a long model the modules that fit, letters of 9 pixels or more; beside it the script, results
  and findings. Where values were recorded, as by `autograph open FILE.py`, a parameter's gradient is one click away, in the list of leaves.
- torchvista: the whole model in the window, in which nothing of ResNet-18 can be read before one zooms in. Better: it needs no run of a backward pass, and one
  click tells the shapes of a layer's parameters.
- Netron: the upper end of the graph, readable, all operations open. Better: it is there the soonest, and needs no script where there is a file.
- Model Explorer: one box for the whole model. Better: it is drawn by WebGL, and numbers from a file of one's own can be laid over the nodes.
- TensorBoard: one box between input and output. Better: it stands beside the curves of the training that one already has.
- No number of clicks leads to a gradient in torchvista, Netron, Model Explorer and TensorBoard: they show the forward pass. tinygrad's viewer was not tried in a
  browser.
""".splitlines()


def versions(found: dict[tuple[str, str], dict[str, Any] | str]) -> str:
    """Return what was measured: PyTorch and each tool, with its version."""
    tools = [f"{PACKAGES[tool]} {metadata.version(PACKAGES[tool])}" for tool in dict.fromkeys(t for _, t in found)]
    return f"PyTorch {metadata.version('torch')}, {', '.join(tools)}."


def table(found: dict[tuple[str, str], dict[str, Any] | str]) -> list[str]:
    """The rows of what was shown."""
    word = {True: "yes", False: "no"}
    keys = ("same", *MARKS)
    lines = [f"| model | tool | time | MiB | KiB | {' | '.join(keys)} |", "|---" * (5 + len(keys)) + "|"]
    for (model, tool), told in found.items():
        ours = found[model, "autograph"]
        if isinstance(told, str) or isinstance(ours, str):
            continue
        figures = f"{told['seconds'] / ours['seconds']:.2g} | {told['peak']:.0f} | {told['size']:.0f}"
        lines.append(f"| {model} | {tool} | {figures} | {' | '.join(word[told[key]] for key in keys)} |")
    return lines


def refusals(found: dict[tuple[str, str], dict[str, Any] | str]) -> list[str]:
    """Return what could not be shown, and with which words."""
    return [f"- {model}, {tool}: `{told.strip()}`" for (model, tool), told in found.items() if isinstance(told, str)]


def main(wanted: list[str]) -> None:
    import importlib.util

    tools = [tool for tool in TOOLS if tool == "autograph" or importlib.util.find_spec(tool)]
    names = wanted or list(models())
    found: dict[tuple[str, str], dict[str, Any] | str] = {}
    for model in names:
        found |= {(model, tool): measure(tool, model) for tool in tools}
        PAGE.write_text(page(found))
    print(PAGE.read_text())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:4])
    else:
        main(sys.argv[1:])
