"""Planted faults of independence are found, on their lines where lines make them, and right models are left alone."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.record.measure.independence import FACTS, Call, Influence, influences

HEAD = "from autograph_cli import torch\nfrom autograph_cli.torch import nn\nfrom autograph_cli.torch.nn import functional as F\n"
ATTENTION = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.o = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
    def forward(self, x):
        s = self.q(x) @ self.k(x).transpose(-1, -2)
        {mask}
        a = torch.softmax(s, -1)
        return self.o(a @ x)
"""
PLAIN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, {given}):
        {forward}
"""


def plain(init: str, forward: str, given: str = "x") -> str:
    """A model of these layers."""
    return PLAIN.format(init=init, forward=forward.replace("\n", "\n        "), given=given)


ROWS, TIMES, IMAGES = "torch.randn(8, 6)", "torch.randn(4, 5, 6)", "torch.randn(3, 2, 8, 8)"
TWO = "self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 3)"
CONV = "self.causal, self.o = nn.Conv1d(6, 6, 3, padding={0}), nn.Conv1d(6, 2, 1)"
MASK = "s = s.masked_fill(torch.ones(5, 5).triu({0}).bool(), -1e9)"
PLANTED: dict[str, tuple[str, list[str], str, str]] = {
    "a view where a permutation is meant": (
        plain(TWO, "h = torch.tanh(self.a(x))\nh = h.view(5, 4, 6)\nreturn self.b(h)"),
        [TIMES],
        "examples",
        "h = h.view(5, 4, 6)",
    ),
    "attention over examples": (
        plain(
            "self.a, self.b = nn.MultiheadAttention(6, 2), nn.Linear(6, 3)",
            "h, _ = self.a(x, x, x)\nreturn self.b(h.mean(1))",
        ),
        [TIMES],
        "examples",
        "h, _ = self.a(x, x, x)",
    ),
    "the mean of the batch": (
        plain(TWO, "h = self.a(x)\nh = h - h.mean(0)\nreturn self.b(torch.relu(h))"),
        [ROWS],
        "examples",
        "h = h - h.mean(0)",
    ),
    "softmax over examples": (
        plain(TWO, "return F.softmax(self.b(torch.tanh(self.a(x))), dim=0)"),
        [ROWS],
        "examples",
        "return F.softmax(self.b(torch.tanh(self.a(x))), dim=0)",
    ),
    "a mask one too far": (ATTENTION.format(mask=MASK.format(2)), [TIMES], "future", MASK.format(2)),
    "a mask one too far, beside a loss": (
        ATTENTION.format(mask=MASK.format(2))
        .replace("forward(self, x)", "forward(self, x, y=None)")
        .replace("return self.o(a @ x)", "h = self.o(a @ x)\n        return F.mse_loss(h, y), h"),
        [TIMES, "torch.randn(4, 5, 3)"],
        "future",
        MASK.format(2),
    ),
    "a mask that is not put on": (
        ATTENTION.format(mask="hidden = torch.ones(5, 5).triu(1).bool()"),
        [TIMES],
        "future",
        "hidden = torch.ones(5, 5).triu(1).bool()",
    ),
    "a causal convolution that looks ahead": (
        plain(CONV.format(1), "return self.o(torch.relu(self.causal(x.mT))).mT"),
        [TIMES],
        "future",
        "return self.o(torch.relu(self.causal(x.mT))).mT",
    ),
    "an input that is forgotten": (
        plain(TWO, "return self.b(torch.relu(self.a(x)))", "x, condition"),
        [ROWS, ROWS],
        "input",
        "def forward(self, x, condition):",
    ),
    "a layer that is overwritten": (
        plain(TWO, "h = torch.relu(self.a(x))\nh = torch.relu(x)\nreturn self.b(h)"),
        [ROWS],
        "parameter",
        TWO,
    ),
    "the largest of the batch": (
        plain(TWO, "h = torch.relu(self.a(x))\nh = h / (h.max() + 1e-6)\nreturn self.b(h)"),
        [ROWS],
        "examples",
        "h = h / (h.max() + 1e-6)",
    ),
    "a scale that is detached by sign": (
        plain("self.a, self.s = nn.Linear(6, 3), nn.Parameter(torch.ones(3))", "return self.a(x) * torch.sign(self.s)"),
        [ROWS],
        "parameter",
        "self.a, self.s = nn.Linear(6, 3), nn.Parameter(torch.ones(3))",
    ),
}
RIGHT: dict[str, tuple[str, list[str]]] = {
    "two layers": (plain(TWO, "return self.b(torch.relu(self.a(x)))"), [ROWS]),
    "batch norm": (
        plain("self.a, self.n, self.b = nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)", "return self.b(torch.relu(self.n(self.a(x))))"),
        [ROWS],
    ),
    "dropout": (plain(TWO, "return self.b(F.dropout(torch.relu(self.a(x)), 0.5, self.training))"), [ROWS]),
    "convolutions": (
        plain("self.c, self.n, self.o = nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 3)", "h = torch.relu(self.n(self.c(x)))\nreturn self.o(h.mean((2, 3)))"),
        [IMAGES],
    ),
    "flattened": (plain("self.c, self.o = nn.Conv2d(2, 3, 3), nn.Linear(108, 3)", "return self.o(torch.relu(self.c(x)).flatten(1))"), [IMAGES]),
    "group norm": (
        plain("self.c, self.n, self.o = nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.Conv2d(4, 2, 1)", "return self.o(torch.relu(self.n(self.c(x))))"),
        [IMAGES],
    ),
    "recurrent, batch first": (plain("self.r, self.o = nn.GRU(6, 4, batch_first=True), nn.Linear(4, 2)", "h, _ = self.r(x)\nreturn self.o(h)"), [TIMES]),
    "recurrent, times first": (plain("self.r, self.o = nn.LSTM(6, 4), nn.Linear(4, 2)", "h, _ = self.r(x)\nreturn self.o(h)"), [TIMES]),
    "the last state": (plain("self.r, self.o = nn.GRU(6, 4, batch_first=True), nn.Linear(4, 2)", "_, h = self.r(x)\nreturn self.o(h[-1])"), [TIMES]),
    "attention": (ATTENTION.format(mask="pass"), [TIMES]),
    "a causal mask": (ATTENTION.format(mask=MASK.format(1)), [TIMES]),
    "heads": (
        plain("self.a, self.o = nn.MultiheadAttention(6, 2, batch_first=True), nn.Linear(6, 3)", "h, _ = self.a(x, x, x)\nreturn self.o(h.mean(1))"),
        [TIMES],
    ),
    "an encoder": (
        plain("self.t, self.o = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True), nn.Linear(6, 3)", "return self.o(self.t(x))"),
        [TIMES],
    ),
    "a causal mask, beside a loss": (
        ATTENTION.format(mask=MASK.format(1)).replace("forward(self, x)", "forward(self, x, y)").replace(
            "return self.o(a @ x)", "h = self.o(a @ x)\n        return F.mse_loss(h, y), h"
        ),
        [TIMES, "torch.randn(4, 5, 3)"],
    ),
    "a causal convolution": (
        plain(CONV.format(0), "return self.o(torch.relu(self.causal(F.pad(x.mT, (2, 0))))).mT"),
        [TIMES],
    ),
    "tokens": (
        plain("self.e, self.r, self.o = nn.Embedding(9, 6), nn.GRU(6, 6, batch_first=True), nn.Linear(6, 9)", "h, _ = self.r(self.e(x))\nreturn self.o(h)  # causal"),
        ["torch.randint(0, 9, (4, 7))"],
    ),
    "tied": (
        plain("self.e, self.a = nn.Embedding(9, 6), nn.Linear(6, 6)", "return torch.tanh(self.a(self.e(x))) @ self.e.weight.T"),
        ["torch.randint(0, 9, (4, 7))"],
    ),
    "two inputs": (plain(TWO, "return self.b(torch.relu(self.a(x)) * torch.sigmoid(y))", "x, y"), [ROWS, ROWS]),
    "a graph": (plain(TWO, "return self.b(adjacency @ torch.relu(self.a(x)))", "x, adjacency"), [ROWS, "torch.rand(8, 8)"]),
    "pairs of nodes": (
        plain(TWO, "h = self.a(x)\nm = torch.zeros_like(h).index_add(0, edges[1], h[edges[0]])\nreturn self.b(torch.relu(m + h))", "x, edges"),
        [ROWS, "torch.randint(0, 8, (2, 12))"],
    ),
    "a set": (plain(TWO, "h = torch.relu(self.a(x)).sum(1)\nreturn self.b(h)"), [TIMES]),
    "experts": (
        plain("self.g, self.e = nn.Linear(6, 3), nn.ModuleList([nn.Linear(6, 2) for _ in range(3)])", "w = torch.softmax(self.g(x), -1)\nreturn sum(w[:, n : n + 1] * e(x) for n, e in enumerate(self.e))"),
        [ROWS],
    ),
    "low rank": (
        plain("self.a, self.d, self.u = nn.Linear(6, 3), nn.Parameter(torch.randn(2, 6)), nn.Parameter(torch.randn(3, 2))", "return self.a(x) + x @ self.d.T @ self.u.T"),
        [ROWS],
    ),
    "merged rows": (plain(TWO, "h = x.reshape(-1, 6)\nh = self.b(torch.relu(self.a(h)))\nreturn h.view(4, 5, 3)"), [TIMES]),
    "each with each": (plain("self.a = nn.Linear(6, 6)", "h = self.a(x)\nreturn h @ h.T"), [ROWS]),
    "a distribution beside a value": (plain(TWO, "h = self.a(x)\nreturn torch.distributions.Categorical(logits=h), self.b(h)"), [ROWS]),
    "a graph of two layers": (plain(TWO, "return self.b(g @ torch.relu(g @ self.a(x)))", "x, g"), [ROWS, "(torch.rand(8, 8) > 0.5).float()"]),
    "a graph that the model has": (
        plain(f"{TWO}\nself.register_buffer('g', torch.rand(8, 8))".replace("\n", "; "), "return self.b(self.g @ torch.relu(self.g @ self.a(x)))"),
        [ROWS],
    ),
    "a branch that begins as zeros": (
        plain("self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6); nn.init.zeros_(self.b.weight)", "return x + self.b(torch.relu(self.a(x)))"),
        [ROWS],
    ),
    "the largest of each row": (plain(TWO, "h = torch.relu(self.a(x))\nreturn self.b(h / (h.amax(1, keepdim=True) + 1e-6))"), [ROWS]),
    "numbers drawn": (plain(TWO, "h = self.a(x)\nreturn self.b(h + torch.randn_like(h))"), [ROWS]),
}  # fmt: skip


def found_in(tmp_path: Path, source: str, args: list[str]) -> list[Influence]:
    """Return what is found in the model of a script."""
    file = tmp_path / "net.py"
    file.write_text(HEAD + source)
    linecache.checkcache(str(file))
    torch.manual_seed(0)
    scope: dict[str, Any] = {"__name__": "net"}
    exec(compile(HEAD + source, str(file), "exec"), scope)
    given = tuple(eval(arg, {"torch": torch}) for arg in args)
    call = Call(scope["Net"](), "Net", given)
    found = influences(torch, call, lambda file, number: linecache.getline(file, number).strip())
    return [one for one in found if one.kind not in FACTS]


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str, tmp_path: Path) -> None:
    source, args, kind, line = PLANTED[name]
    found = found_in(tmp_path, source, args)
    assert {"examples" if one.kind == "rows" else one.kind for one in found} == {kind}
    assert {one.source.text for one in found if one.source} == {line}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_in_a_right_model(name: str, tmp_path: Path) -> None:
    assert found_in(tmp_path, *RIGHT[name]) == []
