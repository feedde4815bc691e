"""Training steps and kernels on a GPU, beside real PyTorch on the same card, in one interleaved run.

    python benchmarks/gpu.py --write       a table, which goes into benchmarks/README.md and docs/gpu.md (`make bench-gpu` does so)
    python benchmarks/gpu.py --small       sizes for a look at whether all rows run; --device cpu needs no GPU

Both engines get the same weights and inputs, and their results are compared first: a row whose results differ has no time.
Then they take turns, and a turn ends when the device has done its work; the times are medians. PyTorch computes
convolutions in float32, as the other rows are (its default there is TF32). Needs PyTorch with CUDA and the extra `cuda12` or
`cuda13`.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PAGES = Path(__file__).parent / "README.md", Path(__file__).parents[1] / "docs" / "gpu.md"
BEGIN, END = "<!-- written by `make bench-gpu` -->", "<!-- end -->"
ROUNDS, SECONDS = 20, 30.0
"""So many turns, and so long a row, at most; three turns at least."""
Work = Callable[[], Any]
"""One turn; it returns tensors that are compared between the engines."""


# ---------------------------------------------------------------- the rows


def filled(engine: Any, model: Any, device: str) -> Any:
    """A model with the same weights on every engine."""
    made = np.random.default_rng(0)
    with engine.no_grad():
        for p in model.parameters():
            scale = 0.5 / max(p.shape[-1], 1) ** 0.5
            p.copy_(engine.tensor((made.standard_normal(tuple(p.shape)) * scale).astype("float32")))
    return model.to(device)


def normal(engine: Any, device: str, *shape: int) -> Any:
    return engine.tensor(np.random.default_rng(1).standard_normal(shape).astype("float32"), device=device)


def labels(engine: Any, device: str, classes: int, *shape: int) -> Any:
    return engine.tensor(np.random.default_rng(2).integers(0, classes, shape), device=device)


def training(engine: Any, model: Any, x: Any, target: Any, optimizer: str = "SGD") -> Work:
    """One step; it returns the loss, and the gradient that came the longest way."""
    updates = getattr(engine.optim, optimizer)(model.parameters(), lr=1e-3)
    first = next(model.parameters())

    def step() -> Any:
        updates.zero_grad()
        loss = engine.nn.functional.cross_entropy(model(x).flatten(0, -2), target)
        loss.backward()
        updates.step()
        return loss.detach(), first.grad

    return step


def perceptron(engine: Any, device: str, small: bool) -> Work:
    """Smooth activations: at the kink of a ReLU, rounding alone sets gradients apart by more than results may differ."""
    nn, width, batch = engine.nn, 64 if small else 4096, 8 if small else 1024
    model = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 10))
    x = normal(engine, device, batch, width)
    return training(engine, filled(engine, model, device), x, labels(engine, device, 10, batch))


def lenet(engine: Any, device: str, small: bool) -> Work:
    nn, batch = engine.nn, 4 if small else 512
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    x = normal(engine, device, batch, 1, 28, 28)
    return training(engine, filled(engine, model, device), x, labels(engine, device, 10, batch))


def resnet18(engine: Any, device: str, small: bool) -> Work:
    nn, batch, size = engine.nn, 2 if small else 128, 64 if small else 224

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, inner: int, outer: int, stride: int) -> None:
            super().__init__()
            self.path = nn.Sequential(
                nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(),
                nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer),
            )  # fmt: skip
            same = stride == 1 and inner == outer
            cut = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))
            self.shortcut = nn.Identity() if same else cut

        def forward(self, x: Any) -> Any:
            return (self.path(x) + self.shortcut(x)).relu()

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for inner, outer, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        layers += [Block(inner, outer, stride), Block(outer, outer, 1)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    x = normal(engine, device, batch, 3, size, size)
    return training(engine, filled(engine, model, device), x, labels(engine, device, 1000, batch))


def gpt(engine: Any, device: str, small: bool) -> Work:
    nn, width, depth, batch, length = engine.nn, *((32, 2, 2, 16) if small else (768, 12, 8, 512))
    words, heads = (100, 2) if small else (50257, 12)

    class GPT(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, depth, nn.LayerNorm(width), enable_nested_tensor=False)
            self.head = nn.Linear(width, words, bias=False)

        def forward(self, x: Any) -> Any:
            mask = nn.Transformer.generate_square_subsequent_mask(length, device=device)
            h = self.words(x) + self.places(engine.arange(length, device=device))
            return self.head(self.layers(h, mask=mask, is_causal=True))

    x = labels(engine, device, words, batch, length)
    return training(engine, filled(engine, GPT(), device), x, x.flatten(), "AdamW")


def matmul(dtype: str, precision: str = "highest") -> Callable[..., Work]:
    def made(engine: Any, device: str, small: bool) -> Work:
        n = 64 if small else 8192
        a = normal(engine, device, n, n).to(getattr(engine, dtype))

        def run() -> Any:
            engine.set_float32_matmul_precision(precision)
            found = a @ a
            engine.set_float32_matmul_precision("highest")
            return found

        return run

    return made


def chain(engine: Any, device: str, small: bool) -> Work:
    x = normal(engine, device, 1000 if small else 64_000_000).requires_grad_()

    def run() -> Any:
        x.grad = None
        (x.sin() * x + x.cos()).tanh().sum().backward()
        return x.grad

    return run


def tiny(engine: Any, device: str, small: bool) -> Work:
    x = engine.full((), 0.5, device=device)

    def run() -> Any:
        h = x
        for _ in range(25 if small else 25_000):
            h = (h * x + x).sin().exp()
        return h

    return run


ROWS: dict[str, tuple[Callable[..., Work], float]] = {
    "MLP 4096, batch 1024, step of SGD": (perceptron, 1e-3),
    "LeNet, batch 512, step of SGD": (lenet, 1e-3),
    "ResNet-18, batch 128, step of SGD": (resnet18, 1e-2),
    "GPT 12 x 768, batch 8 x 512, step of AdamW": (gpt, 1e-2),
    "matmul 8192, float32": (matmul("float32"), 1e-3),
    "matmul 8192, TF32": (matmul("float32", "high"), 1e-2),
    "matmul 8192, float16": (matmul("float16"), 1e-2),
    "matmul 8192, bfloat16": (matmul("bfloat16"), 2e-2),
    "64M elements, forward and backward": (chain, 1e-3),
    "100,000 operations on 0-d tensors": (tiny, 1e-3),
}
"""What makes the turns of each row, and how far the results may lie apart, of the largest number in them."""


# ---------------------------------------------------------------- measuring


def numbers(work: Work) -> list[Any]:
    """Return what a turn returns, as arrays of the CPU."""
    found = work()
    return [x.detach().float().cpu().numpy() for x in (found if isinstance(found, tuple) else (found,))]


def apart(mine: list[Any], theirs: list[Any]) -> float:
    """Return how far results are apart, each by the largest number in it."""
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(mine, theirs, strict=True))


def measure(name: str, sides: list[tuple[Any, str]], small: bool = False) -> list[float] | str:
    """Median seconds of each engine on its device; or what one says against the row, or how far the results differ."""
    make, tolerance = ROWS[name]
    works, found = [], []
    for engine, device in sides:
        try:
            works.append(make(engine, device, small))
            numbers(works[-1])  # kernels are compiled
            found.append(numbers(works[-1]))
        except (NotImplementedError, RuntimeError) as error:
            return f"{engine.__name__}: {str(error).split('. ')[0]}"
    difference = apart(found[0], found[-1])
    if not difference <= tolerance:
        return f"results differ by {difference:.1e} of the largest"
    times: list[list[float]] = [[] for _ in works]
    began = time.perf_counter()
    while len(times[0]) < (1 if small else ROUNDS):
        for (engine, device), work, taken in zip(sides, works, times, strict=True):
            start = time.perf_counter()
            work()
            if device == "cuda":
                engine.cuda.synchronize()
            taken.append(time.perf_counter() - start)
        if len(times[0]) >= 3 and time.perf_counter() - began > SECONDS:
            break
    return [statistics.median(taken) for taken in times]


def row(name: str, found: list[float] | str) -> str:
    """A line of the table."""
    if isinstance(found, str):
        return f"| {name} | {found} | | |"
    mine, theirs = found
    return f"| {name} | {mine * 1e3:.3g} ms | {theirs * 1e3:.3g} ms | {mine / theirs:.2f} |"


def table(sides: list[tuple[Any, str]], small: bool = False, only: str = "") -> list[str]:
    """All rows."""
    lines = ["| | autograph | PyTorch | ratio |", "|---|---|---|---|"]
    for name in ROWS:
        if re.search(only, name):
            lines.append(row(name, measure(name, sides, small)))
            print(lines[-1], flush=True)
            for engine, device in sides:
                if device == "cuda":
                    engine.cuda.empty_cache()
    return lines


def main() -> None:
    import torch as reference

    from autograph_cli import torch as ours

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", default="", help="a regular expression that names of rows must match")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/README.md and docs/gpu.md")
    asked = parser.parse_args()
    card = ours.cuda.get_device_name() if asked.device == "cuda" else "the CPU"
    reference.backends.cudnn.allow_tf32 = False
    lines = table([(ours, asked.device), (reference, asked.device)], asked.small, asked.only)
    if asked.write:
        text = "\n".join([f"On {card}, beside PyTorch {reference.__version__}:", "", *lines])
        for page in PAGES:
            before, _, rest = page.read_text().partition(BEGIN)
            page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
