"""What is no tensor where a layer needs one has PyTorch's error, which names the argument."""

import numpy as np
import pytest

from autograph_cli import torch

F, nn = torch.nn.functional, torch.nn
X, A = torch.ones(2, 3), np.ones((2, 3), dtype=np.float32)
WRONG = [
    (lambda: nn.Linear(3, 2)(A), "linear(): argument 'input' (position 1) must be Tensor, not numpy.ndarray"),
    (lambda: nn.Linear(3, 2, bias=False)([1.0]), "linear(): argument 'input' (position 1) must be Tensor, not list"),
    (
        lambda: nn.Sequential(nn.Linear(3, 2))(None),
        "linear(): argument 'input' (position 1) must be Tensor, not NoneType",
    ),
    (lambda: F.linear(X, weight=A), "linear(): argument 'weight' must be Tensor, not numpy.ndarray"),
    (lambda: torch.matmul(X, A), "matmul(): argument 'other' (position 2) must be Tensor, not numpy.ndarray"),
    (lambda: nn.Embedding(3, 2)([1]), "embedding(): argument 'indices' (position 2) must be Tensor, not list"),
    (
        lambda: F.cross_entropy(X, [1, 2]),
        "cross_entropy_loss(): argument 'target' (position 2) must be Tensor, not list",
    ),
    (lambda: F.nll_loss(X, [1]), "nll_loss_nd(): argument 'target' (position 2) must be Tensor, not list"),
    (lambda: nn.LayerNorm(3)(A), "layer_norm(): argument 'input' (position 1) must be Tensor, not numpy.ndarray"),
    (lambda: F.dropout(A), "dropout(): argument 'input' (position 1) must be Tensor, not numpy.ndarray"),
    (
        lambda: nn.Conv2d(1, 1, 1)(A),
        "conv2d() received an invalid combination of arguments - got (numpy.ndarray, Parameter, Parameter, tuple, tuple, tuple, int)",
    ),
]


@pytest.mark.parametrize("call, message", WRONG, ids=[message for _, message in WRONG])
def test_the_argument_is_named(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).partition(", but expected")[0] == message


def test_other_errors_are_as_they_were():
    with pytest.raises(TypeError, match="frob"):
        F.dropout(X, frob=1)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        F.linear(X, X.t())
