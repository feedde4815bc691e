"""Scripts made at random, of views, changes in place, what autograd does not record, and derivatives of every order."""

from __future__ import annotations

import random

START = """\
import torch
from torch import nn
torch.manual_seed(0)
w = torch.tensor([[0.5, -1.2, 0.3], [1.1, 0.7, -0.4]], requires_grad=True)
b = torch.tensor([0.2, -0.3, 0.9], requires_grad=True)
x = torch.arange(6.0).view(2, 3) / 5 + 0.1
m = nn.Linear(3, 3)
"""
GIVEN = ("w", "x", "b", "m(x)", "w * x", "m.weight[:2]")
COMPUTED = (
    "{a} * {c}", "{a} + {c}", "{a} - {c}", "torch.tanh({a})", "({a}).sigmoid() * {c}", "({a}) ** 2", "m({a})",
    "torch.where({a} > 0.1, {a}, {c})", "({a} * 2).relu()", "torch.maximum({a}, {c})", "torch.softmax({a}, -1)",
    "nn.functional.gelu({a})", "torch.cat([torch.atleast_2d({a}), torch.atleast_2d({c})])[:2]",
    "({a})[..., 1:].sum(-1, keepdim=True) * {c}", "({a}).clone()", "({a})[..., [2, 0, 1]]",
)  # fmt: skip
VIEWS = ("({a}).unsqueeze(0).squeeze(0)", "({a}).expand(2, 3)", "({a}).expand(2, 3).t().t()")
CHANGES = (
    "{t}.mul_(1.5)", "{t}.add_(x[0])", "{t}[..., 0] *= 2", "{t}[..., 1:] += 1", "{t}.tanh_()", "{t}[..., :2].mul_(3)",
    "{t}.copy_(b)", "{t}.masked_fill_(x[0] > 0.4, 0.0)",
)  # fmt: skip
UNRECORDED = (
    "({a}).clone().detach()", "({a}).clone().detach() * {c}", "({a} > 0).float() * {c}", "torch.rand(2, 3) * {c}",
    "({a}).argmax(-1, keepdim=True).float() * {c}", "nn.functional.dropout({a}, 0.5)",
)  # fmt: skip
WITHOUT_GRADIENTS = ("{t}.add_(0.1)", "{t}.mul_(0.9)", "{t}[..., 0] = 0.5", "w.sub_(0.01)", "seen = ({a}).abs().max()")
ROUTED = (
    "n{k} = ({a}).topk(2)[1]; t{k} = ({c}).gather(-1, n{k})",
    "v{k}, n{k} = ({a}).sort(descending=True); t{k} = (v{k} * (n{k} + 1)).clone()",
    "v{k}, n{k} = ({a}).max(-1); t{k} = ({c})[torch.arange(2), n{k}] * v{k}",
    "p{k} = torch.where(x > 0.5); t{k} = (({a}) * {c})[p{k}]",
    "p{k} = torch.nonzero(x[0] > 0.2).squeeze(1); t{k} = (({a}) + {c})[..., p{k}]",
    "n{k} = ids[mask] * 2 % 3; t{k} = m.weight[n{k}] * b",
    "t{k} = nn.functional.embedding(ids, m.weight) * b",
    "t{k} = torch.zeros(2, 3).scatter_add_(1, ids[None].expand(2, 2), w[:, :2] * 1.5) + {c}",
    "t{k} = nn.functional.cross_entropy(w * {c}, ids, reduction='none')[:, None] * w",
    "t{k} = (w * {c}).masked_fill(~(x > 0.3), -1.0).masked_select(x > 0.1)",
    "t{k} = torch.zeros(3, 3).index_add_(0, ids, ({a}) * w)[:2] + {c}",
    "t{k} = torch.zeros(2, 3).index_add(-1, ids, ({c})[:, :2], alpha=2) * w",
    "t{k} = nn.functional.group_norm(({a})[:, :, None] * w.sum() * torch.ones(2, 3, 4), 3)",
    "n{k} = ({a}).argmax(dim=-1); t{k} = ({c}).gather(1, n{k}[:, None]) * w",
    "n{k} = ({a}).detach().cumsum(-1).argsort(-1, descending=True); t{k} = (w * {c}).gather(-1, n{k})",
    "v{k}, n{k} = ({a}).kthvalue(2, dim=-2); t{k} = (w * {c})[n{k}, torch.arange(3)] * v{k}",
)
"""Of integers, masks and routing."""
CELLS = (
    "g{k} = w * {c}; g{k}.sigmoid_(); o{k} = g{k} * 2; o{k}.tanh_(); t{k} = g{k} * o{k}",
    "g{k} = torch.zeros(2, 3)\nwith torch.no_grad(): g{k} += x; g{k}.sigmoid_()\nt{k} = g{k} * w",
    "g{k} = (w * 2).clone(); g{k}[:, 0] = ids.float(); g{k}[mask] *= 3; t{k} = g{k} * {c}",
    "g{k} = torch.zeros(2, 3); g{k} += x; g{k}.mul_(w * {c}); t{k} = g{k}.relu_()",
    "g{k} = (x * 2).div_({c} * w + 3); h{k} = w * {c}; h{k}.mul_(g{k}); t{k} = h{k} * 2",
    "h{k} = torch.empty(2, 3); h{k}.copy_(w * {c}); h{k}.clamp_(-1, 1); t{k} = h{k}",
)
"""Of cells that work in place."""
ENDS = (
    ["loss.backward()"],
    ["loss.backward(retain_graph=True)", "loss.backward()"],
    [
        "gw, gb = torch.autograd.grad(loss, (w, b), create_graph=True)",
        "((gw ** 2).sum() + gb.sum() + b.sum()).backward()",
    ],
)


