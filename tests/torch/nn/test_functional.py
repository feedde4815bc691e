import json

import pytest

from autograph_cli import torch
from tests.torch.nn.record_functional import CASES, EXPECTED, REFUSED, refusal
from tests.torch.ops.record_expressions import observe
from tests.torch.ops.test_expressions import assert_same

RECORDED = json.loads(EXPECTED.read_text())


@pytest.mark.parametrize("code", CASES)
def test_functional_gives_what_pytorch_gives(code):
    assert_same(observe(torch, code), RECORDED[code])


@pytest.mark.parametrize("code", REFUSED)
def test_functional_refuses_what_pytorch_refuses_in_its_words(code):
    assert refusal(torch, code) == RECORDED[code]
