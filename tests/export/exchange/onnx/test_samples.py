"""Each sample is written as ONNX, and onnxruntime computes of it what the sample computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autograph_cli.export import ExportError, render
from autograph_cli.export.exchange.onnx.graph import to_onnx
from autograph_cli.graph import Edge
from autograph_cli.record.run.runner import Target, record
from tests.export.recorded_arrays import computed_with, kept_arrays

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

SAMPLES = Path(__file__).parents[4] / "samples"
FUNCTIONS = {"custom_function": "Cube", "neural_ode": "Solve"}
"""Samples whose own Functions have no operators in ONNX."""
WITHOUT_NUMBERS = ["llama_70b"]
"""Samples on the device meta."""
KNOWN = {"fourth_derivative": 24.0}
"""Samples that differentiate no result of theirs that has a name, and what they print."""
EQUAL = sorted({path.stem for path in SAMPLES.glob("*.py")} - {*FUNCTIONS, *WITHOUT_NUMBERS})


@pytest.fixture(autouse=True)
def _beside_samples(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(SAMPLES)


@pytest.mark.parametrize("sample", EQUAL)
def test_a_sample_computes_the_same(sample: str) -> None:
    with kept_arrays() as arrays:
        _, trace = record(Target.of(f"{sample}.py"), "first")
    taken, before = computed_with(trace.steps[0].graph)
    values = {edge: arrays.given[old] for edge, old in before.items() if old in arrays.given}
    model = onnx.load_from_string(to_onnx(taken, sample, values))
    fed = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    session = onnxruntime.InferenceSession(to_onnx(taken, sample), providers=["CPUExecutionProvider"])
    roots = [Edge(int(taken[root.node].module), root.nr) for root in taken.roots]
    found = session.run(None, {one.name: fed[one.name] for one in session.get_inputs()})
    compared = sample in KNOWN and found[-1] == KNOWN[sample]
    for edge, mine in zip(roots, found, strict=True):
        if edge in arrays.roots:
            np.testing.assert_allclose(mine, arrays.roots[edge], rtol=2e-4, atol=1e-5)
            compared = True
    assert compared


@pytest.mark.parametrize("sample", WITHOUT_NUMBERS)
def test_a_sample_without_numbers_passes_the_checker(sample: str) -> None:
    _, trace = record(Target.of(f"{sample}.py"), "first")
    onnx.checker.check_model(onnx.load_from_string(render(trace.steps[0].graph, "forward", "onnx")), full_check=True)


@pytest.mark.parametrize("sample", FUNCTIONS)
def test_a_function_of_the_script_is_refused_by_name(sample: str) -> None:
    _, trace = record(Target.of(f"{sample}.py"), "first")
    with pytest.raises(ExportError, match=f"cannot be written as ONNX: {FUNCTIONS[sample]}"):
        render(trace.steps[0].graph, "forward", "onnx")
