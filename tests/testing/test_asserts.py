"""Assertions on derivatives and findings."""

from __future__ import annotations

import pytest

from autograph_cli import assert_gradients, assert_no_findings, capture, record, torch


class Cut(torch.autograd.Function):
    """A cube whose second derivative is cut."""

    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        """The values."""
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        """Right, and its derivative is not."""
        (x,) = ctx.saved_tensors
        return g * 3 * x.detach() ** 2


def test_right_derivatives_pass() -> None:
    assert_gradients(lambda x, n: (x**n, x.exp()), (torch.tensor([0.5, -1.0]), 3), order=3)
    assert_gradients(Cut.apply, torch.ones(2), order=1)


def test_a_wrong_derivative_fails_with_both_values() -> None:
    with pytest.raises(
        AssertionError, match=r"^apply, order 2 is wrong by 1\.0e\+00: input 0, number 0 \(1\): backward gives 0"
    ):
        assert_gradients(Cut.apply, torch.ones(2))


def test_what_cannot_be_compared_fails() -> None:
    with pytest.raises(AssertionError, match=r"cannot be checked: it returns no tensor of floating numbers"):
        assert_gradients(lambda x: x > 0, torch.ones(2))
    with pytest.raises(TypeError, match="at least one of which is a tensor"):
        assert_gradients(abs, 3)


def test_a_block_without_findings_passes() -> None:
    w = torch.ones(3, requires_grad=True)
    with record(record=("values",)) as recording:
        (w * 2).sum().backward()
    assert_no_findings(recording)
    assert_no_findings(recording.trace)
    assert_no_findings((w * 2).sum())
    assert_no_findings(capture((w * 2).sum()))


def test_findings_fail_with_the_line_and_can_be_ignored() -> None:
    w = torch.tensor([0.0, 4.0], requires_grad=True)
    with record(record=("values",)) as recording:
        torch.where(w > 0, w.sqrt(), 0.0).sum().backward()
    with pytest.raises(AssertionError, match=r"^1 finding:\n\nAG30\d test_asserts\.py:\d+: "):
        assert_no_findings(recording)
    assert_no_findings(recording, ignore=["AG3"])
    assert_no_findings(recording, select=["AG1"])
