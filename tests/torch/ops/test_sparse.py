"""Sparse tensors by coordinates and row by row, held against what PyTorch makes of them (record_sparse.py)."""

import json

import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_sparse import EXPECTED, outcome, rows

RECORDED = json.loads(EXPECTED.read_text())


def test_every_row_is_recorded():
    assert list(RECORDED) == list(dict.fromkeys(rows()))


@for_each("text", RECORDED)
def test_it_is_as_in_pytorch(text):
    found, wanted = outcome(torch, text), RECORDED[text]
    grads, wanted_grads = found.pop("grads", None), wanted.get("grads")
    if wanted_grads is not None:
        assert [g is None for g in grads] == [g is None for g in wanted_grads]
        for got, slope in zip(grads, wanted_grads, strict=True):
            assert slope is None or torch.allclose(torch.tensor(got), torch.tensor(slope), rtol=1e-5, atol=1e-7)
    assert json.loads(json.dumps(found)) == {name: told for name, told in wanted.items() if name != "grads"}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.sparse_coo_tensor([[0, 3]], [1.0, 2.0], (3,)), "for dim 0, size is 3 but found index 3"),
        (lambda: torch.sparse_coo_tensor([[0, -1]], [1.0, 2.0]), "found negative index -1 for dim 0"),
        (lambda: torch.sparse_coo_tensor([0, 1], [1.0, 2.0]), r"indices must be sparse_dim x nnz, but got: \[2\]"),
        (lambda: torch.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0], (2, 2)), "crow_indices must begin with 0"),
        (lambda: torch.sparse_csr_tensor([0, 1], [0, 1], [1.0, 2.0], (2, 2)), r"nrows \+ 1 = 3, but got 2"),
        (lambda: torch.sparse_csr_tensor([0, 1, 2], [0, 5], [1.0, 2.0], (2, 2)), "0 <= col_indices < ncols"),
        (
            lambda: torch.eye(2).to_sparse().exp(),
            "Could not run 'aten::exp' with arguments from the 'SparseCPU' backend",
        ),
        (lambda: torch.eye(2).to_sparse_csr().cumsum(0), "'aten::cumsum' with arguments from the 'SparseCsrCPU'"),
        (lambda: torch.ones_like(torch.eye(2).to_sparse()), "would be dense"),
    ],
)
def test_what_does_not_fit_or_is_not_there_is_named(call, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((RuntimeError, NotImplementedError), match=text):
        call()


def test_a_graph_network_learns():
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 1, 2, 2, 3, 0, 1, 2, 3], [1, 0, 2, 1, 3, 2, 0, 1, 2, 3]])
    degree = torch.zeros(4).index_add(0, edges[0], torch.ones(10))
    adjacency = torch.sparse_coo_tensor(edges, (degree[edges[0]] * degree[edges[1]]).rsqrt(), (4, 4))
    features, labels = torch.eye(4), torch.tensor([0, 0, 1, 1])
    first, second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.05)
    losses = []
    for _ in range(60):
        hidden = torch.sparse.mm(adjacency, first(features)).relu()
        loss = torch.nn.functional.cross_entropy(adjacency @ second(hidden), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    dense = torch.nn.functional.cross_entropy(
        adjacency.to_dense() @ second((adjacency.to_dense() @ first(features)).relu()), labels
    )
    assert losses[-1] < 0.05 < losses[0] and dense.item() < 0.05


def test_a_sparse_leaf_gets_a_sparse_gradient():
    leaf = torch.eye(2).to_sparse().requires_grad_()
    torch.sparse.mm(leaf, torch.ones(2, 2)).sum().backward()
    torch.sparse.mm(leaf, torch.ones(2, 2)).sum().backward()
    assert leaf.grad.is_sparse and leaf.grad.to_dense().tolist() == [[4.0, 0.0], [0.0, 4.0]]


def test_second_derivatives_are_right_or_refused():
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    s = torch.sparse_coo_tensor([[0, 1], [1, 0]], v, (2, 2))
    (slope,) = torch.autograd.grad((s.to_dense() ** 3).sum(), v, create_graph=True)
    assert torch.autograd.grad(slope.sum(), v)[0].tolist() == [18.0, 24.0]
    s = torch.sparse_coo_tensor([[0, 1], [1, 0]], v, (2, 2))
    (slope,) = torch.autograd.grad(torch.sparse.softmax(s, 1).to_dense().pow(2).sum(), v, create_graph=True)
    with pytest.raises(RuntimeError, match="_sparse_softmax_backward is not implemented"):
        slope.sum().backward()
