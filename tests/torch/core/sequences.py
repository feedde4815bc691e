"""Random sequences of views, in-place changes, hooks and backward passes, run on any engine.

`python -m tests.torch.core.sequences` records with real PyTorch what some sequences give, into sequences.json.
"""

from __future__ import annotations

import json
import math
import random
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

EXPECTED = Path(__file__).with_name("sequences.json")
RECORDED = (*range(1, 161), *range(10_001, 10_041), 100_409, 101_171, 101_617, 102_125)
"""The seeds whose sequences are recorded; the first ones brought to light what the engine did differently."""

KINDS = {
    "new": (14, "{a}.sin()|{a}.exp()|{a}*2|{a}**2|{a}.clone()|{a}.sum()|{a}.sum(0)|{a}.tanh()|{a}.relu()|-{a}|{a}.mean()|{a}+1|{a}.sigmoid()"),
    "two": (14, "{a}*{b}|{a}+{b}|{a}-{b}|torch.cat([{a},{b}])|torch.stack([{a},{b}])|torch.where({a}>0,{a},{b})|{a}/({b}**2+1)|torch.minimum({a},{b})"),
    "view": (24, "{a}.view(-1)|{a}.t()|{a}[0]|{a}[:,1]|{a}[:,:2]|{a}[1:]|{a}.unsqueeze(0)|{a}.unsqueeze(-1)|{a}.squeeze()|{a}.expand(2,*{a}.shape)|"
             "{a}.transpose(0,-1)|{a}.reshape(-1)|{a}.narrow(0,0,1)|{a}.chunk(2)[0]|{a}.chunk(2)[-1]|{a}.unbind()[0]|{a}.unbind()[-1]|{a}.detach()|"
             "{a}.diagonal()|{a}.flatten()|{a}.select(0,0)|{a}.view_as({a})|{a}[...]|{a}[None]|{a}.data|{a}.expand_as({a})|{a}.as_strided((2,),(1,))"),
    "change": (28, "{a}.mul_(2)|{a}.add_(1)|{a}.zero_()|{a}.fill_(3)|{a}.sin_()|{a}.exp_()|{a}.pow_(2)|{a}.neg_()|{a}.clamp_(-1,1)|{a}.sigmoid_()|"
               "{a}.tanh_()|{a}.relu_()|{a}.sqrt_()|{a}.masked_fill_({a}>0,0.5)|{a}.abs_()|{a}.add_({b})|{a}.mul_({b})|{a}.copy_({b})|{a}.sub_({b})|"
               "{a}.div_({b})|{a}.addcmul_({b},{b})|{a}.lerp_({b},0.5)|setitem({a},0,{b})|setitem({a},slice(None,1),2.)|setitem({a},Ellipsis,{b})|"
               "setitem({a},{a}>0,1.)|{a}.detach_()|{a}.requires_grad_(False)|{a}.copy_(torch.zeros(()))|setitem({a},torch.tensor([0]),{b})"),
    "hook": (5, "hook({a})|{a}.retain_grad()|prehook({a})|posthook({a})|leafhook({a})"),
    "back": (15, "{a}.sum().backward()|{a}.sum().backward(retain_graph=True)|{a}.sum().backward(create_graph=True)|grad({a},{b})|"
             "grad({a},{b},retain_graph=True)|grad({a},{b},create_graph=True)|{a}.sum().backward(inputs=[{b}])|forget({a})|{a}.backward(torch.ones_like({a}))"),
}  # fmt: skip
"""Statements by kind, and how often a kind is drawn; {a} and {b} are tensors made so far."""
SHAPES = re.compile(r"size|shape|dimension|single memory location|memory location|argument|indices|equal|0-dim|not iterable")
"""Errors that both engines raise, though they may find another fault first."""


class Step(NamedTuple):
    code: str
    a: int
    b: int
    no_grad: bool

    def __str__(self) -> str:
        return ("no_grad: " if self.no_grad else "") + self.code.format(a=f"v[{self.a}]", b=f"v[{self.b}]")


def sequence(seed: int, length: int = 12) -> list[Step]:
    """The steps of one sequence."""
    draw = random.Random(seed)
    weights = [weight for weight, _ in KINDS.values()]
    steps = []
    for i in range(length):
        (_, codes) = draw.choices(list(KINDS.values()), weights)[0]
        known = 4 + min(i, 6)
        steps.append(Step(draw.choice(codes.split("|")), draw.randrange(known), draw.randrange(known), draw.random() < 0.08))
    return steps


