"""Arguments may be called as NumPy calls them: `axis` for `dim`, `keepdims` for `keepdim`."""

import pytest

from autograph_cli import torch

X = torch.arange(6.0).view(2, 3)
CALLS = [
    (lambda **k: torch.sum(X, **k), {"dim": 1, "keepdim": True}),
    (lambda **k: X.mean(**k), {"dim": 0, "keepdim": True}),
    (lambda **k: torch.max(X, **k).indices, {"dim": 1, "keepdim": True}),
    (lambda **k: X.argmax(**k), {"dim": 1, "keepdim": True}),
    (lambda **k: torch.linalg.norm(X, **k), {"dim": 1, "keepdim": True}),
    (lambda **k: torch.cat([X, X], **k), {"dim": 1}),
    (lambda **k: torch.stack([X, X], **k), {"dim": 1}),
    (lambda **k: X.softmax(**k), {"dim": 0}),
    (lambda **k: X.unsqueeze(**k), {"dim": 1}),
    (lambda **k: X.cumsum(**k), {"dim": 0}),
]
NUMPY = {"dim": "axis", "keepdim": "keepdims"}


@pytest.mark.parametrize("call, arguments", CALLS)
def test_numpys_names_mean_the_same(call, arguments):
    assert torch.equal(call(**arguments), call(**{NUMPY[k]: v for k, v in arguments.items()}))


def test_they_may_stand_beside_out():
    target = torch.empty(2)
    assert torch.sum(X, axis=1, out=target) is target
    assert target.tolist() == [3.0, 12.0]


def test_a_name_that_neither_has_is_refused():
    with pytest.raises(TypeError, match="axes"):
        torch.sum(X, axes=1)
