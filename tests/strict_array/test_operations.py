"""The operation suites on a GPU: values, graphs and gradients are those that PyTorch gave, as on the CPU."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.nn import record_functional, record_layers
from tests.torch.nn.test_layers import test_layer_is_and_gives_what_it_does_in_pytorch as check_layer
from tests.torch.ops import record_expressions, record_mathematics, record_more_expressions
from tests.torch.ops.record_expressions import observe
from tests.torch.ops.test_expressions import assert_same
from tests.torch.optim.test_optimizers import cases, test_parameters_and_state_are_those_of_pytorch as check_optimizer

pytestmark = [
    pytest.mark.usefixtures("on_gpu"),
    pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated"),
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
]

SUITES: dict[str, Any] = {}
for suite in (record_expressions, record_more_expressions, record_mathematics):
    SUITES |= json.loads(suite.EXPECTED.read_text())
recorded = json.loads(record_functional.EXPECTED.read_text())
SUITES |= {code: recorded[code] for code in record_functional.CASES}

# Several values go to one position: on a GPU any of them may stay.
for undefined in ("x.scatter(1,j,x*2)", "x.put(j,x*3)"):
    del SUITES[undefined]

# On a GPU dropout is one node, and draws otherwise: see test_random.py.
OTHERWISE = [code for code in SUITES if "dropout_p=" in code or "F.dropout(" in code]
for otherwise in OTHERWISE:
    del SUITES[otherwise]

REFUSED = {"torch.histogram(x.detach(),3)"}
"""What PyTorch has not on a GPU either."""


@for_each("code", [code for code in SUITES if code not in REFUSED])
def test_expression_gives_on_a_gpu_what_pytorch_gives(code: str) -> None:
    assert_same(observe(torch, code), SUITES[code])


@pytest.mark.parametrize("code", REFUSED)
def test_what_a_gpu_does_not_have_is_refused(code: str) -> None:
    with pytest.raises(NotImplementedError):
        assert_same(observe(torch, code), SUITES[code])


@for_each(
    "row",
    [
        row
        for row in json.loads(record_layers.EXPECTED.read_text())
        if "ropout(0.5" not in row and "dropout=0.5" not in row
    ],
)
def test_layer_gives_on_a_gpu_what_pytorch_gives(row: str) -> None:
    check_layer(row)


@for_each("name, index", cases())
def test_optimizer_steps_on_a_gpu_as_in_pytorch(name: str, index: int) -> None:
    check_optimizer(name, index)
