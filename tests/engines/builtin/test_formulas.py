"""Formulas as text, from the records of the engine's operations."""

from __future__ import annotations

import re
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.engines.builtin.formulas import formula_of
from autograph_cli.torch._core.operations.operation import table


def test_a_custom_function_shows_the_lines_of_its_backward() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:

            doubled = grad * 2
            return doubled

    assert formula_of(Twice._backward_cls) == (
        "def backward(ctx: Any, grad: Any) -> Any:",
        "    doubled = grad * 2",
        "    return doubled",
    )


def test_every_operation_with_a_derivative_has_a_formula_that_can_be_read() -> None:
    for operation in table.values():
        lines = formula_of(operation.node) if operation.derivatives else ()
        assert len(lines) >= len(operation.derivatives), operation
        for line in lines:
            assert line.strip() and "<lambda>" not in line and "object at" not in line, f"{operation}: {line}"


def test_of_several_functions_on_a_line_each_has_its_own_formula() -> None:
    assert formula_of(table["sub_as_first"].node) == ("self: grad", "other: -grad")
    assert formula_of(table["fill_Tensor"].node) == ("self: zeros_like(grad)", "value: grad.sum()")


def test_names_that_a_formula_takes_from_around_it_are_filled_in() -> None:
    assert formula_of(table["avg_pool2d"].node)[0].startswith("self: avg_pool2d_backward(grad, self,")
    assert formula_of(table["gelu"].node) == ("self: gelu_backward(grad, self, approximate)",)
    assert formula_of(table["floor_divide"].node)[0] == "self: not implemented"


@pytest.mark.parametrize(
    "operation, lines",
    [
        ("div", ("self: grad / other.conj()", "other: -grad * (self / other / other).conj()")),
        (
            "addmm",
            ("self: grad * beta", "mat1: grad.mm(mat2.t().conj()) * alpha", "mat2: mat1.t().conj().mm(grad) * alpha"),
        ),
        ("clamp", ("self: where((self >= min) & (self <= max), grad, 0)",)),
        ("clamp_min", ("self: where(self >= min, grad, 0)",)),
        ("expand", ("self: grad.sum_to_size(self.shape)",)),
        ("complex", ("real: real(grad)", "imag: imag(grad)")),
        ("xlogy_self_scalar", ("other: grad * self / other",)),
        (
            "sinc",
            (
                "self: sinc_gradient(grad, self)",
                "def sinc_gradient(grad, x):",
                "    turned, square = (x * math.pi, x * x * math.pi)",
                "    sine = turned.sin()",
                "    slope = grad * ((turned * turned.cos() - sine) / square).conj()",
                "    return where(square == 0, 0, slope)",
            ),
        ),
    ],
)
def test_a_formula_is_told_in_operations_that_a_script_can_call(operation: str, lines: tuple[str, ...]) -> None:
    assert formula_of(table[operation].node) == lines


def test_no_formula_names_what_the_engine_alone_knows() -> None:
    for operation in table.values():
        for line in formula_of(operation.node) if operation.derivatives else ():
            inner = re.search(r"\bf\.|\(f\b|_raw|isinstance|_Scalar\(|zeros_of|zero_beside|conj_number", line)
            assert inner is None, f"{operation}: {line}"
