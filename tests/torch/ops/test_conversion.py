"""Tensors as numbers, lists, text and arrays; other dtypes and memory; copies; comparisons and dtype questions."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from autograph_cli import torch


def names_of(node, depth):
    found = []
    while node is not None and depth:
        found.append(type(node).__name__)
        node, depth = node.next_functions[0][0] if node.next_functions else None, depth - 1
    return found


def test_a_cast_is_recorded_and_so_is_its_derivative():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.double()
    assert names_of(y.grad_fn, 2) == ["ToCopyBackward0", "AccumulateGrad"]
    (grad,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    assert grad.dtype is torch.float32
    assert type(grad.grad_fn).__name__ == "ToCopyBackward0"


def test_a_cast_to_what_has_no_gradient_leaves_the_graph():
    x = torch.tensor([1.7, -1.7], requires_grad=True)
    assert x.to(torch.int32).tolist() == [1, -1]
    assert not x.int().requires_grad


def test_to_returns_the_tensor_itself_where_nothing_changes():
    x = torch.ones(2)
    assert x.to(torch.float32) is x
    assert x.to("cpu") is x
    assert x.to(torch.ones(1)) is x
    assert x.to(torch.float32, copy=True) is not x
    assert x.to("cpu", torch.float64).dtype is torch.float64
    assert x.type_as(torch.ones(1, dtype=torch.float16)).dtype is torch.float16


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float", "float32"),
        ("double", "float64"),
        ("half", "float16"),
        ("bfloat16", "bfloat16"),
        ("int", "int32"),
        ("long", "int64"),
        ("short", "int16"),
        ("char", "int8"),
        ("byte", "uint8"),
        ("bool", "bool"),
        ("cfloat", "complex64"),
    ],
)
def test_casting_methods(name, dtype):
    assert getattr(torch.tensor([0.0, 1.0]), name)().dtype is getattr(torch, dtype)


def test_a_device_that_is_not_there_is_an_error():
    for run in (lambda: torch.ones(1).cuda(), lambda: torch.ones(1).to("cuda"), lambda: torch.ones(1, device="cuda")):
        with pytest.raises((RuntimeError, AssertionError), match="Torch not compiled with CUDA enabled"):
            run()


def test_contiguous_copies_only_what_is_not():
    x = torch.ones(2, 3, requires_grad=True)
    assert x.contiguous() is x
    y = x.t().contiguous()
    assert (y.stride(), type(y.grad_fn).__name__) == ((2, 1), "CloneBackward0")
    assert torch.ones(1, 2, 3, 4).contiguous(memory_format=torch.channels_last).stride() == (24, 1, 8, 2)


def test_what_a_tensor_says_of_its_memory():
    x = torch.arange(24.0).reshape(2, 3, 4)
    part = x.permute(2, 0, 1)[1:]
    assert (part.stride(), part.storage_offset(), part.is_contiguous()) == ((1, 12, 4), 1, False)
    assert part.untyped_storage().nbytes() == 96
    assert part.data_ptr() == x.data_ptr() + 4
    assert torch.zeros(2, 0, 3).stride() == (3, 3, 1)
    assert (x.dim(), x.numel(), x.size(-1), x.element_size()) == (3, 24, 4, 4)
    with pytest.raises(IndexError, match=r"expected to be in range of \[-3, 2\], but got 5"):
        x.size(5)


def test_numbers():
    assert torch.tensor([1.5]).item() == 1.5
    assert (int(torch.tensor(1.5)), float(torch.tensor(2)), complex(torch.tensor(1.0))) == (1, 2.0, 1 + 0j)
    assert [10, 20, 30][torch.tensor(2)] == 30
    assert torch.tensor([1.0], dtype=torch.bfloat16).tolist() == [1.0]
    assert bool(torch.tensor([0.0])) is False


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: torch.ones(2).item(), RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"),
        (lambda: bool(torch.ones(2)), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
        (lambda: bool(torch.tensor([])), RuntimeError, "Boolean value of Tensor with no values is ambiguous"),
        (lambda: float(torch.ones(2)), ValueError, "only one element tensors can be converted to Python scalars"),
        (
            lambda: [1][torch.tensor(0.0)],
            TypeError,
            "only integer tensors of a single element can be converted to an index",
        ),
        (lambda: len(torch.tensor(1.0)), TypeError, "len() of a 0-d tensor"),
        (lambda: list(torch.tensor(1.0)), TypeError, "iteration over a 0-d tensor"),
        (lambda: f"{torch.ones(1):.2f}", TypeError, "unsupported format string passed to Tensor.__format__"),
        (
            lambda: torch.ones(1, requires_grad=True).numpy(),
            RuntimeError,
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
        ),
        (lambda: torch.ones(1).bfloat16().numpy(), TypeError, "Got unsupported ScalarType BFloat16"),
        (lambda: torch.ones(1) < "a", TypeError, "'<' not supported between instances of 'Tensor' and 'str'"),
        (
            lambda: torch.ones(1, dtype=torch.complex64) < 1,
            NotImplementedError,
            "\"lt_cpu\" not implemented for 'ComplexFloat'",
        ),
        (lambda: torch.ones(1) & 1, NotImplementedError, "\"bitwise_and_cpu\" not implemented for 'Float'"),
        (
            lambda: torch.logical_and(torch.ones(1), 1),
            TypeError,
            "logical_and(): argument 'other' (position 2) must be Tensor, not int",
        ),
        (lambda: torch.isclose(torch.ones(1), torch.ones(1).double()), RuntimeError, "Float did not match Double"),
        (
            lambda: torch.finfo(torch.int32),
            TypeError,
            "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'",
        ),
    ],
)
def test_errors_in_pytorchs_words(run, error, message):
    with pytest.raises(error) as caught:
        run()
    assert str(caught.value) == message


def test_a_number_out_of_a_leaf_is_warned_of_once():
    x = torch.tensor(2.5, requires_grad=True)
    try:
        float(x)
    except UserWarning as warning:
        assert "Converting a tensor with requires_grad=True to a scalar" in str(warning)
    assert float(x) == 2.5


def test_iteration_stays_in_the_graph():
    x = torch.ones(3, requires_grad=True)
    first, *_ = x
    assert type(first.grad_fn).__name__ == "UnbindBackward0"
    assert 1 in torch.ones(2)


def test_numpy_shares_memory_also_of_a_0_d_tensor():
    x = torch.tensor(1.0)
    x.numpy()[...] = 3
    assert x.item() == 3.0
    assert np.asarray(torch.ones(2, 2)).dtype == np.float32
    assert (torch.ones(2) * np.float64(2)).dtype is torch.float32
    assert (np.float64(2) * torch.ones(2)).tolist() == [2.0, 2.0]


def test_deepcopy_keeps_leaves_gradients_and_attributes():
    x = torch.ones(2, requires_grad=True)
    x.grad, x.tag = torch.zeros(2), "mine"
    first, second = copy.deepcopy([x, x])
    assert first is second
    assert (first.grad.tolist(), first.tag, first.requires_grad) == ([0.0, 0.0], "mine", True)
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


def test_pickles_come_back():
    things = [torch.ones(2, requires_grad=True), torch.Size([2]), torch.device("cpu"), torch.float32]
    tensor, *rest = pickle.loads(pickle.dumps(things))
    assert (tensor.tolist(), tensor.requires_grad) == ([1.0, 1.0], True)
    assert rest == things[1:]


def test_public_classes_carry_pytorchs_names():
    assert [repr(c) for c in (torch.Tensor, torch.Size, torch.FloatTensor)] == [
        "<class 'torch.Tensor'>",
        "<class 'torch.Size'>",
        "<class 'torch.FloatTensor'>",
    ]


KINDS = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def promoted(a, b):
    kind = torch.promote_types(getattr(torch, a), getattr(torch, b))
    return str(kind).removeprefix("torch.")


def test_promotion_is_symmetric_and_bool_is_its_neutral_element():
    for a, b in itertools.product(KINDS, KINDS):
        assert promoted(a, b) == promoted(b, a)
        assert promoted(a, "bool") == a


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("uint8", "int8", "int16"),
        ("uint8", "int32", "int32"),
        ("int64", "float16", "float16"),
        ("float16", "bfloat16", "float32"),
        ("float64", "complex64", "complex128"),
        ("int64", "complex64", "complex64"),
    ],
)
def test_promotion(a, b, expected):
    assert promoted(a, b) == expected


def test_numbers_and_0_d_tensors_are_weak():
    ones = torch.ones(2, dtype=torch.int32)
    assert torch.result_type(ones, 1.5) is torch.float32
    assert torch.result_type(ones, 3) is torch.int32
    assert (
        torch.result_type(torch.ones(1, dtype=torch.float16), torch.tensor(1.0, dtype=torch.float64)) is torch.float16
    )
    assert torch.result_type(1, 2.5) is torch.float32


def test_comparisons():
    x = torch.tensor([1, 2, 3])
    assert (x > 1.5).tolist() == [False, True, True]
    assert (x >= 2).tolist() == [False, True, True]
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True
    assert (torch.ones(1, dtype=torch.uint8) == 300).tolist() == [False]
    assert (~(x == 2)).tolist() == [True, False, True]
    assert (5 & x).tolist() == [1, 0, 1]
    assert (1 << x).tolist() == [2, 4, 8]
    assert torch.equal(torch.ones(2), torch.ones(2, dtype=torch.int32))
    assert torch.allclose(torch.ones(2), torch.ones(2) + 1e-6)
    assert not torch.allclose(torch.tensor(float("nan")), torch.tensor(float("nan")))


def test_a_comparison_in_place_cuts_the_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 1).gt_(1.5)
    assert (y.tolist(), type(y.grad_fn).__name__) == ([0.0, 1.0], "GtBackward0")
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_limits():
    assert repr(torch.finfo(torch.float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )
    assert repr(torch.iinfo(torch.int32)) == "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"
    assert torch.finfo(torch.bfloat16).eps == 0.0078125
