"""The rows of docs/performance.md written by hand in NumPy: the floor under an engine that calls NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rows import BATCH, HEADS, TOKENS, WIDTH, Turn, numbers


def _chain(shape: tuple[int, ...]) -> Turn:
    x = np.full(shape, 0.5, np.float32)[()]
    sin, cos, exp = np.sin, np.cos, np.exp

    def turn() -> list[float]:
        h, kept = x, []
        for _ in range(250):
            inner = h * x + x
            after = exp(sin(inner))
            kept.append((h, inner, after))
            h = after
        grad, total = np.ones(shape, np.float32)[()], np.zeros(shape, np.float32)[()]
        for before, inner, after in reversed(kept):
            grad = grad * after * cos(inner)
            total = total + grad + grad * before
            grad = grad * x
        return [float((total + grad).sum())]

    return turn


def _small_weights() -> list[Any]:
    weights = [numbers(1 + 2 * i, s, scale=0.5 / s[1] ** 0.5)[0] for i, s in enumerate([(16, 2), (16, 16), (1, 16)])]
    biases = [numbers(2 + 2 * i, (n,), scale=0.5 / n**0.5)[0] for i, n in enumerate([16, 16, 1])]
    return [w for pair in zip(weights, biases, strict=True) for w in pair]


def mlp_sgd() -> Turn:
    weights = _small_weights()
    x, y = numbers(7, (32, 2), (32, 1))

    def turn() -> list[float]:
        w1, b1, w2, b2, w3, b3 = weights
        h1 = np.tanh(x @ w1.T + b1)
        h2 = np.tanh(h1 @ w2.T + b2)
        off = h2 @ w3.T + b3 - y
        g3 = off * np.float32(2 / 32)
        g2 = g3 @ w3 * (1 - h2 * h2)
        g1 = g2 @ w2 * (1 - h1 * h1)
        grads = [g1.T @ x, g1.sum(0), g2.T @ h1, g2.sum(0), g3.T @ h2, g3.sum(0)]
        for w, g in zip(weights, grads, strict=True):
            w -= np.float32(0.01) * g
        return [float((off * off).mean())]

    return turn


def gradient_penalty() -> Turn:
    weights = _small_weights()
    (x,) = numbers(7, (32, 2))

    def turn() -> list[float]:
        w1, b1, w2, b2, w3, _ = weights
        h1 = np.tanh(x @ w1.T + b1)
        h2 = np.tanh(h1 @ w2.T + b2)
        d1, d2 = 1 - h1 * h1, 1 - h2 * h2
        s2 = d2 * w3
        p1 = s2 @ w2
        s1 = p1 * d1
        slope = s1 @ w1
        norm = np.sqrt((slope * slope).sum(1, keepdims=True))
        # And the way back through all of it.
        gslope = (norm - 1) * np.float32(2 / 32) * slope / norm
        gs1 = gslope @ w1.T
        gp1 = gs1 * d1
        gs2 = gp1 @ w2.T
        ga2 = -2 * h2 * d2 * w3 * gs2
        gh1 = ga2 @ w2 - 2 * h1 * p1 * gs1
        ga1 = gh1 * d1
        grads = [
            s1.T @ gslope + ga1.T @ x,
            ga1.sum(0),
            s2.T @ gp1 + ga2.T @ h1,
            ga2.sum(0),
            (gs2 * d2).sum(0, keepdims=True),
        ]
        for w, g in zip([w1, b1, w2, b2, w3], grads, strict=True):
            w -= np.float32(0.01) * g
        return [float(((norm - 1) ** 2).mean())]

    return turn


def mnist_adam() -> Turn:
    shapes = [(256, 784), (256,), (10, 256), (10,)]
    weights = [numbers(1 + i, s, scale=0.5 / s[-1] ** 0.5)[0] for i, s in enumerate(shapes)]
    first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    (x,) = numbers(7, (128, 784))
    at = (np.arange(128), np.arange(128) % 10)
    steps = [0]

    def turn() -> list[float]:
        w1, b1, w2, b2 = weights
        a = x @ w1.T + b1
        h = np.maximum(a, 0)
        z = h @ w2.T + b2
        z -= z.max(1, keepdims=True)
        e = np.exp(z)
        total = e.sum(1, keepdims=True)
        loss = float((np.log(total[:, 0]) - z[at]).mean())
        g2 = e / total
        g2[at] -= 1
        g2 /= np.float32(128)
        g1 = g2 @ w2 * (a > 0)
        steps[0] += 1
        t = steps[0]
        rate, root = np.float32(1e-3 / (1 - 0.9**t)), np.float32((1 - 0.999**t) ** 0.5)
        for w, g, m, v in zip(weights, [g1.T @ x, g1.sum(0), g2.T @ h, g2.sum(0)], first, second, strict=True):
            m += np.float32(0.1) * (g - m)
            v *= np.float32(0.999)
            v += np.float32(0.001) * g * g
            w -= rate * m / (np.sqrt(v) / root + np.float32(1e-8))
        return [loss]

    return turn


def block_plain() -> Turn:
    w, rows = WIDTH, BATCH * TOKENS
    wq, wo, wu, wd = numbers(1, (w, 3 * w), (w, w), (w, 4 * w), (4 * w, w), scale=w**-0.5)
    x = numbers(7, (BATCH, TOKENS, WIDTH))[0].reshape(rows, w)
    scale, c = np.float32((w // HEADS) ** -0.5), np.float32(0.7978845608)

    def norm(a: Any) -> tuple[Any, Any]:
        centred = a - a.mean(1, keepdims=True)
        r = 1 / np.sqrt((centred * centred).mean(1, keepdims=True) + np.float32(1e-5))
        return centred * r, r

    def norm_back(g: Any, n: Any, r: Any) -> Any:
        return r * (g - g.mean(1, keepdims=True) - n * (g * n).mean(1, keepdims=True))

    def heads(a: Any) -> Any:
        return np.ascontiguousarray(a.reshape(BATCH, TOKENS, HEADS, -1).transpose(0, 2, 1, 3))

    def rejoin(a: Any) -> Any:
        return a.transpose(0, 2, 1, 3).reshape(rows, w)

    def turn() -> list[float]:
        n1, r1 = norm(x)
        q, k, v = (heads(a) for a in np.split(n1 @ wq, 3, 1))
        p = q @ k.swapaxes(2, 3) * scale
        p -= p.max(3, keepdims=True)
        np.exp(p, p)
        p /= p.sum(3, keepdims=True)
        seen = rejoin(p @ v)
        y = x + seen @ wo
        n2, r2 = norm(y)
        u = n2 @ wu
        t = np.tanh(c * (u + np.float32(0.044715) * u * u * u))
        a = np.float32(0.5) * u * (1 + t)
        z = y + a @ wd
        g = z * np.float32(2 / z.size)
        ga = g @ wd.T
        gu = ga * np.float32(0.5) * (1 + t + u * (1 - t * t) * c * (1 + np.float32(3 * 0.044715) * u * u))
        gy = g + norm_back(gu @ wu.T, n2, r2)
        gseen = heads(gy @ wo.T)
        gp = gseen @ v.swapaxes(2, 3)
        gs = p * (gp - (gp * p).sum(3, keepdims=True)) * scale
        gq = np.concatenate([rejoin(gs @ k), rejoin(gs.swapaxes(2, 3) @ q), rejoin(p.swapaxes(2, 3) @ gseen)], 1)
        _ = [a.T @ g, g.sum(0), n2.T @ gu, gu.sum(0), seen.T @ gy, gy.sum(0), n1.T @ gq, gq.sum(0)]
        gn = gq @ wq.T
        _ += [(gn * n1).sum(0), gn.sum(0), norm_back(gn, n1, r1)]
        return [float((z * z).mean())]

    return turn


def lstm_plain() -> Turn:
    steps, batch, features, hidden = 100, 16, 64, 128
    w, u = numbers(1, (features, 4 * hidden), (hidden, 4 * hidden), scale=0.08)
    (x,) = numbers(7, (steps, batch, features))

    def turn() -> list[float]:
        h = c = np.zeros((batch, hidden), np.float32)
        kept = []
        for t in range(steps):
            z = x[t] @ w + h @ u
            s = 1 / (1 + np.exp(-z))
            i, f, o = s[:, :hidden], s[:, hidden : 2 * hidden], s[:, 3 * hidden :]
            g = np.tanh(z[:, 2 * hidden : 3 * hidden])
            before, hb = c, h
            c = f * c + i * g
            tc = np.tanh(c)
            h = o * tc
            kept.append((i, f, g, o, before, hb, tc))
        gh, gc = h * np.float32(2 / h.size), np.zeros_like(h)
        gw, gu, gb = np.zeros_like(w), np.zeros_like(u), np.zeros(4 * hidden, np.float32)
        gz = np.empty((batch, 4 * hidden), np.float32)
        for t in range(steps - 1, -1, -1):
            i, f, g, o, before, hb, tc = kept[t]
            gc = gc + gh * o * (1 - tc * tc)
            gz[:, :hidden] = gc * g * i * (1 - i)
            gz[:, hidden : 2 * hidden] = gc * before * f * (1 - f)
            gz[:, 2 * hidden : 3 * hidden] = gc * i * (1 - g * g)
            gz[:, 3 * hidden :] = gh * tc * o * (1 - o)
            gw += x[t].T @ gz
            gu += hb.T @ gz
            gb += gz.sum(0)
            gh, gc = gz @ u.T, gc * f
        return [float((h * h).mean()), float(abs(gw).sum())]

    return turn


def elementwise_4m() -> Turn:
    x, y = numbers(1, (2000, 2000), (2000, 2000))

    def turn() -> list[float]:
        e = np.exp(x)
        out = 1 / (1 + np.exp(-(e * y + x)))
        g = out * out * (1 - out)
        gy = g * e
        gx = g + gy * y
        return [float(gx[0, 0]), float(gy[5, 5])]

    return turn


def matmul_1024() -> Turn:
    x, y = numbers(1, (1024, 1024), (1024, 1024))
    (g,) = numbers(2, (1024, 1024))

    def turn() -> list[float]:
        x @ y
        gx, gy = g @ y.T, x.T @ g
        return [float(gx[0, 0]), float(gy[5, 5])]

    return turn


def leaves_pairwise() -> Turn:
    leaves = [np.float32(1.0 + i % 7) for i in range(10_000)]

    def turn() -> list[float]:
        level, sizes = leaves, []
        while len(level) > 1:
            rest = level[len(level) & ~1 :]
            sizes.append(len(level))
            level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + rest
        grads = [np.float32(1)]
        for size in reversed(sizes):
            grads = [g for g in grads for _ in range(2)][:size]
        return [float(level[0]), float(grads[0]), float(grads[-1])]

    return turn


def leaf_many_times() -> Turn:
    x = np.float32(0.5)

    def turn() -> list[float]:
        h, grad = x, np.float32(0)
        for _ in range(10_000):
            h = h + x
        one = np.float32(1)
        for _ in range(10_001):
            grad = grad + one
        return [float(grad)]

    return turn


ROWS: dict[str, Callable[[], Turn]] = {
    "chain_0d": lambda: _chain(()),
    "chain_16": lambda: _chain((16,)),
} | {
    row.__name__: row
    for row in (
        mlp_sgd, gradient_penalty, mnist_adam, block_plain, lstm_plain, elementwise_4m, matmul_1024, leaves_pairwise,
        leaf_many_times,
    )
}  # fmt: skip
"""By the name of the row in rows.py; LeNet has none, for its floor is a library of convolutions."""
