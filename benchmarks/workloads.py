"""Evaluations of automatic differentiation, those of GradBench and ADBench written anew from their definitions, beside PyTorch.

    python benchmarks/workloads.py [--only REGEX] [--rounds N] [--write]

Every row has two sizes. A turn computes values and derivatives anew from the same float64 numbers: by this engine without the
recorder, under `autograph run --steps 0` (which keeps none of the steps measured) and by PyTorch, and by other engines in their
own idiom where they are installed. Each is a process of its own with one thread; results are compared to 1e-8 first; then CPU
time, medians of rounds in which they take turns. Needs the `torch` extra; `pip install autograd jax mygrad` adds the others.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import re
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from bench import Engine, Turn, measured, work

OURS, RECORDED, PYTORCH = "without the recorder", "run", "PyTorch"
PEERS = {"HIPS autograd": "autograd", "JAX": "jax", "MyGrad": "mygrad"}


def drawn(*shapes: tuple[int, ...]) -> list[Any]:
    """The same float64 arrays for every engine."""
    made = np.random.default_rng(len(shapes))
    return [made.standard_normal(shape) for shape in shapes]


def leaf(torch: Any, array: Any) -> Any:
    """A tensor of these numbers that requires a gradient."""
    return torch.tensor(array, dtype=torch.float64, requires_grad=True)


def of_loss(torch: Any, loss: Callable[..., Any], *arrays: Any) -> Turn:
    """A turn that computes a number of some inputs and its gradients."""

    def turn() -> list[float]:
        inputs = [leaf(torch, a) for a in arrays]
        found = loss(*inputs)
        found.backward()
        return [found.item(), *(number for x in inputs for number in x.grad.reshape(-1)[:20].tolist())]

    return turn


# ---------------------------------------------------------------- rows


def hello(torch: Any, count: int) -> Turn:
    """Return x² and its derivative, number by number."""

    def turn() -> list[float]:
        found = []
        for k in range(count):
            x = torch.tensor(k + 0.5, dtype=torch.float64, requires_grad=True)
            y = x * x
            y.backward()
            found += [y.item(), x.grad.item()]
        return found

    return turn


def lse(torch: Any, size: int) -> Turn:
    """Return log Σ exp x, by hand."""

    def loss(x: Any) -> Any:
        top = x.max()
        return (x - top).exp().sum().log() + top

    return of_loss(torch, loss, *drawn((size,)))


def kmeans(torch: Any, points: int, centres: int, wide: int) -> Turn:
    """Return Σ min ‖x - c‖², its gradient, and the diagonal of its Hessian by a second backward."""
    where, start = drawn((points, wide), (centres, wide))
    x = torch.tensor(where, dtype=torch.float64)

    def turn() -> list[float]:
        c = leaf(torch, start)
        cost = ((x[:, None] - c) ** 2).sum(-1).min(1).values.sum()
        (gradient,) = torch.autograd.grad(cost, c, create_graph=True)
        (diagonal,) = torch.autograd.grad(gradient.sum(), c)
        return [cost.item(), *gradient.reshape(-1).tolist(), *diagonal.reshape(-1).tolist()]

    return turn


def gmm(torch: Any, points: int, parts: int, wide: int) -> Turn:
    """Return the log likelihood of a Gaussian mixture with Wishart's prior."""
    below = wide * (wide - 1) // 2
    (where, *start) = drawn((points, wide), (parts,), (parts, wide), (parts, wide + below))
    x = torch.tensor(where, dtype=torch.float64)

    def triangle(row: Any) -> Any:
        columns, at = [], wide
        for k in range(wide):
            columns.append(torch.cat([torch.zeros(k + 1, dtype=torch.float64), row[at : at + wide - k - 1]]))
            at += wide - k - 1
        return torch.stack(columns, -1)

    def loss(alphas: Any, means: Any, factors: Any) -> Any:
        logs, scales = factors[:, :wide].sum(1), factors[:, :wide].exp()
        lower = torch.stack([triangle(row) for row in factors])
        apart = x[:, None] - means
        scaled = scales * apart + torch.einsum("kij,nkj->nki", lower, apart)
        each = torch.logsumexp(alphas + logs - 0.5 * (scaled**2).sum(2), 1)
        prior = 0.5 * ((scales**2).sum() + (factors[:, wide:] ** 2).sum()) - logs.sum()
        constant = -points * wide * 0.5 * math.log(2 * math.pi)
        return constant + each.sum() - points * torch.logsumexp(alphas, 0) - prior

    return of_loss(torch, loss, *start)


