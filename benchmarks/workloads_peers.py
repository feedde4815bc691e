"""The workloads of `workloads.py` on HIPS autograd, JAX and MyGrad: functions of NumPy's kind, which these differentiate."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
from collections.abc import Callable
from typing import Any

import numpy
from workloads import PEERS, ROWS, Turn, drawn, minors


class Peer:
    """NumPy's functions of an engine, and its derivatives of functions; `made` compiles a function, where that is its idiom."""

    def __init__(self, engine: str) -> None:
        made: Any = lambda function: function  # noqa: E731
        self.loop: Any = _looped
        if engine == "JAX":
            import jax

            jax.config.update("jax_enable_x64", True)
            self.np: Any = importlib.import_module("jax.numpy")
            made, self.grad, self.jacobian = jax.jit, jax.grad, jax.jacrev
            self.with_value: Any = jax.value_and_grad
            self.loop = lambda body, state, items: jax.lax.scan(lambda s, x: (body(s, x), None), state, items)[0]
        elif engine == "MyGrad":
            self.np = importlib.import_module("mygrad")
            self.with_value, self.grad = self._backward, None
        else:
            autograd = importlib.import_module("autograd")
            self.np = importlib.import_module("autograd.numpy")
            self.grad, self.jacobian = autograd.grad, autograd.jacobian
            self.with_value = autograd.value_and_grad
        self.made = made

    def _backward(self, loss: Callable[..., Any], numbers: Any) -> Callable[..., Any]:
        def both(*arrays: Any) -> Any:
            inputs = [self.np.tensor(a) for a in arrays]
            found = loss(*inputs)
            found.backward()
            return found.item(), [x.grad for x in inputs]

        return both

    def of_loss(self, loss: Callable[..., Any], *arrays: Any) -> Turn:
        """Return a turn that computes a number of some inputs and its gradients."""
        both = self.made(self.with_value(loss, tuple(range(len(arrays)))))

        def turn() -> list[float]:
            value, gradients = both(*arrays)
            return [float(value), *(n for g in gradients for n in numpy.asarray(g).reshape(-1)[:20].tolist())]

        return turn


def _looped(body: Callable[..., Any], state: Any, items: Any) -> Any:
    """Return the state after a step for each item."""
    for item in items:
        state = body(state, item)
    return state


def flat(*found: Any) -> list[float]:
    """All numbers of some arrays."""
    return [n for each in found for n in numpy.asarray(each).reshape(-1).tolist()]


def hello(peer: Peer, count: int) -> Turn:
    both = peer.made(peer.with_value(lambda x: x * x, (0,)))

    def turn() -> list[float]:
        found = [both(numpy.float64(k + 0.5)) for k in range(count)]
        return [float(n) for value, (slope,) in found for n in (value, slope)]

    return turn


def lse(peer: Peer, size: int) -> Turn:
    np = peer.np
    return peer.of_loss(lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x), *drawn((size,)))


def kmeans(peer: Peer, points: int, centres: int, wide: int) -> Turn:
    np, (x, start) = peer.np, drawn((points, wide), (centres, wide))

    def cost(c: Any) -> Any:
        return np.sum(np.min(np.sum((x[:, None] - c) ** 2, -1), 1))

    slope = peer.grad(cost)
    every = peer.made(lambda c: (cost(c), slope(c), peer.grad(lambda d: np.sum(slope(d)))(c)))
    return lambda: flat(*every(start))


def gmm(peer: Peer, points: int, parts: int, wide: int) -> Turn:
    np, below = peer.np, wide * (wide - 1) // 2
    x, *start = drawn((points, wide), (parts,), (parts, wide), (parts, wide + below))
    places = numpy.zeros((below, wide, wide))
    before, after = numpy.triu_indices(wide, 1)
    places[range(below), after, before] = 1

    def logsumexp(a: Any) -> Any:
        top = np.max(a, -1)
        return np.log(np.sum(np.exp(a - top[..., None]), -1)) + top

    def loss(alphas: Any, means: Any, factors: Any) -> Any:
        logs, scales = np.sum(factors[:, :wide], 1), np.exp(factors[:, :wide])
        lower = np.einsum("kb,bij->kij", factors[:, wide:], places)
        apart = x[:, None] - means
        scaled = scales * apart + np.einsum("kij,nkj->nki", lower, apart)
        each = logsumexp(alphas + logs - 0.5 * np.sum(scaled**2, 2))
        prior = 0.5 * (np.sum(scales**2) + np.sum(factors[:, wide:] ** 2)) - np.sum(logs)
        return -points * wide * 0.5 * math.log(2 * math.pi) + np.sum(each) - points * logsumexp(alphas) - prior

    return peer.of_loss(loss, *start)


