"""`torch.onnx.export`: the file has the model's parameters, PyTorch's names, and computes what the model computes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch import nn

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


class Cached(nn.Module):
    """Writes into a buffer, makes constants, takes a keyword, returns two results and one that needs no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.register_buffer("cache", torch.ones(4, 3))

    def forward(self, x: Any, scale: Any = None) -> Any:
        self.cache[: len(x)] = self.inner(x).detach()
        mask = torch.arange(3) > 0
        found = self.inner(x) @ self.cache.t()[:, : len(x)] + torch.tensor([1.0, 2.0])
        return found * scale, (x * mask).argmax(1)


MODELS = {
    "layers": (lambda: nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)), [(2, 3)]),
    "convolutions": (
        lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()).eval(),
        [(2, 1, 8, 8)],
    ),
    "two inputs": (lambda: nn.RNNCell(3, 4), [(2, 3), (2, 4)]),
    "recurrent": (lambda: nn.LSTM(3, 4, batch_first=True), [(2, 5, 3)]),
    "attention": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(),
        [(2, 5, 8)],
    ),
    "no parameters": (lambda: nn.Softmax(1), [(2, 3)]),
}


def flat(result: Any) -> list[Any]:
    return [one for each in result for one in flat(each)] if isinstance(result, tuple) else [result]


def run(path: Any, *args: Any) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    fed = {one.name: x.numpy() for one, x in zip(session.get_inputs(), args, strict=True)}
    found: list[np.ndarray] = session.run(None, fed)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_the_file_computes_what_the_model_computes(name: str, tmp_path: Path) -> None:
    make, shapes = MODELS[name]
    torch.manual_seed(0)
    model, examples = make(), tuple(torch.randn(*shape) for shape in shapes)
    torch.onnx.export(model, examples, tmp_path / "model.onnx")
    others = [torch.randn(*shape) for shape in shapes]
    wanted = [one.detach().numpy() for one in flat(model(*others))]
    for mine, theirs in zip(run(tmp_path / "model.onnx", *others), wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_buffers_constants_and_keywords(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x, scale = Cached(), torch.randn(2, 3), torch.randn(2, 2)
    before = model.cache.clone()
    path = tmp_path / "model.onnx"
    torch.onnx.export(model, (x,), path, kwargs={"scale": scale}, output_names=["scaled", "place"])
    model.cache.copy_(before)
    found = run(path, x, scale)
    for mine, theirs in zip(found, model(x, scale), strict=True):
        np.testing.assert_allclose(mine, theirs.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert [one.name for one in onnx.load(path).graph.output] == ["scaled", "place"]


def test_inputs_and_parameters_have_names() -> None:
    program = torch.onnx.export(nn.Linear(3, 2), (torch.ones(1, 3),), input_names=["given"], output_names=["made"])
    graph = program.model_proto.graph
    assert [one.name for one in graph.input] == ["given"]
    assert [one.name for one in graph.output] == ["made"]
    assert {"weight", "bias"} <= {one.name for one in graph.initializer}
    written = io.BytesIO()
    program.save(written)
    assert onnx.load_from_string(written.getvalue()).graph.input[0].name == "given"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"opset_version": 13}, torch.onnx.OnnxExporterError, "opset_version 13 is not written: only 18 is"),
        ({"dynamic_axes": {"x": {0: "batch"}}}, torch.onnx.OnnxExporterError, "dynamic_axes is not supported"),
        ({"export_params": False}, torch.onnx.OnnxExporterError, "export_params is not supported"),
        (
            {"input_names": ["a", "b"]},
            torch.onnx.OnnxExporterError,
            "input_names has 2 names, and the model is given 1",
        ),
        ({"output_names": ["a", "b"]}, torch.onnx.OnnxExporterError, "output_names has 2 names"),
        ({"opset": 18}, TypeError, "unexpected keyword argument 'opset'"),
    ],
)
def test_what_asks_for_another_model_is_refused(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        torch.onnx.export(nn.Linear(3, 2), (torch.ones(1, 3),), **options)


def test_a_file_that_is_there_stays_when_an_operation_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    with pytest.raises(torch.onnx.OnnxExporterError, match="cannot be written as ONNX: digamma"):
        torch.onnx.export(lambda x: x.digamma(), (torch.ones(3, requires_grad=True),), path)
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"draws at random \(bernoulli\).*model.eval\(\)"):
        torch.onnx.export(nn.Dropout(), (torch.ones(3, requires_grad=True),), path)
    assert path.read_bytes() == b"before"
