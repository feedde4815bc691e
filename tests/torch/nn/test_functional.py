import json

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.arguments import delegates
from tests.cases import for_each
from tests.torch.nn.record_functional import CASES, EXPECTED, REFUSED, refusal
from tests.torch.ops.record_expressions import observe
from tests.torch.ops.test_expressions import assert_same

RECORDED = json.loads(EXPECTED.read_text())


@for_each("code", CASES)
def test_functional_gives_what_pytorch_gives(code):
    assert_same(observe(torch, code), RECORDED[code])


@for_each("code", REFUSED)
def test_functional_refuses_what_pytorch_refuses_in_its_words(code):
    assert refusal(torch, code) == RECORDED[code]


@pytest.mark.parametrize(
    "mode, antialias, row",
    [
        ("bilinear", False, [17, 250, 35]),
        ("bilinear", True, [40, 192, 87]),
        ("bicubic", False, [5, 250, 7]),
        ("bicubic", True, [33, 205, 85]),
    ],
)
def test_bytes_are_resized_in_whole_numbers(mode, antialias, row):
    x = torch.tensor([[[[10, 20, 130, 250, 240, 7, 90]] * 2]], dtype=torch.uint8)
    found = torch.nn.functional.interpolate(x, size=(2, 3), mode=mode, antialias=antialias)
    assert found.dtype is torch.uint8
    assert found[0, 0, 0].tolist() == row


@pytest.mark.parametrize(
    "dtype, mode, kernel",
    [
        (torch.int32, "nearest", "upsample_nearest2d_channels_last"),
        (torch.bool, "bilinear", "upsample_bilinear2d_channels_last"),
        (torch.int8, "bicubic", "compute_indices_weights_cubic"),
    ],
)
def test_other_integers_are_not_resized(dtype, mode, kernel):
    with pytest.raises(NotImplementedError, match=f'"{kernel}" not implemented for'):
        torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2).to(dtype), size=(3, 3), mode=mode)


def test_masks_of_two_dtypes_are_warned_of_as_in_pytorch():
    x, mask = torch.ones(1, 3, 4), torch.zeros(3, 3)
    attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    with pytest.warns(UserWarning, match="Support for mismatched key_padding_mask and attn_mask is deprecated"):
        attention(x, x, x, key_padding_mask=torch.zeros(1, 3, dtype=torch.bool), attn_mask=mask)


def test_a_pooling_called_by_name_is_looked_at_once(monkeypatch):
    x, named = torch.ones(1, 4, 4), {"stride": 1, "padding": 0, "ceil_mode": True, "return_indices": False}
    torch.nn.functional.max_pool2d(x, kernel_size=2, **named)
    monkeypatch.setattr(delegates.ByIndices, "_taken", lambda *given: pytest.fail("looked at again"))
    assert torch.nn.functional.max_pool2d(x, kernel_size=2, **named).shape == (1, 3, 3)