def lstm(peer: Peer, layers: int, steps: int, wide: int = 14) -> Turn:
    np = peer.np
    words, *start = drawn((steps, wide), (layers * 2, 4 * wide), (3, wide), (layers * 2, wide))

    def sigmoid(a: Any) -> Any:
        return 1 / (1 + np.exp(-a))

    def loss(main: Any, extra: Any, state: Any) -> Any:
        def step(before: Any, pair: Any) -> Any:
            rows, total = list(before[0]), before[1]
            x = pair[0] * extra[0]
            for k in range(0, 2 * layers, 2):
                gates = np.concatenate([x, rows[k], x, rows[k]]) * main[k] + main[k + 1]
                forget, into, out = (sigmoid(gates[i * wide : (i + 1) * wide]) for i in range(3))
                kept = rows[k + 1] * forget + into * np.tanh(gates[3 * wide :])
                x = out * np.tanh(kept)
                rows[k], rows[k + 1] = x, kept
            guess = x * extra[1] + extra[2]
            return rows, total + np.sum(pair[1] * (guess - np.log(np.sum(np.exp(guess)) + 2)))

        begin = [state[k] for k in range(2 * layers)], numpy.float64(0)
        return -peer.loop(step, begin, numpy.stack([words[:-1], words[1:]], 1))[1] / ((steps - 1) * wide)

    return peer.of_loss(loss, *start)


def ba(peer: Peer, observations: int) -> Turn:
    np = peer.np
    cameras, points, weights, seen = drawn((observations, 11), (observations, 3), (observations,), (observations, 2))

    def error(all_of_it: Any, feature: Any) -> Any:
        camera, point, weight = all_of_it[:11], all_of_it[11:14], all_of_it[14]
        x, axis = point - camera[3:6], camera[:3]
        angle = np.sqrt(np.sum(axis**2))
        w, cosine, sine = axis / angle, np.cos(angle), np.sin(angle)
        crossed = np.array([w[1] * x[2] - w[2] * x[1], w[2] * x[0] - w[0] * x[2], w[0] * x[1] - w[1] * x[0]])
        at = x * cosine + crossed * sine + w * (np.sum(w * x) * (1 - cosine))
        on = at[:2] / at[2]
        square = np.sum(on**2)
        seen_at = on * (1 + camera[9] * square + camera[10] * square**2) * camera[6] + camera[7:9]
        return weight * (seen_at - feature)

    def off(weight: Any) -> Any:
        return 1 - weight**2

    jacobian = peer.jacobian(error)
    every = peer.made(lambda p, f: (error(p, f), jacobian(p, f), off(p[14]), peer.grad(off)(p[14])))
    given = [numpy.concatenate([c, p, [w]]) for c, p, w in zip(cameras, points, weights, strict=True)]
    return lambda: [n for p, f in zip(given, seen, strict=True) for n in flat(*every(p, f))]