def lstm(torch: Any, layers: int, steps: int, wide: int = 14) -> Turn:
    """Return the loss of an LSTM whose state's rows are written in place into a clone, and whose weights are slices."""
    words, *start = drawn((steps, wide), (layers * 2, 4 * wide), (3, wide), (layers * 2, wide))
    sequence = torch.tensor(words, dtype=torch.float64)

    def cell(weight: Any, bias: Any, hidden: Any, kept: Any, given: Any) -> Any:
        gates = torch.cat([given, hidden, given, hidden]) * weight + bias
        forget, into = gates[:wide].sigmoid(), gates[wide : 2 * wide].sigmoid()
        out, change = gates[2 * wide : 3 * wide].sigmoid(), gates[3 * wide :].tanh()
        kept = kept * forget + into * change
        return out * kept.tanh(), kept

    def loss(main: Any, extra: Any, state: Any) -> Any:
        total, given = 0, sequence[0]
        for t in range(steps - 1):
            new, x = state.clone(), given * extra[0]
            for k in range(0, 2 * layers, 2):
                new[k], new[k + 1] = cell(main[k], main[k + 1], state[k], state[k + 1], x)
                x = new[k]
            guess, state, given = x * extra[1] + extra[2], new, sequence[t + 1]
            total = total + (given * (guess - (guess.exp().sum() + 2).log())).sum()
        return -total / ((steps - 1) * wide)

    return of_loss(torch, loss, *start)


def ba(torch: Any, observations: int) -> Turn:
    """Return reprojection errors of a camera with radial distortion, and the rows of their sparse Jacobian."""
    cameras, points, weights, seen = drawn((observations, 11), (observations, 3), (observations,), (observations, 2))
    features = torch.tensor(seen, dtype=torch.float64)

    def turned(axis: Any, x: Any) -> Any:
        angle = (axis**2).sum().sqrt()
        w, cosine, sine = axis / angle, angle.cos(), angle.sin()
        return x * cosine + torch.linalg.cross(w, x) * sine + w * (w.dot(x) * (1 - cosine))

    def projected(camera: Any, x: Any) -> Any:
        at = turned(camera[:3], x - camera[3:6])
        flat = at[:2] / at[2]
        square = (flat**2).sum()
        return flat * (1 + camera[9] * square + camera[10] * square**2) * camera[6] + camera[7:9]

    def turn() -> list[float]:
        found = []
        for camera, point, weight, feature in zip(cameras, points, weights, features, strict=True):
            inputs = c, x, w = leaf(torch, camera), leaf(torch, point), leaf(torch, weight)
            error = w * (projected(c, x) - feature)
            found += error.tolist()
            for k in range(2):
                row = torch.autograd.grad(error[k], inputs, retain_graph=True)
                found += [number for part in row for number in part.reshape(-1).tolist()]
            off = 1 - w**2
            found += [off.item(), torch.autograd.grad(off, w)[0].item()]
        return found

    return turn


