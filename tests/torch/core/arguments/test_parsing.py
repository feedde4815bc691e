"""Arguments are read as PyTorch reads them; how wrong calls are refused stands in ops/test_refusals.py."""

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._core.arguments import arg_check, parsing
from autograph_cli.torch._core.arguments.arg_check import Check, guarded

X = torch.ones(2, 3)
TAKEN = [
    ("torch", "add", (X, 2.0), {"alpha": 3}),
    ("torch", "add", (X, 2, X), {}),  # add(input, alpha, other), which PyTorch takes and no longer tells of
    ("torch", "sum", (X,), {"axis": 1, "keepdims": True}),
    ("torch", "sum", (X, (0, 1)), {"dtype": float}),
    ("torch", "zeros", (2, 3), {}),
    ("torch", "zeros", ([2, torch.tensor(3)],), {"device": "cpu"}),
    ("torch", "topk", (X, torch.tensor([1])), {}),
    ("torch", "clamp", (X, torch.tensor(1.0)), {"max": torch.tensor(2.0)}),
    ("torch", "where", (X > 0, X, 0), {}),
    ("torch", "cat", ([X, X],), {"dim": np.int64(0)}),
    ("torch", "conv2d", (X, X, None, 1, "same"), {}),
    ("Tensor", "view", (3, 2), {}),
    ("Tensor", "view", (torch.int32,), {}),
    ("Tensor", "permute", (1, 0), {}),
    ("Tensor", "to", ("cpu", torch.float64), {"copy": True}),
    ("nn", "gelu", (X,), {"approximate": "tanh"}),
    ("linalg", "norm", (X, 2, (0, 1)), {}),
    ("special", "zeta", (X, 2.0), {}),
]


@pytest.mark.parametrize("space, name, args, kwargs", TAKEN, ids=[f"{row[0]}.{row[1]}" for row in TAKEN])
def test_a_call_that_pytorch_takes_is_taken(space, name, args, kwargs):
    parsing.parser(space, name).check(args, kwargs)


def test_every_signature_is_read_and_of_known_types():
    for space, names in parsing._listed().items():
        for full in names if space != "python" else ():
            read = parsing.parser(space, full.removeprefix(f"{space}_"))
            kinds = {p.kind for s in read.signatures for p in s.parameters}
            assert kinds <= parsing.SHOWN.keys() & parsing._TAKES.keys(), full


def test_what_was_taken_is_known_by_its_types_unless_the_value_decides():
    check = Check("torch", "flip", torch.flip)
    check((X, (0,)), {})
    assert check.known.keys() == {(torch.Tensor, (tuple, int))}
    with pytest.raises(TypeError, match=r"flip\(\): argument 'dims' \(position 2\) must be tuple of ints, not float"):
        check((X, 1.5), {})


@pytest.mark.parametrize("by_name", [False, True])
def test_an_integer_of_more_than_64_bits_is_refused_also_where_its_type_is_known(by_name):
    def call(dim):
        return torch.cumsum(X, dim=dim) if by_name else torch.cumsum(X, dim)

    call(0)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        call(10**20)


def test_an_error_of_the_engine_itself_names_the_function():
    def half(input):
        return input._nothing

    with pytest.raises(TypeError, match=r"half\(\): cannot be computed for \(Tensor\[2, 3\]\)") as caught:
        exec("run(x)", {"run": guarded(Check("", "half", _inside(half))), "x": X})
    assert isinstance(caught.value.__cause__, AttributeError)


def _inside(run):
    """The function as if it stood in the engine."""
    code = run.__code__.replace(co_filename=parsing.__file__)
    return type(run)(code, run.__globals__, run.__name__)


def test_an_error_of_the_callers_own_code_is_left_alone():
    with pytest.raises(KeyError, match="mine"):
        torch.nn.functional.triplet_margin_with_distance_loss(X, X, X, distance_function=lambda a, b: {}["mine"])


@pytest.mark.parametrize(
    "call",
    [
        lambda n: torch.broadcast_shapes((n, 1), (1, 3)),
        lambda n: torch.ones(6).unflatten(0, (n, 3)),
        lambda n: torch.ones(6).view(n, 3),
        lambda n: torch.ones(6).expand(n, 6),
        lambda n: torch.nn.functional.max_pool2d(torch.ones(1, 1, 4, 4), (n, n)),
        lambda n: torch.nn.functional.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2), stride=(n, n)),
    ],
    ids=["broadcast_shapes", "unflatten", "view", "expand", "max_pool2d", "conv2d"],
)
def test_a_float_is_refused_also_after_the_whole_number_that_it_equals(call):
    call(2)
    with pytest.raises((TypeError, AttributeError)):
        call(2.0)


@pytest.mark.parametrize(
    "args, kwargs, known",
    [
        ((X, 2), {}, True),
        ((X, 1 << 63), {}, False),
        ((X, -(1 << 63)), {}, True),
        ((X, True), {}, False),
        ((X, (2, 3)), {}, True),
        ((X, [2, 3]), {}, True),
        ((X, (2.0, 3)), {}, False),
        ((X, ()), {}, True),
        ((X,), {"n": 3}, True),
        ((X,), {"n": -(1 << 63) - 1}, False),
        ((X,), {"m": 3}, False),
        ((X,), {"n": (1,), "m": None}, True),
        ((), {}, False),
    ],
)
def test_types_that_were_taken_are_known_again(args, kwargs, known):
    seen = {}
    calls = (
        ((X, 1), {}), ((X, (1,)), {}), ((X, [1]), {}), ((X, ()), {}), ((X,), {"n": 1}),
        ((X,), {"n": (1,), "m": None}),
    )  # fmt: skip
    for given in calls:
        key = arg_check._key(*given)
        seen[key] = tuple(i for i, kind in enumerate(key) if kind is int)
    assert arg_check._taken(seen, args, kwargs) is known
    assert arg_check.taken(seen, args, kwargs) is known
