"""How tensors print, against the text that PyTorch printed."""

import random
from math import inf, nan

import ml_dtypes
import numpy as np
import pytest

from autograph_cli.torch._core.tape.formatting import (
    PROFILES,
    PrintOptions,
    format_scalar,
    parameter_str,
    print_options,
    tensor_str,
)
from tests.cases import for_each

# Name, elements, dtype, what tensor_str is told besides, and what PyTorch prints.
TENSORS = [
    (
        "two decimals become four",
        [[1.0, 3.8, 2.1], [8.6, 4.0, 2.4]],
        "float32",
        {},
        """\
tensor([[1.0000, 3.8000, 2.1000],
        [8.6000, 4.0000, 2.4000]])""",
    ),
    ("whole numbers", [1, 2, 3], "int64", {}, "tensor([1, 2, 3])"),
    ("a bool", True, "bool", {}, "tensor(True)"),
    ("nan and inf", [1.5, nan, inf], "float32", {}, "tensor([1.5000,    nan,    inf])"),
    ("magnitudes far apart", [1e-8, 1.0, 12345678.0], "float32", {}, "tensor([1.0000e-08, 1.0000e+00, 1.2346e+07])"),
    ("small magnitudes", [0.00012, 0.5], "float32", {}, "tensor([1.2000e-04, 5.0000e-01])"),
    (
        "ten thousand",
        np.arange(10000).reshape(100, 100),
        "int64",
        {},
        """\
tensor([[   0,    1,    2,  ...,   97,   98,   99],
        [ 100,  101,  102,  ...,  197,  198,  199],
        [ 200,  201,  202,  ...,  297,  298,  299],
        ...,
        [9700, 9701, 9702,  ..., 9797, 9798, 9799],
        [9800, 9801, 9802,  ..., 9897, 9898, 9899],
        [9900, 9901, 9902,  ..., 9997, 9998, 9999]])""",
    ),
    ("nothing in three dimensions", np.zeros((2, 0, 3)), "float32", {}, "tensor([], size=(2, 0, 3))"),
    ("nothing", [], "float32", {}, "tensor([])"),
    ("a whole float", 3.0, "float32", {}, "tensor(3.)"),
    ("ones of float64", [1, 1], "float64", {}, "tensor([1., 1.], dtype=torch.float64)"),
    ("ones of int8", [1, 1], "int8", {}, "tensor([1, 1], dtype=torch.int8)"),
    ("ones of float16", [1, 1], "float16", {}, "tensor([1., 1.], dtype=torch.float16)"),
    ("complex", [1 + 2j, 3.5j], "complex64", {}, "tensor([1.+2.0000j, 0.+3.5000j])"),
    (
        "three dimensions",
        np.arange(24.0).reshape(2, 3, 4),
        "float32",
        {},
        """\
tensor([[[ 0.,  1.,  2.,  3.],
         [ 4.,  5.,  6.,  7.],
         [ 8.,  9., 10., 11.]],

        [[12., 13., 14., 15.],
         [16., 17., 18., 19.],
         [20., 21., 22., 23.]]])""",
    ),
    (
        "a result",
        [2, 2, 2],
        "float32",
        {"grad_fn_name": "MulBackward0"},
        "tensor([2., 2., 2.], grad_fn=<MulBackward0>)",
    ),
    ("a leaf", [1.0, 2.5], "float32", {"requires_grad": True}, "tensor([1.0000, 2.5000], requires_grad=True)"),
    ("a number that needs digits", 0.1, "float32", {}, "tensor(0.1000)"),
    ("a large number", 1e10, "float32", {}, "tensor(1.0000e+10)"),
    ("negative zero", [-0.0, 0.0], "float32", {}, "tensor([-0., 0.])"),
    ("only nan", [nan, nan], "float32", {}, "tensor([nan, nan])"),
    ("whole with nan and inf", [1.0, nan, -inf, -0.0], "float32", {}, "tensor([1., nan, -inf, -0.])"),
    ("whole and large", [1e8, 1.0], "float32", {}, "tensor([1.0000e+08, 1.0000e+00])"),
    ("whole within a thousand", [1000.0, 1.0], "float32", {}, "tensor([1000.,    1.])"),
    ("whole beyond a thousand", [1001.0, 1.0], "float32", {}, "tensor([1.0010e+03, 1.0000e+00])"),
    ("signs", [-1.5, 0.25, 100.0], "float32", {}, "tensor([ -1.5000,   0.2500, 100.0000])"),
    ("bfloat16", [0.1, -3.0], "bfloat16", {}, "tensor([ 0.1001, -3.0000], dtype=torch.bfloat16)"),
    ("float16 with subnormals", [6e-8, 1.0], "float16", {}, "tensor([5.9605e-08, 1.0000e+00], dtype=torch.float16)"),
    (
        "bools",
        [[True, False], [False, True]],
        "bool",
        {},
        """\
tensor([[ True, False],
        [False,  True]])""",
    ),
    (
        "uint8",
        [[1, 200], [30, 4]],
        "uint8",
        {},
        """\
tensor([[  1, 200],
        [ 30,   4]], dtype=torch.uint8)""",
    ),
    (
        "negative integers",
        [[-1, 20], [300, -4000]],
        "int64",
        {},
        """\
tensor([[   -1,    20],
        [  300, -4000]])""",
    ),
    (
        "complex of both signs",
        [-1.5 - 2.25j, 1 + 1e-5j],
        "complex64",
        {},
        "tensor([-1.5000-2.2500e+00j,  1.0000+1.0000e-05j])",
    ),
    ("a complex number", 1.5 - 2j, "complex128", {}, "tensor(1.5000-2.j, dtype=torch.complex128)"),
    ("complex nan", [complex(nan, inf), 1j], "complex64", {}, "tensor([nan+infj, 0.+1.j])"),
    ("nothing of int64", [], "int64", {}, "tensor([], dtype=torch.int64)"),
    (
        "no elements, needing grad",
        np.zeros((0, 2)),
        "float32",
        {"requires_grad": True},
        "tensor([], size=(0, 2), requires_grad=True)",
    ),
    (
        "a long row",
        np.arange(30.0) / 7,
        "float32",
        {},
        """\
tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,
        1.2857, 1.4286, 1.5714, 1.7143, 1.8571, 2.0000, 2.1429, 2.2857, 2.4286,
        2.5714, 2.7143, 2.8571, 3.0000, 3.1429, 3.2857, 3.4286, 3.5714, 3.7143,
        3.8571, 4.0000, 4.1429])""",
    ),
    (
        "a long row with a suffix that wraps",
        np.arange(15.0) / 7,
        "float64",
        {"grad_fn_name": "DivBackward0"},
        """\
tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,
        1.2857, 1.4286, 1.5714, 1.7143, 1.8571, 2.0000], dtype=torch.float64,
       grad_fn=<DivBackward0>)""",
    ),
    (
        "suffixes on lines of their own",
        np.arange(9.0) / 7,
        "float64",
        {"grad_fn_name": "NativeBatchNormBackward"},
        """\
tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429],
       dtype=torch.float64, grad_fn=<NativeBatchNormBackward>)""",
    ),
    (
        "over the threshold",
        np.arange(1001.0),
        "float32",
        {},
        "tensor([   0.,    1.,    2.,  ...,  998.,  999., 1000.])",
    ),
    (
        "over the threshold in three dimensions",
        np.arange(2016).reshape(2, 7, 144),
        "int32",
        {},
        """\
tensor([[[   0,    1,    2,  ...,  141,  142,  143],
         [ 144,  145,  146,  ...,  285,  286,  287],
         [ 288,  289,  290,  ...,  429,  430,  431],
         ...,
         [ 576,  577,  578,  ...,  717,  718,  719],
         [ 720,  721,  722,  ...,  861,  862,  863],
         [ 864,  865,  866,  ..., 1005, 1006, 1007]],

        [[1008, 1009, 1010,  ..., 1149, 1150, 1151],
         [1152, 1153, 1154,  ..., 1293, 1294, 1295],
         [1296, 1297, 1298,  ..., 1437, 1438, 1439],
         ...,
         [1584, 1585, 1586,  ..., 1725, 1726, 1727],
         [1728, 1729, 1730,  ..., 1869, 1870, 1871],
         [1872, 1873, 1874,  ..., 2013, 2014, 2015]]], dtype=torch.int32)""",
    ),
    (
        "only shown elements choose the digits",
        np.where(np.arange(2000) == 1000, 0.5, np.arange(2000)),
        "float32",
        {},
        """\
tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,
        1.9990e+03])""",
    ),
    ("default dtype float64", [1.5], "float32", {"default_dtype": "float64"}, "tensor([1.5000], dtype=torch.float32)"),
    ("default dtype float64, same", [1.5], "float64", {"default_dtype": "float64"}, "tensor([1.5000])"),
    (
        "default dtype float64, complex",
        [1.5j],
        "complex64",
        {"default_dtype": "float64"},
        "tensor([0.+1.5000j], dtype=torch.complex64)",
    ),
    (
        "more digits",
        [3.14159265, 2.71828],
        "float32",
        {"options": {"precision": 8}},
        "tensor([3.14159274, 2.71828008])",
    ),
    ("no digits", [3.14159265, 2.71828], "float32", {"options": {"precision": 0}}, "tensor([3, 3])"),
    (
        "scientific as asked",
        [1.0, 0.0, 22.0],
        "float32",
        {"options": {"sci_mode": True}},
        "tensor([1.0000e+00, 0.0000e+00, 2.2000e+01])",
    ),
    (
        "not scientific as asked",
        [1e-8, 1.0, 12345678.0],
        "float32",
        {"options": {"sci_mode": False}},
        "tensor([       0.0000,        1.0000, 12345678.0000])",
    ),
    (
        "short profile",
        np.arange(1500.0).reshape(30, 50) / 7,
        "float32",
        {"options": {"profile": "short"}},
        """\
tensor([[0.00e+00, 1.43e-01,  ..., 6.86e+00, 7.00e+00],
        [7.14e+00, 7.29e+00,  ..., 1.40e+01, 1.41e+01],
        ...,
        [2.00e+02, 2.00e+02,  ..., 2.07e+02, 2.07e+02],
        [2.07e+02, 2.07e+02,  ..., 2.14e+02, 2.14e+02]])""",
    ),
    (
        "narrow lines",
        np.arange(12.0).reshape(2, 6),
        "float32",
        {"options": {"linewidth": 24}},
        """\
tensor([[ 0.,  1.,  2.,
          3.,  4.,  5.],
        [ 6.,  7.,  8.,
          9., 10., 11.]])""",
    ),
    (
        "one edge item",
        np.arange(12).reshape(3, 4),
        "int64",
        {"options": {"threshold": 5, "edgeitems": 1}},
        """\
tensor([[ 0,  ...,  3],
        ...,
        [ 8,  ..., 11]])""",
    ),
    (
        "no edge items",
        np.arange(12).reshape(3, 4),
        "int64",
        {"options": {"threshold": 5, "edgeitems": 0}},
        "tensor([...], size=(3, 4))",
    ),
    ("no edge items and few elements", [1, 2], "int64", {"options": {"edgeitems": 0}}, "tensor([1, 2], size=(2,))"),
]


