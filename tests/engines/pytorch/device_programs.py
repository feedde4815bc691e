"""Records programs on the CPU and on a device whose passes run in another thread, and prints what differs, as JSON."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograph_cli.engines import connect
from autograph_cli.graph import Snapshot
from autograph_cli.graph.diff import DEFAULT_PARTS
from autograph_cli.record.recorder import Recorder
from autograph_cli.testing.scripts import trace_sections
from autograph_cli.testing.settings import Settings
from tests.engines.pytorch import device_thread


class Cube(torch.autograd.Function):
    """Its backward makes nodes of its own when a derivative graph is asked for."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


class Inner(torch.autograd.Function):
    """Its backward runs a pass of its own."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            return torch.autograd.grad(x.sin().sum(), x)[0] * grad


def model(device: str) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(device)


def data(device: str) -> torch.Tensor:
    """Numbers that were on the device before anything was recorded."""
    numbers = NUMBERS[device]
    return numbers.detach()


def training(device: str) -> None:
    net, x = model(device), data(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(6):
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        optimizer.step()


def penalty(device: str) -> None:
    net, x = model(device), data(device).requires_grad_()
    for _ in range(3):
        slope = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
        loss = net(x).mean() + slope.pow(2).sum()
        loss.backward()


def third_order(device: str) -> None:
    x = data(device).requires_grad_()
    y = (x**4).sum()
    for _ in range(3):
        y = torch.autograd.grad(y, x, create_graph=True)[0].sum()
    y.backward()


def functions(device: str) -> None:
    x = data(device).requires_grad_()
    slope = torch.autograd.grad((Cube.apply(x) + Inner.apply(x)).sum(), x, create_graph=True)[0]
    slope.sum().backward()


def recomputed(device: str) -> None:
    net, x = model(device), data(device).requires_grad_()
    for reentrant in (False, True) * 2:
        loss = checkpoint(net, x, use_reentrant=reentrant).sum()
        loss.backward()


def halve(weight: torch.Tensor) -> None:
    weight.grad.mul_(0.5)  # type: ignore[union-attr]


def hooks(device: str) -> None:
    net, x = model(device), data(device)
    h = net[0](x)
    h.register_hook(lambda grad: grad * 2)
    net[2].weight.register_post_accumulate_grad_hook(halve)
    loss = net[2](net[1](h)).sum()
    loss.backward()


def both_devices(device: str) -> None:
    torch.manual_seed(0)
    table, net = nn.Embedding(5, 4), model(device)
    loss = net(table(torch.tensor([0, 3, 3])).to(device, copy=True)).logsumexp(0).sum()
    loss.backward()


def retained(device: str) -> None:
    x = data(device).requires_grad_()
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward(create_graph=True)
    x.grad.sum().backward()  # type: ignore[union-attr]


def two_threads(device: str) -> None:
    def work() -> None:
        penalty(device)

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


PROGRAMS = (training, penalty, third_order, functions, recomputed, hooks, both_devices, retained, two_threads)


SETTINGS = Settings(include=(*DEFAULT_PARTS, "values"))


def record(program: Callable[[str], None], device: str) -> str:
    """Return the graphs of all steps as text, with what ended the recording, if anything did."""
    recorder = Recorder("all", record={"values"}, engine=connect("torch"))
    recorder.start()
    program(device)
    trace = recorder.finish({})
    told = Snapshot(program.__name__, trace_sections(trace, SETTINGS), SETTINGS.include, trace.total_steps)
    return f"{recorder.broken or None}\n{told.to_text()}".replace(f"@{device_thread.NAME}:0", "").replace(
        device, "device"
    )


if __name__ == "__main__":
    device_thread.register()
    NUMBERS = {device: torch.linspace(-1, 1, 12).reshape(3, 4).to(device) for device in ("cpu", device_thread.NAME)}
    print(json.dumps({each.__name__: [record(each, "cpu"), record(each, device_thread.NAME)] for each in PROGRAMS}))