def routed(seed: int) -> str:
    """A script of one step with integers, masks, routing and cells that work in place."""
    draw = random.Random(seed)
    body = ["ids = torch.tensor([2, 0])", "mask = torch.tensor([True, False])"]
    for k in range(draw.randint(2, 5)):
        a, c = (draw.choice(("w", "x", "w * x", "m(x)", "w.detach() * 2")) for _ in range(2))
        body += draw.choice(ROUTED + CELLS).format(k=k, a=a, c=f"({c})").split("\n")
        parts = [f"t{n}.sum()" for n in range(k + 1)]
    body += [f"loss = {' + '.join(parts)} + b.sum()", "loss.backward()"]
    return START + "\n".join(body) + "\n"


def script(seed: int) -> str:
    """A script, of one step or of a loop; some end with an error of PyTorch's."""
    draw = random.Random(seed)
    names: list[str] = []
    body: list[str] = []
    for number in range(draw.randint(3, 9)):
        a, c = (draw.choice(names) if names and draw.random() < 0.7 else draw.choice(GIVEN) for _ in range(2))
        target, name, kind = draw.choice(names or ["x"]), f"t{number}", draw.random()
        if kind < 0.2 and names:
            body.append(draw.choice(CHANGES).format(t=target))
            continue
        if kind < 0.3:
            body += ["with torch.no_grad():", "    " + draw.choice(WITHOUT_GRADIENTS).format(t=target, a=a)]
            continue
        if kind < 0.45:
            body.append(f"g, = torch.autograd.grad(({a} * w).sum(), w, create_graph={draw.random() < 0.8})")
            body.append(f"{name} = g * {c}")
        else:
            table = COMPUTED if kind < 0.75 else VIEWS if kind < 0.9 else UNRECORDED
            body.append(f"{name} = " + draw.choice(table).format(a=a, c=c))
        names.append(name)
    parts = [f"({name}).sum()" for name in draw.sample(names, min(len(names), 3))]
    body += [f"loss = {' + '.join([*parts, '(w * b).sum()'])}", *draw.choice(ENDS)]
    turns = draw.choice((1, 1, 2, 3))
    if turns > 1:
        body = ["opt.zero_grad()", *body, "opt.step()"]
        loop = ["opt = torch.optim.SGD([w, b, *m.parameters()], lr=0.01)", f"for _ in range({turns}):"]
        body = [*loop, *("    " + line for line in body)]
    return START + "\n".join(body) + "\n"
