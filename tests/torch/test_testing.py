"""`torch.testing.assert_close`: the sentences were recorded from PyTorch."""

import math

import pytest

from autograph_cli import torch

x = torch.tensor([1.0, 2.0, 3.0])
CLOSE = "Tensor-likes are not close!\n\nMismatched elements: "
BY_ONE = CLOSE + (
    "3 / 3 (100.0%)\nGreatest absolute difference: 1.0 at index (0,) (up to 1e-05 allowed)\n"
    "Greatest relative difference: 0.5 at index (0,) (up to 1.3e-06 allowed)"
)
DIFFERENT = [
    ((x, x + 1), {}, BY_ONE),
    (
        (x, x + 1),
        {"rtol": 0, "atol": 0},
        "Tensor-likes are not equal!\n\nMismatched elements: 3 / 3 (100.0%)\nGreatest absolute difference: 1.0 at index (0,)\nGreatest relative difference: 0.5 at index (0,)",
    ),
    (
        (x, x + 1e-3),
        {},
        CLOSE
        + "3 / 3 (100.0%)\nGreatest absolute difference: 0.001000046730041504 at index (0,) (up to 1e-05 allowed)\nGreatest relative difference: 0.0009990476537495852 at index (0,) (up to 1.3e-06 allowed)",
    ),
    (
        (torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 2.0], [3.0, 5.0]])),
        {},
        CLOSE
        + "1 / 4 (25.0%)\nGreatest absolute difference: 1.0 at index (1, 1) (up to 1e-05 allowed)\nGreatest relative difference: 0.20000000298023224 at index (1, 1) (up to 1.3e-06 allowed)",
    ),
    (
        (torch.tensor([1, 2]), torch.tensor([1, 3])),
        {},
        "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\nGreatest absolute difference: 1 at index (1,)\nGreatest relative difference: 0.3333333432674408 at index (1,)",
    ),
    (
        (torch.tensor(1.0), torch.tensor(2.0)),
        {},
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)\nRelative difference: 0.5 (up to 1.3e-06 allowed)",
    ),
    ((1, 2), {}, "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"),
    (
        (math.nan, math.nan),
        {},
        "Scalars are not close!\n\nExpected nan but got nan.\nAbsolute difference: nan (up to 1e-07 allowed)\nRelative difference: nan (up to 1e-07 allowed)",
    ),
    ((True, False), {}, "Booleans mismatch: True is not False"),
    ((1, 1.0), {}, "The (d)types do not match: <class 'int'> != <class 'float'>."),
    ((x, torch.ones(2)), {}, "The values for attribute 'shape' do not match: torch.Size([3]) != torch.Size([2])."),
    ((x, x.double()), {}, "The values for attribute 'dtype' do not match: torch.float32 != torch.float64."),
    (
        (torch.ones(2, 3).t(), torch.ones(3, 2)),
        {"check_stride": True},
        "The values for attribute 'stride()' do not match: (1, 3) != (2, 1).",
    ),
    (([x, x], [x, x + 1]), {}, BY_ONE + "\n\nThe failure occurred for item [1]"),
    (({"a": [x]}, {"a": [x + 1]}), {}, BY_ONE + "\n\nThe failure occurred for item ['a'][0]"),
    (
        ({"a": x}, {"a": x, "b": x}),
        {},
        "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['b']\nAdditional keys in the actual mapping: []",
    ),
    (([x], [x, x]), {}, "The length of the sequences mismatch: 1 != 2"),
    ((x, x + 1), {"msg": "mine"}, "mine"),
    ((x, x + 1), {"msg": lambda text: text[:11]}, "Tensor-like"),
]


@pytest.mark.parametrize("pair, options, text", DIFFERENT, ids=range(len(DIFFERENT)))
def test_a_difference_is_told_in_the_words_of_pytorch(pair, options, text):
    with pytest.raises(AssertionError) as caught:
        torch.testing.assert_close(*pair, **options)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "pair, options",
    [
        ((x, x + 1e-7), {}),
        ((x, x + 1), {"rtol": 1, "atol": 0}),
        ((torch.tensor([math.nan]), torch.tensor([math.nan])), {"equal_nan": True}),
        ((x, x.double()), {"check_dtype": False}),
        ((torch.tensor([math.inf]), torch.tensor([math.inf])), {}),
        (([1, (x, None)], [1, (x, None)]), {}),
    ],
)
def test_what_is_close_passes(pair, options):
    torch.testing.assert_close(*pair, **options)


def test_what_cannot_be_compared_is_named():
    with pytest.raises(
        TypeError, match="No comparison pair was able to handle inputs of type <class 'str'> and <class 'str'>"
    ):
        torch.testing.assert_close("a", "b")
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol"):
        torch.testing.assert_close(x, x, rtol=1.0)


def test_make_tensor_stays_in_its_range():
    made = torch.testing.make_tensor((50, 2), dtype=torch.float32, low=1, high=2, requires_grad=True)
    assert made.shape == (50, 2)
    assert made.requires_grad
    assert ((made >= 1) & (made <= 2)).all()
