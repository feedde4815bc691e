"""The device "cuda" on the stand-in, for all tests of this folder, which `pytest -m strict_array` runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograph_cli import torch
from autograph_cli.torch._arrays import cuda
from autograph_cli.torch._core.streams import generator
from tests.strict_array import arrays, module


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What stands in this folder has the marker `strict_array`."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("strict_array")


@pytest.fixture(scope="module")
def gpu() -> Iterator[None]:
    """A GPU, which is the stand-in for CuPy, or a real one with AUTOGRAPH_GPU=1."""
    if os.environ.get("AUTOGRAPH_GPU"):
        yield
        return
    cuda.closed()
    with module.served():
        yield
        cuda.closed()


@pytest.fixture
def on_gpu(gpu: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tensors that name no device are made on the GPU; random numbers are those of the CPU, as where was recorded."""
    monkeypatch.setattr(generator, "stream_of_gpu", lambda place: generator.default_stream)
    torch.set_default_device("cuda")
    yield
    torch.set_default_device(None)


@pytest.fixture
def transfers(gpu: None) -> Iterator[dict[str, int]]:
    """Counts the copies between the CPU and the GPU in a test; only the stand-in does."""
    if os.environ.get("AUTOGRAPH_GPU"):
        pytest.skip("CuPy does not count copies")
    arrays.transfers.clear()
    yield arrays.transfers
    arrays.transfers.clear()