def ht(peer: Peer, residuals: int) -> Turn:
    np = peer.np
    pose, base, at = drawn((26,), (residuals, 3), (residuals, 3))
    bones = numpy.array([1 + 7 * k % 20 for k in range(residuals)])

    def about(angle: Any, axis: int) -> Any:
        c, s = np.cos(angle), np.sin(angle)
        rows: list[Any] = [[[1.0, 0, 0], [0, c, -s], [0, s, c]], [[c, 0, s], [0, 1.0, 0], [-s, 0, c]]]
        return np.array([*rows, [[c, -s, 0], [s, c, 0], [0, 0, 1.0]]][axis])

    def apart(theta: Any) -> Any:
        turns, places = [about(theta[2], 2) @ about(theta[1], 1) @ about(theta[0], 0)], [theta[3:6]]
        for finger in range(5):
            angles = theta[6 + 4 * finger : 10 + 4 * finger]
            turned, place = turns[0], places[0]
            for k in range(4):
                turned = turned @ about(angles[k], k % 2) @ about(angles[(k + 1) % 4], 2)
                place = place + turned[:, 0] * (0.5 / (k + 1))
                turns.append(turned)
                places.append(place)
        turned, place = np.stack(turns)[bones], np.stack(places)[bones]
        return np.reshape(at - (turned @ base[:, :, None])[:, :, 0] - place, -1)

    jacobian = peer.jacobian(apart)
    every = peer.made(lambda theta: (apart(theta), jacobian(theta)))
    return lambda: flat(*every(pose))


def ode(peer: Peer, steps: int, size: int) -> Turn:
    np, h = peer.np, 1 / steps

    def loss(x: Any) -> Any:
        def slope(y: Any) -> Any:
            return np.concatenate([x[:1], x[1:] * y[:-1]])

        def step(y: Any, _: Any) -> Any:
            a = slope(y)
            b = slope(y + h / 2 * a)
            c = slope(y + h / 2 * b)
            return y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))

        return np.sum(peer.loop(step, numpy.zeros(size), numpy.zeros(steps)))

    return peer.of_loss(loss, *drawn((size,)))


def particle(peer: Peer, dt: float) -> Turn:
    np = peer.np

    def landed(place: Any) -> Any:
        charges = np.array([10.0, 10 - place]), np.array([10.0, 0 * place])

        def field(x: Any) -> Any:
            return sum(1 / np.sqrt(np.sum((x - c) ** 2)) for c in charges)

        x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
        while True:
            force = peer.grad(field)(x)
            x, v, before = x + dt * v, v - dt * force, x
            if x[1] <= 0:
                return (before[0] - before[1] / v[1] * v[0]) ** 2

    both = peer.with_value(landed)
    return lambda: flat(*both(0.0))


def saddle(peer: Peer, outside: int, inside: int) -> Turn:
    np = peer.np

    def closest(x: Any) -> Any:
        def value(y: Any) -> Any:
            return np.exp(y[0] ** 2 + y[1] ** 2 + 0.5 * x[0] * y[0] + x[1] * y[1]) * 0.01

        y = numpy.ones(2)
        for _ in range(inside):
            y = y - 0.1 * peer.grad(value)(y)
        return x[0] ** 2 + x[1] ** 2 - y[0] ** 2 - y[1] ** 2

    slope = peer.made(peer.grad(closest))

    def turn() -> list[float]:
        x = numpy.ones(2)
        for _ in range(outside):
            x = x - 0.1 * slope(x)
        return flat(x, slope(x))

    return turn


def det(peer: Peer, size: int) -> Turn:
    return peer.of_loss(lambda x: minors(x, 0, list(range(size))), *drawn((size, size)))


def llsq(peer: Peer, degree: int, signs: int) -> Turn:
    np, t = peer.np, numpy.linspace(-1, 1, signs)
    sign, powers = numpy.sign(t), numpy.arange(degree)
    return peer.of_loss(lambda x: np.sum((sign - np.sum(x * t[:, None] ** powers, 1)) ** 2) / 2, *drawn((degree,)))


WITHOUT = {"MyGrad": ("kmeans", "ba", "ht", "particle", "saddle"), "JAX": ("particle",)}
"""MyGrad has derivatives of the first order by one number; where a particle lands decides how many steps there are, of
which JAX compiles none: one by one they take 66 times PyTorch's time."""


def rows(engine: str) -> tuple[dict[str, Callable[[], Turn]], str]:
    """Return what makes the turns of each row that an engine has, and its version."""
    peer = Peer(engine)
    made = {
        name: lambda row=row, size=size: globals()[row.__name__](peer, *size)
        for name, (row, size) in ROWS.items()
        if row.__name__ not in WITHOUT.get(engine, ())
    }
    return made, importlib.metadata.version(PEERS[engine])
