"""The trace of a script is the same on a GPU as on the CPU, but for the device."""

from __future__ import annotations

import pytest

import autograph_cli
from autograph_cli import torch


def text_on(device: str) -> str:
    """The graph of a small network and of its gradients, as JSON."""
    with torch.device(device):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(8, 3)
        )
        x = torch.randn(2, 1, 6, 6)
        loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([0, 2]))
        grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
        total = torch.stack([g.pow(2).sum() for g in grads]).sum()
    return autograph_cli.capture([total], module=model).to_json()


@pytest.mark.usefixtures("gpu")
def test_a_graph_differs_by_the_device_alone() -> None:
    here, there = text_on("cpu"), text_on("cuda")
    assert "@cuda:0" in there
    assert there.replace("@cuda:0", "") == here
