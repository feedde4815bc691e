"""Sparse gradients of lookups, and the optimizers that take them; the numbers were recorded from PyTorch."""

import pytest

from autograph_cli import torch

F = torch.nn.functional


def looked_up(*positions, **options):
    w = torch.nn.Parameter(torch.ones(3, 2))
    F.embedding(torch.tensor(positions), w, sparse=True, **options).sum().backward()
    return w


def test_a_gradient_holds_the_rows_that_were_looked_up():
    g = looked_up(0, 2, 0).grad
    assert (g.is_sparse, g.layout, g.shape, g._nnz(), g.is_coalesced()) == (True, torch.sparse_coo, (3, 2), 3, False)
    assert (g._indices().tolist(), g._values().tolist()) == ([[0, 2, 0]], [[1.0, 1.0]] * 3)
    assert g.to_dense().tolist() == [[2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]
    assert (g.coalesce().indices().tolist(), g.coalesce().values().tolist()) == ([[0, 2]], [[2.0, 2.0], [1.0, 1.0]])
    assert looked_up(0, 2, padding_idx=2).grad._indices().tolist() == [[0]]


def test_gradients_add_up():
    w = looked_up(0)
    F.embedding(torch.tensor([1]), w, sparse=True).sum().backward()
    assert w.grad._indices().tolist() == [[0, 1]]
    w.sum().backward()
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0], [1.0, 1.0]]
    F.embedding(torch.tensor([2]), w, sparse=True).sum().backward()
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]


def test_a_sparse_tensor_prints_its_rows():
    assert repr(looked_up(0, 2).grad) == (
        "tensor(indices=tensor([[0, 2]]),\n       values=tensor([[1., 1.],\n                      [1., 1.]]),\n"
        "       size=(3, 2), nnz=2, layout=torch.sparse_coo)"
    )


@pytest.mark.parametrize(
    "name, options, expected",
    [
        ("SparseAdam", {"lr": 0.1}, [0.9, 1.0, 0.9]),
        ("SparseAdam", {"lr": 0.1, "maximize": True}, [1.1, 1.0, 1.1]),
        ("SGD", {"lr": 0.1}, [0.8, 1.0, 0.9]),
        ("SGD", {"lr": 0.1, "momentum": 0.9}, [0.8, 1.0, 0.9]),
        ("Adagrad", {"lr": 0.1}, [0.9, 1.0, 0.9]),
    ],
)
def test_optimizers_move_the_rows_that_have_a_gradient(name, options, expected):
    w = looked_up(0, 2, 0)
    getattr(torch.optim, name)([w], **options).step()
    assert w[:, 0].tolist() == pytest.approx(expected, abs=1e-6)


def test_sparse_adam_keeps_the_means_of_rows_without_gradient():
    w = looked_up(0)
    optimizer = torch.optim.SparseAdam([w], lr=0.1)
    optimizer.step()
    optimizer.zero_grad()
    F.embedding(torch.tensor([1]), w, sparse=True).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()["state"][0]
    assert state["step"] == 2
    assert state["exp_avg"][:, 0].tolist() == pytest.approx([0.1, 0.1, 0.0])
    assert w[:, 0].tolist() == pytest.approx(
        [0.9, 1 - 0.1 * (1 - 0.999**2) ** 0.5 / (1 - 0.9**2) * 0.1 / 0.001**0.5, 1.0], abs=1e-6
    )


def test_zero_grad_empties_a_sparse_gradient():
    w = looked_up(0)
    torch.optim.SGD([w]).zero_grad(set_to_none=False)
    assert (w.grad.is_sparse, w.grad._nnz()) == (True, 0)


def stepped(name, **options):
    return lambda: getattr(torch.optim, name)([looked_up(0)], **options).step()


REFUSED = [
    (stepped("Adam"), RuntimeError, "Adam does not support sparse gradients, please consider SparseAdam instead"),
    (stepped("AdamW"), RuntimeError, "Adam does not support sparse gradients, please consider SparseAdam instead"),
    (stepped("RMSprop"), RuntimeError, "RMSprop does not support sparse gradients"),
    (stepped("Adafactor"), RuntimeError, "Adafactor does not support sparse gradients"),
    (stepped("Muon"), RuntimeError, "Muon does not support sparse gradients"),
    (stepped("Adagrad", weight_decay=0.1), RuntimeError, "weight_decay option is not compatible with sparse gradients"),
    (
        stepped("SGD", weight_decay=0.1),
        RuntimeError,
        r"add\(sparse, dense\) is not supported. Use add\(dense, sparse\) instead.",
    ),
    (
        lambda: looked_up(0).grad.numpy(),
        TypeError,
        r"can't convert Sparse layout tensor to numpy. Use Tensor.to_dense\(\) first.",
    ),
    (
        lambda: looked_up(0).grad.indices(),
        RuntimeError,
        "Cannot get indices on an uncoalesced tensor, please call .coalesce",
    ),
    (lambda: torch.ones(2)._values(), RuntimeError, "expected sparse coordinate tensor layout but got Strided"),
    (
        lambda: torch.optim.SparseAdam([torch.zeros(1, requires_grad=True)], lr=0.0),
        ValueError,
        "Invalid learning rate: 0.0",
    ),
    (lambda: looked_up(0).grad.exp(), NotImplementedError, "aten::exp"),
]


@pytest.mark.parametrize("act, kind, text", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_there_says_so(act, kind, text):
    with pytest.raises(kind, match=text):
        act()


def test_sparse_adam_wants_sparse_gradients():
    w = torch.zeros(1, requires_grad=True)
    w.grad = torch.ones(1)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        torch.optim.SparseAdam([w]).step()
