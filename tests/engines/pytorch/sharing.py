"""Loops whose steps are equal, or nearly: prints those in which a shared graph is not what would be made anew, and how
many graphs were made for how many steps.

    python sharing.py
"""

import itertools
import json
import warnings

import torch
from telling import CASES
from torch import nn
from torch.nn import functional as F

from autograph_cli.engines import connect
from autograph_cli.record.graphs import alike
from autograph_cli.record.recorder import Recorder

TURNS = 6


def operation(case):
    x, w = torch.randn(2, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    for _ in range(TURNS):
        case(x, w).sum().backward()


def trained(change=lambda turn, net, x: x, inner=nn.ReLU):
    net, x = nn.Sequential(nn.Linear(4, 8), inner(), nn.Linear(8, 2)), torch.randn(6, 4)
    optimizer = torch.optim.Adam(net.parameters(), foreach=True)
    for turn in range(TURNS):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(change(turn, net, x)), torch.zeros(6, dtype=torch.long))
        loss.backward()
        optimizer.step()


def frozen(turn, net, x):
    net[0].requires_grad_(turn % 2 == 0)
    return x


def swapped(turn, net, x):
    if turn == 3:
        net[1] = nn.Tanh()
    return x


def wider(turn, net, x):
    if turn == 3:
        net[2].weight = nn.Parameter(torch.randn(2, 8))
    return x


def named():
    w = torch.ones(3, requires_grad=True)
    for turn in range(TURNS):
        if turn % 2:
            odd = w * 2
            total = odd.sum()
        else:
            even = w * 2
            total = even.sum()
        total.backward()


def retained():
    w = torch.ones(3, requires_grad=True)
    h = w.exp()
    for _ in range(TURNS):
        (h * w).sum().backward(retain_graph=True)
    for turn in range(TURNS):
        loss = (w * w).sum()
        loss.backward(retain_graph=turn % 2 == 0)
        if turn % 2 == 0:
            loss.backward()


def carried():
    w, state = torch.ones(3, requires_grad=True), torch.zeros(3)
    for _ in range(TURNS):
        state = (state.detach() * w).tanh()
        state.sum().backward()


def two_models():
    one, other, x = nn.Linear(3, 3), nn.Linear(3, 3), torch.randn(2, 3)
    for turn in range(TURNS):
        net = one if turn % 2 else other
        net(x).square().mean().backward()


def penalized():
    w, x = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    for _ in range(TURNS):
        (slope,) = torch.autograd.grad((w * x).sin().sum(), x, create_graph=True)
        (slope.square().sum() + w.sum()).backward()


def in_place():
    w = torch.ones(3, requires_grad=True)
    for turn in range(TURNS):
        y = w * 2
        kept = y.exp()
        if turn % 2:
            y += 1
        (y * y + kept).sum().backward()


def sharing_memory():
    w = torch.ones(4, 4, requires_grad=True)
    for turn in range(TURNS):
        y = w * 2
        z = y.t() if turn % 2 else y.t().clone()
        ((y @ y) + (z @ z)).sum().backward()


def hooked():
    w = torch.ones(3, requires_grad=True)
    for turn in range(TURNS):
        y = w * 2
        if turn % 2:
            y.register_hook(lambda grad: grad * w.detach().exp())
        y.sum().backward()


def by_inputs():
    w, v = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    for turn in range(TURNS):
        loss = (w * v).sum()
        loss.backward(inputs=[w] if turn % 2 else [v])
        torch.autograd.grad((w * v).sum(), w if turn % 2 else v)


LOOPS = {
    "plain": trained,
    "a buffer that changes": lambda: trained(inner=lambda: nn.BatchNorm1d(8)),
    "random": lambda: trained(inner=nn.Dropout),
    "changed in place by a layer": lambda: trained(inner=lambda: nn.ReLU(inplace=True)),
    "a new batch": lambda: trained(lambda turn, net, x: torch.randn(6, 4)),
    "a drawn batch": lambda: trained(lambda turn, net, x: x.clone() if turn % 2 else torch.rand(6, 4)),
    "frozen in turns": lambda: trained(frozen),
    "a layer swapped": lambda: trained(swapped),
    "a parameter replaced": lambda: trained(wider),
    "evaluated in between": lambda: trained(lambda turn, net, x: (net.train(turn % 2 == 0), x)[1], nn.Dropout),
    "names": named,
    "retained": retained,
    "carried": carried,
    "two models": two_models,
    "penalized": penalized,
    "changed in place": in_place,
    "memory": sharing_memory,
    "hooks": hooked,
    "inputs": by_inputs,
} | {name: lambda case=case: operation(case) for name, case in CASES.items()}


def main():
    warnings.simplefilter("ignore")
    shared, made, wrong = alike.Graphs.of, [], []

    def both(self, span, make):
        graph = shared(self, span, lambda: (made.append(1), make())[1])
        told = graph, span.older
        wrong.append(told != (make(), span.older))
        return graph

    alike.Graphs.of = both
    found = {}
    for (name, loop), record in itertools.product(LOOPS.items(), ((), ("data",))):
        torch.manual_seed(0)
        recorder = Recorder("all", engine=connect("torch"), record=record)
        recorder.start()
        loop()
        recorder.finish({})
        assert not recorder.broken, recorder.broken
        found[" ".join((name, *record))] = [len(made), len(wrong), sum(wrong), made.clear(), wrong.clear()][:3]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