def array_of(elements, dtype):
    return np.array(elements).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


@for_each(("elements", "dtype", "told", "expected"), [row[1:] for row in TENSORS])
def test_a_tensor_prints_as_in_pytorch(elements, dtype, told, expected):
    told = {**told, "options": print_options(PrintOptions(), **told.get("options", {}))}
    assert tensor_str(array_of(elements, dtype), dtype, **told) == expected


def test_a_numpy_scalar_prints_as_a_tensor_without_dimensions():
    assert tensor_str(np.float32(0.5), "float32", requires_grad=True) == "tensor(0.5000, requires_grad=True)"


def test_a_parameter_has_a_heading():
    assert parameter_str(np.ones(2, np.float32), "float32", requires_grad=True) == (
        "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    )


def test_a_longer_prefix_moves_the_lines_below():
    text = tensor_str(np.ones((2, 1)), "float64", prefix="MyTensor(")
    assert text == "MyTensor([[1.],\n          [1.]], dtype=torch.float64)"


def test_a_device_other_than_the_cpu_is_named():
    text = tensor_str(np.ones(1, np.float16), "float16", device="cuda:0")
    assert text == "tensor([1.], device='cuda:0', dtype=torch.float16)"


def test_of_a_huge_tensor_only_the_shown_elements_are_read():
    terabytes = np.broadcast_to(np.float64(1.5), (10**6, 10**6))
    assert tensor_str(terabytes, "float64", default_dtype="float64").count("1.5000") == 36


@pytest.mark.parametrize(
    ("array", "spec", "expected"),
    [
        (np.float32(0.1), "", "0.10000000149011612"),
        (np.array(2.5), ".3f", "2.500"),
        (np.array(7), "04d", "0007"),
        (np.array(True), "", "True"),
        (np.array(1.5, ml_dtypes.bfloat16), ".1f", "1.5"),
        (np.array(1 + 2j), "", "(1+2j)"),
    ],
)
def test_a_scalar_is_formatted_as_its_python_number(array, spec, expected):
    assert format_scalar(array, spec) == expected


def test_print_options_start_from_the_profile_and_set_the_notation_anew():
    asked = print_options(PrintOptions(), precision=2, sci_mode=True)
    assert asked == PrintOptions(precision=2, sci_mode=True)
    assert print_options(asked, linewidth=100) == PrintOptions(precision=2, linewidth=100)
    assert print_options(asked, profile="full", edgeitems=1) == PrintOptions(threshold=inf, edgeitems=1)
    assert print_options(asked, profile="default") == PROFILES["default"]


def test_random_tensors_print_as_in_real_pytorch():
    torch = pytest.importorskip("torch")
    choose = random.Random(0)
    for seed in range(200):
        values = np.random.RandomState(seed)
        shape = [choose.choice([0, 1, 2, 7, 40]) for _ in range(choose.randint(0, 3))]
        array = np.asarray(values.standard_normal(shape) * 10.0 ** values.randint(-9, 9, shape or None))
        array = array.round() if choose.random() < 0.3 else array
        dtype = choose.choice(["float16", "float32", "float64", "complex64", "int64"])
        with np.errstate(over="ignore"):
            array = np.asarray(array.clip(-1e4, 1e4) if dtype == "float16" else array).astype(dtype)
        assert tensor_str(array, dtype) == repr(torch.from_numpy(array)), (seed, dtype, shape)
