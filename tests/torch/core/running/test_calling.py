"""Functions of operations take their arguments as functions of Python do, and refuse them in the same words."""

import inspect
import pickle
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.operations.operation import table
from tests.cases import for_each


def sin(input, *, out=None):
    return (input,)


def mul(input, other, *, out=None):
    return input, other


def add(input, other, *, alpha=1, out=None):
    return input, other, alpha


def sum_dim_IntList(input, dim, keepdim=False, *, dtype=None, out=None):
    return input, dim, keepdim, dtype


def select(input, dim, index):
    return input, dim, index


FUNCTIONS = (sin, mul, add, sum_dim_IntList, select)
CALLS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {}), ((1,), {}), ((1, 2), {}), ((1, 2, 3), {}), ((1, 2, 3, 4), {}), ((1,), {"other": 2}),
    ((1, 2), {"input": 2}), ((1,), {"nothing": 2}), ((), {"other": 2, "input": 1}), ((1, 2), {"alpha": 3}),
    ((1, 2, 3), {"alpha": 3}), ((1,), {"dim": 0, "keepdim": True}), ((1, 0), {"dtype": None, "dim": 3}),
    ((), {"index": 1}),
)  # fmt: skip


def answer(run: Any, args: Any, kwargs: Any) -> Any:
    try:
        return run(*args, **kwargs)
    except TypeError as error:
        return str(error)


@for_each("function", FUNCTIONS)
@for_each(("args", "kwargs"), CALLS)
def test_arguments_are_put_in_order_and_refused_as_by_python(function: Any, args: Any, kwargs: Any) -> None:
    op = table[function.__name__]
    assert answer(op.bind, args, kwargs) == answer(function, args, kwargs)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_signature_is_that_of_the_record(function: Any) -> None:
    assert table[function.__name__].signature == inspect.signature(function)


@pytest.mark.parametrize("name", ["mul", "sin", "add", "sum"])
def test_public_functions_are_pickled_by_name(name: str) -> None:
    function = getattr(torch, name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_they_are_methods_of_what_has_them() -> None:
    class Holder:
        run = torch.mul

        def __mul__(self, other: Any) -> Any:
            return "own"

    x = torch.ones(2)
    assert torch.Tensor.mul(x, 3).tolist() == x.mul(3).tolist() == [3.0, 3.0]
    with pytest.raises(TypeError):
        Holder().run(x)
