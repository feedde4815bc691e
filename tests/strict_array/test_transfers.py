"""Nothing goes between the CPU and a GPU, and nothing is waited for, but what the script asks for."""

from __future__ import annotations

from typing import Any

import pytest

from autograph_cli import torch


class LeNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(1, 6, 5, padding=2),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(6, 16, 5),
            torch.nn.Tanh(),
            torch.nn.AvgPool2d(2),
            torch.nn.Flatten(),
        )
        self.classify = torch.nn.Sequential(torch.nn.Linear(400, 32), torch.nn.Sigmoid(), torch.nn.Linear(32, 10))

    def forward(self, x: Any) -> Any:
        return self.classify(self.features(x))


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
def test_a_training_step_copies_nothing(optimizer: str, transfers: dict[str, int]) -> None:
    torch.manual_seed(0)
    model, images, labels = LeNet().cuda(), torch.randn(4, 1, 28, 28).cuda(), torch.tensor([1, 2, 3, 9]).cuda()
    updates = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)

    def step() -> Any:
        updates.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        updates.step()
        return loss

    step()  # tables of pooling are copied once
    transfers.clear()
    loss = step()
    assert dict(transfers) == {}
    assert loss.item() > 0
    assert transfers["to the host"] == 1
