"""The rows of docs/performance.md on an engine with PyTorch's interface: small and middle steps of training.

`bench.py` runs them. A row makes what it needs once; each call of what it gives back is one turn, and the numbers that it
returns are compared between engines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Turn = Callable[[], list[float]]


def numbers(seed: int, *shapes: tuple[int, ...], scale: float = 1.0) -> list[Any]:
    """The same float32 arrays for every engine."""
    made = np.random.default_rng(seed)
    return [(made.standard_normal(shape) * scale).astype(np.float32) for shape in shapes]


def tensors(torch: Any, arrays: list[Any], wanted: bool = False) -> list[Any]:
    """Tensors of their own memory."""
    return [torch.tensor(a.tolist() if a.ndim < 2 else a, requires_grad=wanted) for a in arrays]


def total(tensors: list[Any]) -> list[float]:
    """Return what a turn returns of gradients or of parameters."""
    return [float(sum(abs(t.detach()).sum().item() for t in tensors))]


def put(module: Any, torch: Any, seed: int) -> Any:
    """A module with the same weights on every engine."""
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(torch.tensor(numbers(seed + i, tuple(p.shape), scale=0.5 / max(p.shape[-1], 1) ** 0.5)[0]))
    return module


# ---------------------------------------------------------------- chains of small operations


def _chain(torch: Any, shape: tuple[int, ...]) -> Turn:
    x = torch.full(shape, 0.5, requires_grad=True)
    ones, sin, exp = torch.ones(shape), torch.sin, torch.exp

    def turn() -> list[float]:
        h, x.grad = x, None
        for _ in range(250):
            h = exp(sin(h * x + x))
        h.backward(ones)
        return [float(x.grad.sum())]

    return turn


def chain_0d(torch: Any) -> Turn:
    return _chain(torch, ())


def chain_16(torch: Any) -> Turn:
    return _chain(torch, (16,))


def leaves_pairwise(torch: Any) -> Turn:
    leaves = [torch.tensor(1.0 + i % 7, requires_grad=True) for i in range(10_000)]

    def turn() -> list[float]:
        level = leaves
        while len(level) > 1:
            rest = level[len(level) & ~1 :]
            level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + rest
        level[0].backward()
        found = [level[0].item(), leaves[0].grad.item(), leaves[-1].grad.item()]
        for leaf in leaves:
            leaf.grad = None
        return found

    return turn


def leaf_many_times(torch: Any) -> Turn:
    x = torch.tensor(0.5, requires_grad=True)

    def turn() -> list[float]:
        x.grad = None
        h = x
        for _ in range(10_000):
            h = h + x
        h.backward()
        return [x.grad.item()]

    return turn


# ---------------------------------------------------------------- small networks


def _small_mlp(torch: Any) -> Any:
    nn = torch.nn
    return put(nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1)), torch, 1)


def _trained(optimizer: Any, loss_of: Callable[[], Any]) -> Turn:
    """Return a turn that takes one step of training."""

    def turn() -> list[float]:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return [loss.item()]

    return turn


def mlp_sgd(torch: Any) -> Turn:
    model = _small_mlp(torch)
    x, y = tensors(torch, numbers(7, (32, 2), (32, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = torch.nn.functional.mse_loss
    return _trained(optimizer, lambda: loss_of(model(x), y))


def gradient_penalty(torch: Any) -> Turn:
    model = _small_mlp(torch)
    (x,) = tensors(torch, numbers(7, (32, 2)), wanted=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    grad = torch.autograd.grad

    def penalty() -> Any:
        (slope,) = grad(model(x).sum(), x, create_graph=True)
        return ((slope.norm(dim=1) - 1) ** 2).mean()

    return _trained(optimizer, penalty)


def mnist_adam(torch: Any) -> Turn:
    nn = torch.nn
    model = put(nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)), torch, 1)
    (x,) = tensors(torch, numbers(7, (128, 784)))
    y = torch.tensor([i % 10 for i in range(128)])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return _trained(optimizer, lambda: nn.functional.cross_entropy(model(x), y))


def lenet(torch: Any) -> Turn:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    put(model, torch, 1)
    (x,) = tensors(torch, numbers(7, (64, 1, 28, 28)))
    y = torch.tensor([i % 10 for i in range(64)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return _trained(optimizer, lambda: nn.functional.cross_entropy(model(x), y))


# ---------------------------------------------------------------- a transformer's block and an LSTM

BATCH, TOKENS, WIDTH, HEADS = 8, 64, 128, 4


def _block_weights(torch: Any) -> list[Any]:
    w = WIDTH
    shapes = [(w, 3 * w), (w, w), (w, 4 * w), (4 * w, w)]
    weights = tensors(torch, numbers(1, *shapes, scale=w**-0.5), wanted=True)
    scales = [torch.ones(w, requires_grad=True) for _ in range(2)] + [
        torch.zeros(w, requires_grad=True) for _ in range(2)
    ]
    biases = [torch.zeros(n, requires_grad=True) for _, n in shapes]
    return [*weights, *scales, *biases]


def _attended(torch: Any, q: Any, k: Any, v: Any, softmax: Callable[[Any], Any]) -> Any:
    heads = [t.reshape(BATCH, TOKENS, HEADS, -1).transpose(1, 2) for t in (q, k, v)]
    scores = heads[0] @ heads[1].transpose(-2, -1) * (WIDTH // HEADS) ** -0.5
    return (softmax(scores) @ heads[2]).transpose(1, 2).reshape(BATCH, TOKENS, WIDTH)


def _block_turn(torch: Any, forward: Callable[[Any, list[Any]], Any]) -> Turn:
    weights = _block_weights(torch)
    (x,) = tensors(torch, numbers(7, (BATCH, TOKENS, WIDTH)))

    def turn() -> list[float]:
        for w in weights:
            w.grad = None
        loss = (forward(x, weights) ** 2).mean()
        loss.backward()
        return [loss.item()]

    return turn


def block_plain(torch: Any) -> Turn:
    def norm(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean(-1, keepdim=True)
        return centred / ((centred * centred).mean(-1, keepdim=True) + 1e-5).sqrt() * scale + shift

    def softmax(x: Any) -> Any:
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    def gelu(x: Any) -> Any:
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def forward(x: Any, weights: list[Any]) -> Any:
        qkv, out, up, down, s1, s2, t1, t2, bq, bo, bu, bd = weights
        x = x + _attended(torch, *(norm(x, s1, t1) @ qkv + bq).chunk(3, -1), softmax) @ out + bo
        return x + gelu(norm(x, s2, t2) @ up + bu) @ down + bd

    return _block_turn(torch, forward)


def block_functional(torch: Any) -> Turn:
    f = torch.nn.functional

    def forward(x: Any, weights: list[Any]) -> Any:
        qkv, out, up, down, s1, s2, t1, t2, bq, bo, bu, bd = weights
        parts = f.linear(f.layer_norm(x, (WIDTH,), s1, t1), qkv.t(), bq).chunk(3, -1)
        x = x + f.linear(_attended(torch, *parts, lambda s: f.softmax(s, -1)), out.t(), bo)
        inner = f.gelu(f.linear(f.layer_norm(x, (WIDTH,), s2, t2), up.t(), bu), approximate="tanh")
        return x + f.linear(inner, down.t(), bd)

    return _block_turn(torch, forward)


def lstm_plain(torch: Any) -> Turn:
    steps, batch, features, hidden = 100, 16, 64, 128
    w, u = tensors(torch, numbers(1, (features, 4 * hidden), (hidden, 4 * hidden), scale=0.08), wanted=True)
    b = torch.zeros(4 * hidden, requires_grad=True)
    (x,) = tensors(torch, numbers(7, (steps, batch, features)))

    def turn() -> list[float]:
        w.grad = u.grad = b.grad = None
        h = c = torch.zeros(batch, hidden)
        for t in range(steps):
            i, f, g, o = (x[t] @ w + h @ u + b).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        loss = (h * h).mean()
        loss.backward()
        return [loss.item(), *total([w.grad])]

    return turn


# ---------------------------------------------------------------- large arrays


def elementwise_4m(torch: Any) -> Turn:
    x, y = tensors(torch, numbers(1, (2000, 2000), (2000, 2000)), wanted=True)

    def turn() -> list[float]:
        x.grad = y.grad = None
        out = torch.sigmoid(torch.exp(x) * y + x)
        out.backward(out.detach())
        return [x.grad[0, 0].item(), y.grad[5, 5].item()]

    return turn


def matmul_1024(torch: Any) -> Turn:
    x, y = tensors(torch, numbers(1, (1024, 1024), (1024, 1024)), wanted=True)
    (g,) = tensors(torch, numbers(2, (1024, 1024)))

    def turn() -> list[float]:
        x.grad = y.grad = None
        (x @ y).backward(g)
        return [x.grad[0, 0].item(), y.grad[5, 5].item()]

    return turn


ROWS: dict[str, tuple[Callable[[Any], Turn], str, str, float, float]] = {
    "chain_0d": (chain_0d, "chain of 1,000 operations, 0-d", "us an operation", 1e3, 0.35),
    "chain_16": (chain_16, "the same, shape (16,)", "us an operation", 1e3, 0.6),
    "mlp_sgd": (mlp_sgd, "2-16-16-1 perceptron, 32 rows, SGD step", "us", 1e6, 0.6),
    "gradient_penalty": (gradient_penalty, "the same with a gradient penalty (`create_graph`)", "us", 1e6, 0.8),
    "mnist_adam": (mnist_adam, "784-256-10 perceptron, 128 rows, Adam step", "ms", 1e3, 0.8),
    "lenet": (lenet, "LeNet, batch 64, SGD with momentum", "ms", 1e3, 0.75),
    "block_plain": (block_plain, "transformer block of plain operations", "ms", 1e3, 0.8),
    "block_functional": (block_functional, "the same by `F.layer_norm`, `gelu`, `softmax`, `linear`", "ms", 1e3, 0.8),
    "lstm_plain": (lstm_plain, "LSTM of plain operations, 100 steps, hidden 128", "ms", 1e3, 0.8),
    "elementwise_4m": (elementwise_4m, "4M elements: `exp`, `mul`, `add`, `sigmoid`", "ms", 1e3, 1.0),
    "matmul_1024": (matmul_1024, "matrix product 1024, forward and backward", "ms", 1e3, 0.85),
    "leaves_pairwise": (leaves_pairwise, "10,000 leaves summed pairwise", "us an operation", 1e2, 0.5),
    "leaf_many_times": (leaf_many_times, "one leaf used 10,000 times", "us an operation", 1e2, 0.5),
}
"""By name: what makes its turn, what it is, the unit, what seconds are multiplied with, the ratio to PyTorch aimed at."""