def ht(torch: Any, residuals: int) -> Turn:
    """Return residuals of a hand of 21 bones that 26 numbers pose, and their Jacobian."""
    pose, bases, points = drawn((26,), (residuals, 3), (residuals, 3))
    base, at = torch.tensor(bases, dtype=torch.float64), torch.tensor(points, dtype=torch.float64)
    bones = torch.tensor([1 + 7 * k % 20 for k in range(residuals)])
    zero, one = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)

    def about(angle: Any, axis: int) -> Any:
        c, s = angle.cos(), angle.sin()
        rows = {
            0: [one, zero, zero, zero, c, -s, zero, s, c],
            1: [c, zero, s, zero, one, zero, -s, zero, c],
            2: [c, -s, zero, s, c, zero, zero, zero, one],
        }[axis]
        return torch.stack(rows).reshape(3, 3)

    def apart(theta: Any) -> Any:
        turns = [about(theta[2], 2) @ about(theta[1], 1) @ about(theta[0], 0)]
        places = [theta[3:6]]
        for finger in range(5):
            angles = theta[6 + 4 * finger : 10 + 4 * finger]
            turned, place = turns[0], places[0]
            for k in range(4):
                turned = turned @ about(angles[k], k % 2) @ about(angles[(k + 1) % 4], 2)
                place = place + turned[:, 0] * (0.5 / (k + 1))
                turns.append(turned)
                places.append(place)
        turned, place = torch.stack(turns)[bones], torch.stack(places)[bones]
        return (at - (turned @ base[:, :, None])[:, :, 0] - place).reshape(-1)

    def turn() -> list[float]:
        theta = torch.tensor(pose, dtype=torch.float64)
        jacobian = torch.autograd.functional.jacobian(apart, theta)
        return [*apart(theta).tolist(), *jacobian.reshape(-1).tolist()]

    return turn


def ode(torch: Any, steps: int, size: int) -> Turn:
    """Return the last of some equations by Runge and Kutta's fourth order."""

    def loss(x: Any) -> Any:
        def slope(y: Any) -> Any:
            return torch.cat([x[:1], x[1:] * y[:-1]])

        y, h = torch.zeros(size, dtype=torch.float64), 1 / steps
        for _ in range(steps):
            a = slope(y)
            b = slope(y + h / 2 * a)
            c = slope(y + h / 2 * b)
            y = y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))
        return y.sum()

    return of_loss(torch, loss, *drawn((size,)))


def particle(torch: Any, dt: float) -> Turn:
    """Where a charge in a field falls, and how that moves with a charge's place: each step's force is a gradient."""

    def turn() -> list[float]:
        place = leaf(torch, 0.0)
        ten = torch.tensor(10.0, dtype=torch.float64)
        charges = torch.stack([ten, 10 - place]), torch.stack([ten, 0 * place])
        x, v = (torch.tensor(pair, dtype=torch.float64) for pair in ([0.0, 8.0], [0.75, 0.0]))
        while True:
            x = x if x.requires_grad else x.requires_grad_()
            field = sum(1 / ((x - c) ** 2).sum().sqrt() for c in charges)
            (force,) = torch.autograd.grad(field, x, create_graph=True)
            x, v, before = x + dt * v, v - dt * force, x
            if x[1].item() <= 0:
                found = (before[0] - before[1] / v[1] * v[0]) ** 2
                return [found.item(), torch.autograd.grad(found, place)[0].item()]

    return turn


def saddle(torch: Any, outside: int, inside: int) -> Turn:
    """Descent in one pair of numbers, each step of which goes down in another one first; derivatives through both."""

    def closest(x: Any) -> Any:
        y = leaf(torch, [1.0, 1.0])
        for _ in range(inside):
            value = (y[0] ** 2 + y[1] ** 2 + 0.5 * x[0] * y[0] + x[1] * y[1]).exp() * 0.01
            y = y - 0.1 * torch.autograd.grad(value, y, create_graph=True)[0]
        return x[0] ** 2 + x[1] ** 2 - y[0] ** 2 - y[1] ** 2

    def turn() -> list[float]:
        x = leaf(torch, [1.0, 1.0])
        for _ in range(outside):
            x = x - 0.1 * torch.autograd.grad(closest(x), x, create_graph=True)[0]
        return x.tolist() + torch.autograd.grad(closest(x), x)[0].tolist()  # type: ignore[no-any-return]

    return turn


def minors(x: Any, top: int, columns: list[int]) -> Any:
    """The determinant of what stands in these columns from a row on."""
    if len(columns) == 1:
        return x[top, columns[0]]
    total = 0.0
    for k, column in enumerate(columns):
        term = x[top, column] * minors(x, top + 1, columns[:k] + columns[k + 1 :])
        total = total - term if k % 2 else total + term
    return total


