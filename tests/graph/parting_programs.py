"""Programs, and changes planted in them: where two runs must be found to part."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from msgspec import Struct

_HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(11)
"""
PROGRAMS = {
    "encoder": """
q, k, v, o = [nn.Parameter(torch.randn(12, 12) / 4) for _ in range(4)]
up, down = nn.Linear(12, 24), nn.Linear(24, 12)
norm = nn.LayerNorm(12)
x = torch.randn(3, 6, 12)
a = norm(x)
heads = (a @ q).view(3, 6, 3, 4).transpose(1, 2)
keys = (a @ k).view(3, 6, 3, 4).permute(0, 2, 3, 1)
weights = torch.softmax(heads @ keys * 0.5, -1)
mixed = (weights @ (a @ v).view(3, 6, 3, 4).transpose(1, 2)).transpose(1, 2).reshape(3, 6, 12)
y = x + mixed @ o
z = y + down(F.gelu(up(y)))
loss = z.pow(2).mean() + z.abs().mean() * 0.3
loss.backward()
""",
    "autoencoder": """
enc, mid, dec = nn.Conv1d(2, 8, 5, stride=2), nn.Conv1d(8, 8, 3, padding=1, groups=2), nn.ConvTranspose1d(8, 2, 5, stride=2)
x = torch.randn(4, 2, 33)
h = F.elu(enc(x), alpha=0.8)
g = F.group_norm(h, 4, eps=1e-4)
m = F.silu(mid(g)) + g
p = F.avg_pool1d(m, 3, stride=1, padding=1)
out = dec(p)
loss = F.smooth_l1_loss(out, x, beta=0.7)
loss.backward()
""",
    "lstm": """
cell, head = nn.LSTMCell(4, 6), nn.Linear(6, 3)
seq = torch.randn(5, 2, 4)
goal = torch.tensor([2, 0])
h, c = torch.zeros(2, 6), torch.zeros(2, 6)
total = 0.0
for t in range(5):
    h, c = cell(seq[t], (h, c))
    logits = head(h * 0.9)
    part = F.cross_entropy(logits, goal)
    total = total + part / 5
total.backward()
""",
    "graph": """
w1, w2 = nn.Parameter(torch.randn(5, 7)), nn.Parameter(torch.randn(7, 3))
gain = nn.Parameter(torch.rand(7))
nodes = torch.randn(6, 5)
source, target = torch.tensor([0, 1, 2, 3, 4, 5, 0]), torch.tensor([1, 2, 3, 4, 5, 0, 3])
sent = (nodes @ w1)[source]
summed = torch.zeros(6, 7).index_add(0, target, sent)
mean = summed / 2.0
hidden = torch.sigmoid(mean) * gain
scores = hidden @ w2
top = scores.amax(dim=1)
loss = torch.logsumexp(top, 0) + hidden.norm() * 0.1
loss.backward()
""",
    "contrast": """
left, right = nn.Linear(6, 8), nn.Linear(6, 8, bias=False)
temperature = nn.Parameter(torch.tensor(0.4))
x = torch.randn(5, 6)
noisy = x + torch.randn(5, 6) * 0.2
u = F.normalize(left(x), dim=1)
v = F.normalize(right(noisy), dim=1)
sims = u @ v.t() / temperature
rows = F.log_softmax(sims, dim=1)
cols = F.log_softmax(sims, dim=0)
loss = -(rows.diagonal().mean() + cols.diagonal().mean()) / 2
loss.backward()
""",
    "process": """
scale, width = nn.Parameter(torch.tensor(1.2)), nn.Parameter(torch.tensor(0.7))
x = torch.linspace(-1, 1, 7).unsqueeze(1)
y = torch.sin(3 * x).squeeze(1)
gaps = (x - x.t()) ** 2
kernel = scale * torch.exp(-gaps / (2 * width ** 2))
cov = kernel + torch.eye(7) * 0.1
root = torch.linalg.cholesky(cov)
alpha = torch.cholesky_solve(y.unsqueeze(1), root).squeeze(1)
fit = 0.5 * (y * alpha).sum()
loss = fit + root.diagonal().log().sum()
loss.backward()
""",
    "mixture": """
net = nn.Sequential(nn.Linear(2, 10), nn.Softplus(beta=2), nn.Linear(10, 9))
x, y = torch.rand(8, 2), torch.rand(8, 1)
raw = net(x)
pi, mu, spread = raw.chunk(3, dim=1)
sigma = F.softplus(spread) + 0.05
dist = -0.5 * ((y - mu) / sigma) ** 2
terms = dist - sigma.log() + F.log_softmax(pi, dim=1)
loss = -torch.logsumexp(terms, dim=1).mean()
loss.backward()
""",
    "agent": """
net, frozen = nn.Linear(4, 3), nn.Linear(4, 3)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
state, after, act = torch.randn(6, 4), torch.randn(6, 4), torch.tensor([0, 2, 1, 1, 0, 2])
reward = torch.rand(6)
for step in range(3):
    values = torch.tanh(net(state))
    chosen = values.gather(1, act.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = frozen(after).max(dim=1).values
        goal = reward + 0.9 * best
    loss = F.huber_loss(chosen, goal, delta=0.5)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "meta": """
w, b = nn.Parameter(torch.randn(3, 4) * 0.5), nn.Parameter(torch.zeros(4))
x, y = torch.randn(5, 3), torch.randn(5, 4)
hidden = torch.tanh(x @ w + b)
inner = F.mse_loss(hidden, y)
gw, gb = torch.autograd.grad(inner, (w, b), create_graph=True)
w2 = w - 0.3 * gw
b2 = b - 0.3 * gb
again = torch.tanh(x @ w2 + b2)
loss = F.mse_loss(again, y * 0.5)
loss.backward()
""",
    "flow": """
w1, w2 = nn.Parameter(torch.randn(3, 8) * 0.5), nn.Parameter(torch.randn(8, 3) * 0.5)
decay = nn.Parameter(torch.tensor(0.2))
x = torch.randn(4, 3)
for t in range(4):
    speed = torch.einsum("bi,ij->bj", torch.tanh(torch.einsum("bi,ij->bj", x, w1)), w2)
    drift = speed - decay * x
    x = x + 0.25 * drift
energy = x.square().sum(dim=1)
loss = energy.add(1e-3).sqrt().mean()
loss.backward()
""",
    "words": """
table = nn.Embedding(15, 6)
mix = nn.Bilinear(6, 6, 4)
ids, others = torch.tensor([[1, 4, 4], [9, 2, 0]]), torch.tensor([[3, 3, 5], [7, 8, 14]])
one = table(ids).mean(dim=1)
two = table(others).max(dim=1).values
joint = mix(one, two)
near = F.cosine_similarity(one, two, dim=1, eps=1e-6)
gate = torch.where(joint > 0, joint, joint * 0.2)
loss = (gate.prod(dim=1) + near.exp()).sum() + F.kl_div(F.log_softmax(joint, 1), F.softmax(joint.detach() * 2, 1), reduction="batchmean")
loss.backward()
""",
}
_FUNCTION = """
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g{}


"""
_ASSIGNED = re.compile(r"^( *)(\w+) = (?!torch\.(?:randn|rand|tensor|zeros|linspace|optim)\b|nn\.|\[|0\.0)(.*)$")
_NUMBER = re.compile(r"(?<![\w.\[(])(\d+\.\d+|\de-\d)(?![\w.])")


class Planted(Struct, frozen=True):
    """Two programs, and where they part: no line for `rounding` and `same`."""

    name: str
    old: str
    new: str
    kind: str
    line: int = 0
    lines: tuple[int, ...] = ()
    """Others that are right."""


def planted() -> Iterator[Planted]:
    """All changes, in order of programs."""
    for name, body in PROGRAMS.items():
        text = _HEAD + body.removeprefix("\n")
        lines = text.splitlines()
        for number, line in enumerate(lines):
            for what, changed in _forward(line):
                yield Planted(f"{name} {number + 1} {what}", text, _with(lines, number, changed), "forward", number + 1)
            for what, changed in _hooked(line):
                yield Planted(
                    f"{name} {number + 1} {what}", text, _with(lines, number, changed), "backward", number + 1
                )
            yield from _functions(name, lines, number)


def rounded() -> Iterator[Planted]:
    """Changes that differ by rounding alone."""
    for name, body in PROGRAMS.items():
        text = _HEAD + body.removeprefix("\n")
        lines = text.splitlines()
        for number, line in enumerate(lines):
            found = _ASSIGNED.match(line)
            if found and not line.rstrip().endswith(":") and "," not in found[2]:
                changed = f"{found[1]}{found[2]} = ({found[3]}) * 1.7 / 1.7"
                yield Planted(f"{name} {number + 1} rounding", text, _with(lines, number, changed), "rounding")


def same() -> Iterator[Planted]:
    """Programs that compute the same in other words."""
    for name, body in PROGRAMS.items():
        text = _HEAD + body.removeprefix("\n")
        yield Planted(f"{name} same", text, "# another comment\n" + re.sub(r"\bloss\b", "objective", text), "same")


def sample(changes: Iterator[Planted], count: int, seed: int) -> list[Planted]:
    """Some of these, drawn."""
    every = list(changes)
    return random.Random(seed).sample(every, min(count, len(every)))


def _with(lines: list[str], number: int, changed: str) -> str:
    return "\n".join([*lines[:number], changed, *lines[number + 1 :]]) + "\n"


def _forward(line: str) -> Iterator[tuple[str, str]]:
    found = _ASSIGNED.match(line)
    if found is None:
        return
    for place in _NUMBER.finditer(line):
        value = float(place[1])
        yield f"{place[1]} changed", f"{line[: place.start()]}{value * 1.002:.6g}{line[place.end() :]}"
    if "=" not in found[3] or "(" in found[3]:
        yield "scaled", f"{found[1]}{found[2]} = ({found[3]}) * 1.001"
        yield "moved", f"{found[1]}{found[2]} = ({found[3]}) + 0.002"


def _hooked(line: str) -> Iterator[tuple[str, str]]:
    found = _ASSIGNED.match(line)
    if found is None or found[2] in ("x", "goal", "best", "gaps", "y"):
        return
    yield "hook", f"{line}; {found[2]}.register_hook(lambda g: g * 1.004)"
    if "(" in found[3]:
        yield "detached", f"{found[1]}{found[2]} = ({found[3]}).detach()"
    yield "clipped", f"{line}; {found[2]}.register_hook(lambda g: g.clamp(-1e-3, 1e-3))"


def _functions(name: str, lines: list[str], number: int) -> Iterator[Planted]:
    """The backward of a custom Function that is applied to what a line makes."""
    found = _ASSIGNED.match(lines[number])
    if found is None or found[2] in ("x", "goal", "best", "gaps", "y"):
        return
    made = [
        "\n".join([*lines[:4], *_FUNCTION.format(wrong).splitlines(), *lines[4:number]])
        + f"\n{found[1]}{found[2]} = Same.apply({found[3]})\n"
        + "\n".join(lines[number + 1 :])
        + "\n"
        for wrong in ("", " * 0.997", " + 0.01")
    ]
    at = made[0].splitlines().index(f"{found[1]}{found[2]} = Same.apply({found[3]})") + 1
    inside = made[1].splitlines().index("        return g * 0.997") + 1
    for what, new in (("scaled function", made[1]), ("moved function", made[2])):
        yield Planted(f"{name} {number + 1} {what}", made[0], new, "backward", at, (inside,))
