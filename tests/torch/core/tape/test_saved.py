"""What nodes save: names, versions, hooks on saved tensors, and what is let go."""

import pytest

from autograph_cli import torch


def leaf(*values):
    return torch.tensor(list(values), dtype=torch.float64).requires_grad_()


SAVED = {
    "x * y": {"_saved_self": "x", "_saved_other": "y"},
    "x * 2": {"_saved_self": None, "_saved_other": 2.0},
    "x.exp()": {"_saved_result": "result"},
    "x.sin()": {"_saved_self": "x"},
    "x ** 3": {"_saved_self": "x", "_saved_exponent": 3},
    "x.sum()": {"_saved_self_sym_sizes": (2,)},
    "x.sum(0, keepdim=True)": {"_saved_self_sym_sizes": (2,), "_saved_dim": (0,), "_saved_keepdim": True},
    "x.add(y, alpha=2)": {"_saved_alpha": 2},
    "x[1]": {"_saved_self_sym_sizes": (2,), "_saved_dim": 0, "_saved_index": 1},
    "x.view(2, 1)": {"_saved_self_sym_sizes": (2,)},
    "x.unsqueeze(1)": {"_saved_dim": 1},
    "torch.where(x > 1, x, y)": {"_saved_condition": [False, True]},
    "x.tanh()": {"_saved_result": "result"},
    "x.softmax(0)": {"_saved_result": "result", "_saved_dim": 0},
    "x.masked_fill(x > 1, 0.)": {"_saved_mask": [False, True]},
}


@pytest.mark.parametrize("code", SAVED)
def test_a_node_tells_what_it_saved(code):
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    scope = {"x": x, "y": y, "torch": torch}
    scope["result"] = eval(code, scope)
    for name, want in SAVED[code].items():
        got = getattr(scope["result"].grad_fn, name)
        if isinstance(want, str):
            assert got.tolist() == scope[want].tolist() and (want == "result" or got is scope[want])
        elif isinstance(want, (list, float)):
            assert got.tolist() == want
        else:
            assert got == want


def test_a_saved_result_has_the_history_of_the_result():
    y = leaf(1.0, 2.0).exp()
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn


def test_plain_numbers_survive():
    y = leaf(1.0, 2.0).sum()
    y.backward()
    assert y.grad_fn._saved_self_sym_sizes == (2,)


def test_a_saved_tensor_keeps_its_history_when_the_variable_moves_on():
    x = leaf(2.0)
    y = x * 3
    z = y * y
    old = y.grad_fn
    y = y + 1
    assert z.grad_fn._saved_self.grad_fn is old


def test_packing_may_move_data_elsewhere_also_for_create_graph():
    store = {}

    def pack(t):
        store[len(store)] = t.detach().clone()
        return len(store) - 1

    x = leaf(2.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, store.__getitem__):
        y = (x.exp() * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    e = x.detach().exp()
    assert torch.allclose(g, 3 * e) and torch.allclose(h, 4 * e)
