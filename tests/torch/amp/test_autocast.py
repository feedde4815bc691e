"""Autocast and scaled losses against what PyTorch gave (record_autocast.py writes it)."""

import json
import warnings

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.base.state import process_state
from tests.cases import for_each
from tests.torch.amp.record_autocast import EXPECTED, layers, observe, observe_layer, off, on
from tests.torch.amp.scenarios import SCENARIOS

RECORDED = json.loads(EXPECTED.read_text())
ROUGH = ("multi_head_attention_forward(x[:, None]",)
"""Where roundings to eight bits follow each other, and the last bit of one decides."""

REFUSED = {
    "NotImplementedError: \"lu_cpu\" not implemented for 'BFloat16'": "RuntimeError: linalg.det: Low precision dtypes not supported. Got BFloat16",
}
"""What the engine refuses in other words."""


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def near(ours, theirs, tolerance):
    size = max((abs(n) for n in theirs if not isinstance(n, str)), default=0) or 1e-6
    pairs = zip(ours, theirs, strict=True)
    return all(a == b if isinstance(a, str) or isinstance(b, str) else abs(a - b) <= tolerance * size for a, b in pairs)


@for_each("code", RECORDED["changed"])
def test_an_expression_has_the_dtypes_graphs_and_numbers_of_pytorch(code):
    wanted, found = RECORDED["changed"][code], observe(torch, code, on(torch))
    tolerance = 0.05 if any(part in code for part in ROUGH) else 0.02
    if "error" in wanted:
        assert found["error"] == REFUSED.get(wanted["error"], wanted["error"])
        return
    assert near(found.pop("numbers", []), wanted.pop("numbers", []), tolerance)
    ours, theirs = found.pop("gradients", {}), wanted.pop("gradients", {})
    for name, (dtype, values) in theirs.items():
        assert ours[name][0] == dtype and near(ours[name][1], values, 2 * tolerance), name
    if "no gradient" in wanted:
        assert "no gradient" in found
        del found["no gradient"], wanted["no gradient"]
    assert found == wanted


def test_all_other_expressions_are_as_they_are_without():
    assert [
        code for code in RECORDED["same"] if observe(torch, code, on(torch)) != observe(torch, code, off(torch))
    ] == []


def test_every_layer_has_the_dtypes_and_nodes_of_pytorch():
    assert [code for code, given in layers() if observe_layer(torch, code, given) != RECORDED["layers"][code]] == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_scripts_see_what_they_see_in_pytorch(name):
    assert json.loads(json.dumps(SCENARIOS[name](torch))) == RECORDED["scenarios"][name]


def test_nothing_is_slow_after_a_region():
    before = process_state.special
    with torch.autocast("cpu"), torch.autocast("cpu", enabled=False), torch.autocast("cpu"):
        assert process_state.special == before + 1
    assert process_state.special == before
