"""Tensors from data and from sizes: values, dtypes, memory, and PyTorch's errors for what cannot be read."""

import numpy as np
import pytest

from autograph_cli import torch


@pytest.fixture(autouse=True)
def default_dtype():
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (True, "bool", ()),
        (3, "int64", ()),
        (3.5, "float32", ()),
        (1j, "complex64", ()),
        ([True, 2], "int64", (2,)),
        ([1, 2.5, True], "float32", (3,)),
        ([1, 2j], "complex64", (2,)),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        (range(3), "int64", (3,)),
        (np.float64(3), "float64", ()),
        ([np.float32(3), 1], "float32", (2,)),
        ([np.int32(3)], "int32", (1,)),
        (np.bool_(True), "bool", ()),
        (np.zeros((2, 3), np.float16), "float16", (2, 3)),
    ],
)
def test_dtype_and_shape_are_inferred(data, dtype, shape):
    made = torch.tensor(data)
    assert (made.dtype, tuple(made.shape)) == (getattr(torch, dtype), shape)
    assert isinstance(made._ag_raw, np.generic) == (shape == ())


def test_tensors_within_lists_are_read_as_numbers():
    assert torch.tensor([torch.tensor(1), 2.5]).tolist() == [1.0, 2.5]
    assert torch.tensor([[torch.tensor(1.0), 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("data", "dtype", "error", "message"),
    [
        ([[1, 2], [3]], None, ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
        ([[1, 2], 3], None, TypeError, "not a sequence"),
        ("a", None, TypeError, "new(): invalid data type 'str'"),
        ([1, "a"], None, TypeError, "new(): invalid data type 'str'"),
        (None, None, RuntimeError, "Could not infer dtype of NoneType"),
        ({1, 2}, None, RuntimeError, "Could not infer dtype of set"),
        (2**63, None, ValueError, "Overflow when unpacking long long"),
        ([2**40], "int32", RuntimeError, "value cannot be converted to type int32 without overflow"),
        (float("nan"), "int32", RuntimeError, "value cannot be converted to type int32 without overflow"),
        (-1.0, "uint8", RuntimeError, "value cannot be converted to type uint8 without overflow"),
        (1j, "float32", TypeError, "must be real number, not complex"),
        ([1.5, None], "float32", TypeError, "must be real number, not NoneType"),
        (np.array(["a"]), None, TypeError, "can't convert np.ndarray of type numpy.str_"),
    ],
)
def test_what_is_no_data_raises_pytorchs_error(data, dtype, error, message):
    with pytest.raises(error) as caught:
        torch.tensor(data, dtype=dtype and getattr(torch, dtype))
    assert str(caught.value).startswith(message)


def test_a_negative_integer_wraps_into_an_unsigned_dtype():
    assert torch.tensor(-1, dtype=torch.uint8).item() == 255


def test_integers_cannot_require_gradients():
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.zeros(2, dtype=torch.int64, requires_grad=True)


def test_the_default_dtype_governs_floats_and_complex_numbers():
    torch.set_default_dtype(torch.float64)
    kinds = [torch.tensor(1.0), torch.zeros(1), torch.tensor(1j), torch.arange(2.0), torch.Tensor(1)]
    assert [str(t.dtype) for t in kinds] == [
        f"torch.{n}" for n in ("float64", "float64", "complex128", "float64", "float64")
    ]
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        torch.set_default_dtype(torch.int32)


@pytest.mark.parametrize(
    ("make", "values", "dtype"),
    [
        (lambda: torch.arange(5), [0, 1, 2, 3, 4], "int64"),
        (lambda: torch.arange(1, 2.5, 0.5), [1.0, 1.5, 2.0], "float32"),
        (lambda: torch.arange(5, 0, -2), [5, 3, 1], "int64"),
        (lambda: torch.arange(start=1, end=5, step=2), [1, 3], "int64"),
        (lambda: torch.arange(-2.5, 2.5, dtype=torch.int64), [-2, -1, 0, 1], "int64"),
        (lambda: torch.arange(2**53, 2**53 + 2), [2**53, 2**53 + 1], "int64"),
        (lambda: torch.linspace(0, 10, 4, dtype=torch.int64), [0, 3, 6, 10], "int64"),
        (lambda: torch.linspace(0, 1, 1), [0.0], "float32"),
        (lambda: torch.logspace(0, 2, 3), [1.0, 10.0, 100.0], "float32"),
        (lambda: torch.eye(2, 3), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], "float32"),
        (lambda: torch.full((2,), 1), [1, 1], "int64"),
        (lambda: torch.full((2,), True), [True, True], "bool"),
        (lambda: torch.full((), 1.5), 1.5, "float32"),
        (lambda: torch.tril_indices(2, 4, 1), [[0, 0, 1, 1, 1], [0, 1, 0, 1, 2]], "int64"),
        (lambda: torch.triu_indices(3, 2, -1), [[0, 0, 1, 1, 2], [0, 1, 0, 1, 1]], "int64"),
        (lambda: torch.full_like(torch.ones(2, dtype=torch.int32), 2.5), [2, 2], "int32"),
        (lambda: torch.ones(2).new_tensor([1, 2]), [1.0, 2.0], "float32"),
        (lambda: torch.ones(2, dtype=torch.int32).new_full((2,), 1.5), [1, 1], "int32"),
        (lambda: torch.scalar_tensor(3), 3.0, "float32"),
        (lambda: torch.zeros(2, dtype=float), [0.0, 0.0], "float64"),
        (lambda: torch.polar(torch.ones(1), torch.zeros(1)), [1 + 0j], "complex64"),
    ],
)
def test_factories(make, values, dtype):
    made = make()
    assert made.tolist() == values
    assert made.dtype is getattr(torch, dtype)


def test_rows_of_floats_round_as_pytorchs_do():
    # Recorded from PyTorch 2.13: exact bits, which a plain `start + i * step` in float32 does not give.
    assert torch.linspace(-3.14159, 2.71828, 11)[[3, 4, 6, 7]].tolist() == [
        -1.3836292028427124,
        -0.7976422309875488,
        0.3743321895599365,
        0.9603191614151001,
    ]
    assert torch.arange(0.1, 20.0, 0.7)[[3, 11, 19, 26]].tolist() == [
        2.200000047683716,
        7.799999713897705,
        13.399999618530273,
        18.299999237060547,
    ]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: torch.zeros(2.0), TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not float"),
        (lambda: torch.zeros(), TypeError, 'zeros() missing 1 required positional arguments: "size"'),
        (lambda: torch.ones(2, -1), RuntimeError, "Trying to create tensor with negative dimension -1: [2, -1]"),
        (lambda: torch.ones(2, foo=1), TypeError, "ones() got an unexpected keyword argument 'foo'"),
        (lambda: torch.ones(2, dtype="float"), TypeError, "ones(): argument 'dtype' must be torch.dtype, not str"),
        (lambda: torch.arange(0, 1, 0), RuntimeError, "step must be nonzero"),
        (lambda: torch.arange(1, 0), RuntimeError, "upper bound and lower bound inconsistent with step sign"),
        (lambda: torch.full(2, 1), TypeError, "full(): argument 'size' (position 1) must be tuple of ints, not int"),
        (
            lambda: torch.full((2,), 300, dtype=torch.uint8),
            RuntimeError,
            "value cannot be converted to type uint8_t without overflow",
        ),
        (
            lambda: torch.zeros(2, dtype=torch.int32, out=torch.ones(2)),
            RuntimeError,
            "dtype Int does not match dtype of out parameter (Float)",
        ),
        (lambda: torch.from_numpy([1]), TypeError, "expected np.ndarray (got list)"),
        (lambda: torch.Tensor(2.5), TypeError, "new(): data must be a sequence (got float)"),
    ],
)
def test_wrong_arguments_raise_pytorchs_error(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_from_numpy_shares_memory_and_tensor_does_not():
    array = np.arange(3.0)
    shared, copied = torch.from_numpy(array), torch.tensor(array)
    array[0] = 9
    assert shared.tolist() == [9.0, 1.0, 2.0]
    assert copied.tolist() == [0.0, 1.0, 2.0]


def test_from_numpy_warns_of_memory_that_cannot_be_written():
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        torch.from_numpy(array)


def test_likenesses_keep_the_order_of_dimensions():
    source = torch.ones(2, 3).t()
    assert torch.zeros_like(source).stride() == (1, 3)
    assert torch.empty_like(source, memory_format=torch.contiguous_format).stride() == (2, 1)
    assert torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride() == (60, 1, 15, 3)


def test_legacy_constructors():
    assert torch.Tensor(2, 3).shape == (2, 3)
    assert torch.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert torch.LongTensor([1.5, 2]).tolist() == [1, 2]
    assert torch.Tensor().shape == (0,)
    assert isinstance(torch.ones(1), torch.FloatTensor)
    assert not isinstance(torch.ones(1), torch.LongTensor)
    assert torch.ones(1).type() == "torch.FloatTensor"
    assert torch.ones(1).type("torch.DoubleTensor").dtype is torch.float64
    assert torch.ones(1).new(2, 3).shape == (2, 3)


def test_a_subclass_is_made_of_data_too():
    class Mine(torch.Tensor):
        pass

    made = Mine([1.0, 2.0])
    assert repr(made) == "Mine([1., 2.])"
    assert torch.Tensor._make_subclass(Mine, torch.ones(1)).tolist() == [1.0]


def test_absent_names_are_told_in_one_sentence():
    with pytest.raises(AttributeError, match="module 'torch' has no attribute 'frobnicate'"):
        torch.frobnicate


@pytest.mark.parametrize("count", [1 << 62, (1 << 63) - 1])
@pytest.mark.parametrize(
    "made",
    [
        torch.arange,
        lambda n: torch.arange(0, n, dtype=torch.float32),
        lambda n: torch.linspace(0, 1, n),
        lambda n: torch.logspace(0, 1, n),
    ],
)
def test_a_row_of_more_bytes_than_there_are_addresses_is_refused(made, count):
    with pytest.raises(RuntimeError, match=rf"Storage size calculation overflowed with sizes=\[{count}\]"):
        made(count)