def det(torch: Any, size: int) -> Turn:
    """Return a determinant by minors, entry by entry."""
    return of_loss(torch, lambda x: minors(x, 0, list(range(size))), *drawn((size, size)))


def llsq(torch: Any, degree: int, signs: int) -> Turn:
    """Return how far a polynomial is from the signs of the numbers between -1 and 1."""
    t = torch.linspace(-1, 1, signs, dtype=torch.float64)
    powers = torch.arange(degree)

    def loss(x: Any) -> Any:
        return ((t.sign() - (x * t[:, None] ** powers).sum(1)) ** 2).sum() / 2

    return of_loss(torch, loss, *drawn((degree,)))


SIZES: dict[Callable[..., Turn], tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    hello: ((1,), (100,)), lse: ((1_000,), (300_000,)), kmeans: ((100, 5, 3), (2_000, 20, 8)),
    gmm: ((50, 5, 2), (1_000, 25, 10)), lstm: ((2, 16), (4, 100)), ba: ((5,), (60,)), ht: ((5,), (20,)),
    ode: ((10, 10), (100, 300)), particle: ((0.8,), (0.2,)), saddle: ((2, 5), (6, 12)), det: ((4,), (6,)),
    llsq: ((5, 50), (30, 10_000)),
}  # fmt: skip
ROWS: dict[str, tuple[Callable[..., Turn], tuple[Any, ...]]] = {
    f"{row.__name__} {size}": (row, sizes[k])
    for row, sizes in SIZES.items()
    for k, size in enumerate(("small", "middle"))
}

# ---------------------------------------------------------------- processes and the table


def rows_of(engine: str) -> tuple[dict[str, Callable[[], Turn]], str]:
    """Return what makes the turns of each row, and the version."""
    if engine in PEERS:
        from workloads_peers import rows

        return rows(engine)
    if engine == OURS:
        from autograph_cli import torch
        from autograph_cli.cli import tuning

        tuning.tune()  # as `autograph run` does
    else:
        import torch  # type: ignore[no-redef]
    return {name: partial(row, torch, *size) for name, (row, size) in ROWS.items()}, str(torch.__version__)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="a regular expression that names must match")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/README.md")
    asked = parser.parse_args()
    if asked.engine:
        work(*rows_of(asked.engine))
        return
    with tempfile.TemporaryDirectory() as folder:
        under = ["-m", "autograph_cli", "run", "--quiet", "--steps", "0", "-o", os.path.join(folder, "trace.json.gz")]
        peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module)]
        engines = {name: Engine([__file__, "--engine", name]) for name in (OURS, PYTORCH, *peers)}
        engines[RECORDED] = Engine([*under, __file__, "--engine", RECORDED])
        head = ["workload", RECORDED, OURS, *peers, "PyTorch, ms"]
        lines, ratios = [], {name: {} for name in head[1:-1]}
        print(" | ".join(head), flush=True)
        for row in ROWS:
            if re.search(asked.only, row):
                found = measured(engines, row, asked.rounds, close=1e-8)
                line = [row]
                for name, known in ratios.items():
                    if name in found:
                        known[row] = found[name] / found[PYTORCH]
                    line.append(f"{known[row]:.2f}" if row in known else "")
                lines.append([*line, f"{found[PYTORCH] * 1e3:.3g}"])
                print(" | ".join(lines[-1]), flush=True)
        for engine in engines.values():
            engine.close()
    means = {name: math.exp(statistics.fmean(map(math.log, known.values()))) for name, known in ratios.items() if known}
    lines.append(["geometric mean", *(f"{means[name]:.2f}" if name in means else "" for name in ratios), ""])
    print(" | ".join(lines[-1]))
    if asked.write:
        import tables

        versions = ", ".join(f"{name} {engines[name].version}" for name in (PYTORCH, *peers))
        said = f"{versions}; CPU time over PyTorch's, medians of {asked.rounds} rounds in turns, results equal to 1e-8."
        tables.put("benchmarks/workloads.py", tables.table(head, lines, said))


if __name__ == "__main__":
    main()
