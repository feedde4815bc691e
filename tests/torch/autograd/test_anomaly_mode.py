"""Anomaly detection: nan in backward, and where nodes come from."""

import warnings

import pytest

from autograph_cli import torch
from autograph_cli.torch.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled


def test_set_detect_anomaly_holds_for_its_block():
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        assert is_anomaly_enabled() and not is_anomaly_check_nan_enabled()
    assert not is_anomaly_enabled() and is_anomaly_check_nan_enabled()


def test_detect_anomaly_warns_of_its_cost():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"), torch.autograd.detect_anomaly():
        assert is_anomaly_enabled()
    assert not is_anomaly_enabled()


def test_the_nodes_of_a_backward_know_their_parent():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = torch.tensor(3.0, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = Square.apply(x)
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert g.grad_fn.metadata["parent_"] is y.grad_fn
    assert "Square.apply" in "".join(y.grad_fn.metadata["traceback_"])


def test_the_error_comes_also_where_warnings_are_errors(capsys):
    x = torch.zeros(2, requires_grad=True)
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values"):
            (x.sqrt() * 0).sum().backward()
    assert capsys.readouterr().err.startswith("UserWarning: Error detected in SqrtBackward0.")
