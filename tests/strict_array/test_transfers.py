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


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "NAdam", "RMSprop", "Adagrad"])
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


class Tagger(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.lstm = torch.nn.Embedding(7, 6), torch.nn.LSTM(6, 5, batch_first=True)
        self.classify = torch.nn.Linear(5, 7)

    def forward(self, x: Any) -> Any:
        return self.classify(self.lstm(self.words(x))[0])


class Gpt(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = torch.nn.Embedding(7, 8), torch.nn.Embedding(5, 8)
        self.norm, self.attend = torch.nn.LayerNorm(8), torch.nn.Linear(8, 24)
        self.wide = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 8))
        self.classify = torch.nn.Linear(8, 7)

    def forward(self, x: Any) -> Any:
        x = self.words(x) + self.places(torch.arange(5, device=x.device))
        query, key, value = (
            part.unflatten(2, (2, 4)).transpose(1, 2) for part in self.attend(self.norm(x)).chunk(3, 2)
        )
        attended = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + attended.transpose(1, 2).flatten(2)
        return self.classify(x + self.wide(x))


class Transformer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(7, 8)
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2, torch.nn.LayerNorm(8), enable_nested_tensor=False)
        self.classify = torch.nn.Linear(8, 7)

    def forward(self, x: Any) -> Any:
        mask = torch.nn.Transformer.generate_square_subsequent_mask(5, device=x.device)
        return self.classify(self.layers(self.words(x), mask=mask, is_causal=True))


@pytest.mark.parametrize("network", [Tagger, Gpt, Transformer])
def test_a_step_of_a_language_model_copies_nothing(network: Any, transfers: dict[str, int]) -> None:
    model, x = network().cuda(), torch.randint(0, 7, (2, 5)).cuda()
    updates = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(2):
        transfers.clear()
        updates.zero_grad()
        torch.nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten()).backward()
        updates.step()
    assert dict(transfers) == {}


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.path = torch.nn.Sequential(
            torch.nn.Conv2d(3, 3, 3, 1, 1, bias=False), torch.nn.BatchNorm2d(3), torch.nn.ReLU(), torch.nn.Dropout(0.1)
        )
        self.classify = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 2))

    def forward(self, x: Any) -> Any:
        return self.classify(self.path(x) + x)


def test_a_residual_step_under_autocast_with_a_scaler_waits_for_the_scaler_alone(transfers: dict[str, int]) -> None:
    model, x, labels = Block().cuda(), torch.randn(4, 3, 6, 6).cuda(), torch.tensor([0, 1, 1, 0]).cuda()
    updates, scaler = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), torch.amp.GradScaler("cuda")
    for _ in range(2):
        transfers.clear()
        updates.zero_grad()
        with torch.autocast("cuda"):
            loss = torch.nn.functional.cross_entropy(model(x), labels)
        scaler.scale(loss).backward()
        scaler.step(updates)  # asks whether a gradient is infinite, as in PyTorch
        scaler.update()
    assert set(transfers) <= {"to the host", "for control"}
    assert sum(transfers.values()) <= 2