class Player:
    """Plays steps on one engine: `v` are the tensors made so far, `log` is what hooks saw."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.log: list[Any] = []
        x = torch.tensor([[0.5, -1.2, 0.3], [1.1, 0.7, -0.4]], requires_grad=True)
        w = torch.tensor([0.9, -0.6, 1.4], requires_grad=True)
        c = torch.tensor([[0.2, 0.8, -1.0], [0.4, -0.3, 0.6]])
        self.v = [x, w, c, x * 1.5]
        self.names = {
            "torch": torch, "setitem": lambda t, i, x: t.__setitem__(i, x), "forget": lambda t: setattr(t, "grad", None),
            "hook": lambda t: t.register_hook(self._seen("hook", lambda g: g * 2)) and None,
            "prehook": lambda t: t.grad_fn.register_prehook(self._seen("prehook", lambda g: None)) and None,
            "posthook": lambda t: t.grad_fn.register_hook(self._seen("posthook", lambda g, _: None)) and None,
            "leafhook": lambda t: t.register_post_accumulate_grad_hook(self._seen("leaf", lambda t: None)) and None,
            "grad": self._grad,
        }  # fmt: skip

    def _seen(self, what: str, answer: Any) -> Any:
        number = len(self.log)

        def run(*args: Any) -> Any:
            self.log.append([number, what, [len(x) if isinstance(x, tuple) else _numbers(x) for x in args]])
            return answer(*args)

        return run

    def _grad(self, a: Any, b: Any, **options: Any) -> Any:
        found = self.torch.autograd.grad(a.sum(), b, allow_unused=True, **options)[0]
        self.log.append(["grad", None if found is None else [_numbers(found), graph(found)]])

    def play(self, step: Step) -> str:
        """Do one step; `ok`, or the first sentence of the error."""
        if max(step.a, step.b) >= len(self.v):
            return "skipped"
        code = step.code.format(a=f"v[{step.a}]", b=f"v[{step.b}]")
        try:
            with self.torch.set_grad_enabled(not step.no_grad):
                made = eval(code, {**self.names, "v": self.v})
        except Exception as error:
            return f"{type(error).__name__}: " + re.split(r"(?<=[.!?])\s", str(error).split("\n")[0])[0].strip()
        if isinstance(made, self.torch.Tensor) and not any(made is t for t in self.v) and made.numel() <= 64 and made.dim() <= 4:
            self.v.append(made)
        return "ok"

    def snapshot(self) -> list[Any]:
        """All that can be known of every tensor."""
        return [self._known(t) for t in self.v]

    def _known(self, t: Any) -> list[Any]:
        try:
            nodes = graph(t)
        except RuntimeError as error:
            return [str(error)[:60]]
        strides = [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] if t._is_view() and t.numel() else []
        base = next((i for i, x in enumerate(self.v) if x is t._base), None)
        gradient = t.grad if t.is_leaf or t.retains_grad else None
        return [
            list(t.shape), strides, _numbers(t), t.requires_grad, t.is_leaf, t._version, t._is_view(), base, nodes, t.retains_grad,
            None if gradient is None else [list(gradient.shape), _numbers(gradient), gradient.requires_grad],
        ]  # fmt: skip


def _numbers(t: Any) -> Any:
    if t is None:
        return None
    return [float(f"{x:.3g}") if math.isfinite(x) and abs(x) < 1e4 else "big" for x in t.detach().reshape(-1).tolist()]


def graph(tensor: Any) -> list[Any] | None:
    """The nodes behind a tensor, breadth first, each with its edges; at most 60."""
    if tensor.grad_fn is None:
        return None
    order = [tensor.grad_fn]
    numbers = {tensor.grad_fn: 0}
    rows = []
    for node in order:
        row = [node.name()]
        for target, number in node.next_functions:
            if target is not None and target not in numbers:
                numbers[target] = len(order)
                order.append(target)
            row.append(None if target is None else [numbers[target], number])
        rows.append(row)
        if len(rows) == 60:
            break
    return rows


def observe(steps: list[Step], torch: Any) -> list[Any]:
    """What each step gives, and what is known of all tensors after it."""
    player = Player(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [[player.play(step), player.snapshot(), list(player.log)] for step in steps]


def difference(got: list[Any], want: list[Any]) -> str:
    """Where two observations part, in words; empty if they do not."""
    for number, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        if mine[0] != theirs[0]:
            loose = all(SHAPES.search(x[0]) or "modified inplace" in x[0] for x in (mine, theirs))
            if not loose or "ok" in (mine[0], theirs[0]):
                return f"step {number}: {mine[0]!r}, but PyTorch: {theirs[0]!r}"
        for i, (x, y) in enumerate(zip(mine[1], theirs[1], strict=True)):
            if not _close(x, y):
                return f"step {number}, v[{i}]: {x}, but PyTorch: {y}"
        if not _close(mine[2], theirs[2]):
            return f"step {number}: hooks saw {mine[2]}, but PyTorch's: {theirs[2]}"
    return ""


def _close(x: Any, y: Any) -> bool:
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(_close, x, y))
    if isinstance(x, float) and isinstance(y, float):
        return abs(x - y) <= 0.02 * (1 + abs(y))
    return bool(x == y)


def last(observation: list[Any]) -> list[Any]:
    """The results of all steps, with what is known after the last one only."""
    return [[step[0], [], []] for step in observation[:-1]] + observation[-1:]


if __name__ == "__main__":
    import torch

    found = {seed: last(observe(sequence(seed), torch)) for seed in RECORDED}
    lines = [f"{json.dumps(str(seed))}: {json.dumps(rows, separators=(',', ':'))}" for seed, rows in found.items()]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
