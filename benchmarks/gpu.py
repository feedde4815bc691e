"""Training steps and kernels on a GPU, beside real PyTorch on the same card, in one interleaved run.

    python benchmarks/gpu.py               a table; ratios under 1 mean that autograph is faster
    python benchmarks/gpu.py --small       sizes for a look at whether all rows run; --device cpu needs no GPU

Each row is the median over rounds in which the two engines take turns; a round ends when the device has done its work. A
row that an engine refuses shows why. Needs the `torch` extra with CUDA and the extra `cuda12` or `cuda13`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch as reference

from autograph_cli import torch as ours

ROUNDS = 20
Work = Callable[[], Any]


def training(engine: Any, model: Any, x: Any, target: Any) -> Work:
    """One step of SGD."""
    optimizer = engine.optim.SGD(model.parameters(), lr=0.01)

    def step() -> Any:
        optimizer.zero_grad()
        loss = engine.nn.functional.cross_entropy(model(x).flatten(0, -2), target)
        loss.backward()
        optimizer.step()
        return loss

    return step


def perceptron(engine: Any, device: str, small: bool) -> Work:
    nn, width, batch = engine.nn, 64 if small else 4096, 8 if small else 1024
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    x = engine.randn(batch, width, device=device)
    return training(engine, model.to(device), x, engine.zeros(batch, dtype=engine.int64, device=device))


def lenet(engine: Any, device: str, small: bool) -> Work:
    nn, batch = engine.nn, 4 if small else 512
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    x = engine.randn(batch, 1, 28, 28, device=device)
    return training(engine, model.to(device), x, engine.zeros(batch, dtype=engine.int64, device=device))


def resnet18(engine: Any, device: str, small: bool) -> Work:
    nn, batch, size = engine.nn, 2 if small else 128, 32 if small else 224

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
    x = engine.randn(batch, 3, size, size, device=device)
    return training(engine, model.to(device), x, engine.zeros(batch, dtype=engine.int64, device=device))


def gpt(engine: Any, device: str, small: bool) -> Work:
    nn, width, depth, batch, length = engine.nn, *((32, 2, 2, 16) if small else (768, 12, 8, 512))
    words = 100 if small else 50257

    class GPT(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            layer = nn.TransformerEncoderLayer(
                width, width // 16 or 1, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
            )
            self.layers = nn.TransformerEncoder(layer, depth, nn.LayerNorm(width), enable_nested_tensor=False)
            self.head = nn.Linear(width, words, bias=False)

        def forward(self, x: Any) -> Any:
            mask = nn.Transformer.generate_square_subsequent_mask(length, device=device)
            h = self.words(x) + self.places(engine.arange(length, device=device))
            return self.head(self.layers(h, mask=mask, is_causal=True))

    x = engine.zeros(batch, length, dtype=engine.int64, device=device)
    return training(engine, GPT().to(device), x, x.flatten())


def matmul(dtype: str) -> Callable[..., Work]:
    def made(engine: Any, device: str, small: bool) -> Work:
        n = 64 if small else 8192
        a = engine.randn(n, n, device=device).to(getattr(engine, dtype))
        return lambda: a @ a

    return made


def chain(engine: Any, device: str, small: bool) -> Work:
    x = engine.randn(1000 if small else 64_000_000, device=device).requires_grad_()

    def run() -> None:
        x.grad = None
        (x.sin() * x + x.exp()).tanh().sum().backward()

    return run


def tiny(engine: Any, device: str, small: bool) -> Work:
    x = engine.ones((), device=device)

    def run() -> Any:
        h = x
        for _ in range(100 if small else 1_000_000 // 4):
            h = (h * x + x).sin().exp()
        return h

    return run


ROWS: dict[str, Callable[..., Work]] = {
    "MLP 4096, batch 1024, training step": perceptron,
    "LeNet, batch 512, training step": lenet,
    "ResNet-18, batch 128, training step": resnet18,
    "GPT 12 x 768, batch 8 x 512, training step": gpt,
    "matmul 8192, float32": matmul("float32"),
    "matmul 8192, float16": matmul("float16"),
    "matmul 8192, bfloat16": matmul("bfloat16"),
    "element by element, 64M, forward and backward": chain,
    "a million operations on 0-d tensors": tiny,
}


def measure(make: Callable[..., Work], device: str, small: bool, rounds: int) -> list[float | str]:
    """Median seconds of each engine, or what it says against it."""
    works: list[Any] = []
    for engine in (ours, reference):
        engine.manual_seed(0)
        try:
            work = make(engine, device, small)
            work()
            works.append((engine, work, []))
        except (NotImplementedError, RuntimeError) as error:
            works.append(str(error).split(". ")[0])
    for _ in range(rounds):
        for engine, work, times in (w for w in works if not isinstance(w, str)):
            start = time.perf_counter()
            work()
            if device == "cuda":
                engine.cuda.synchronize()
            times.append(time.perf_counter() - start)
    return [w if isinstance(w, str) else statistics.median(w[2]) for w in works]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    if given.device == "cuda":
        print(f"{ours.cuda.get_device_name()}; PyTorch {reference.__version__}")
    print(f"{'':48} {'autograph':>12} {'PyTorch':>12} {'ratio':>7}")
    for name, make in ROWS.items():
        mine, theirs = measure(make, given.device, given.small, 2 if given.small else ROUNDS)
        if isinstance(mine, str) or isinstance(theirs, str):
            print(f"{name:48} {mine if isinstance(mine, str) else theirs}")
        else:
            print(f"{name:48} {mine * 1e3:9.2f} ms {theirs * 1e3:9.2f} ms {mine / theirs:7.2f}")


if __name__ == "__main__":
    main()
