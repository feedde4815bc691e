import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_expressions import observe
from tests.torch.ops.record_mathematics import CASES, EXPECTED
from tests.torch.ops.test_expressions import assert_same

RECORDED = json.loads(EXPECTED.read_text())


@for_each("code", CASES)
def test_mathematics_gives_what_pytorch_gives(code):
    assert_same(observe(torch, code), RECORDED[code])
