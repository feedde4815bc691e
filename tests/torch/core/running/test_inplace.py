"""In-place changes: memory, versions, history, and what saved tensors say about them."""

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.running import inplace
from tests.cases import for_each

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def leaf(*values):
    return torch.tensor(list(values), dtype=torch.float64).requires_grad_()


def test_a_change_keeps_the_tensor_and_counts():
    x = torch.ones(3)
    same = x.add_(1)
    assert same is x and x._version == 1 and x.tolist() == [2.0] * 3
    x *= 2
    x[0] = 7
    assert x._version == 3 and x.tolist() == [7.0, 4.0, 4.0]


def test_augmented_assignment_changes_in_place():
    x = y = torch.ones(2)
    x += 1
    x -= 3
    x *= 4
    x /= 2
    x **= 2
    assert y.tolist() == [4.0, 4.0] and y is x


@pytest.mark.parametrize("change", ["x.mul_(y)", "x.add_(2)", "x[0].mul_(y[1])", "x.sigmoid_()", "x.div_(y).sub_(1)"])
def test_plain_arrays_change_as_all_others_do(change, monkeypatch):
    def run():
        torch.manual_seed(0)
        w, y = torch.randn(3, 4).requires_grad_(), torch.randn(3, 4).requires_grad_()
        x = w * 2
        eval(change, {"x": x, "y": y})
        (x * x).sum().backward()
        nodes, following = [], [x.grad_fn]
        while following:
            node = following.pop(0)
            nodes.append(node.name())
            following += [n for n, _ in node.next_functions if n is not None]
        return x.tolist(), x._version, nodes, w.grad.tolist(), None if y.grad is None else y.grad.tolist()

    straight = run()
    monkeypatch.setattr(inplace, "_plain", lambda op, args: None)
    assert run() == straight


def test_a_0d_tensor_changes_in_place_too():
    s = t = torch.tensor(2.0)
    s += 1
    s.mul_(s)
    assert t.item() == 9.0 and t is s


def test_a_number_that_was_used_once_is_not_changed_by_others():
    x = torch.ones(2)
    a, b = x * 3, x * 3
    a.mul_(10)
    assert b.tolist() == [3.0, 3.0] and (x * 3).tolist() == [3.0, 3.0]


def test_an_operand_may_be_the_target_itself():
    x = torch.tensor([1.0, 2.0, 3.0])
    x.add_(x).mul_(x)
    assert x.tolist() == [4.0, 16.0, 36.0]


SAVED = {
    "the input of mul": lambda x, y: (x * y, y),
    "the input of sin": lambda x, y: (y.sin() * x, y),
    "the result of exp": lambda x, y: ((z := (x * y).exp()), z),
    "the result of sigmoid": lambda x, y: ((z := (x * y).sigmoid()), z),
    "the factor of a matrix product": lambda x, y: (x[None] @ y[:, None], y),
    "a saved index": lambda x, y: (x[(i := torch.tensor([0, 1]))] * 1, i),
}


@pytest.mark.parametrize("what", SAVED)
def test_a_changed_saved_tensor_is_noticed(what):
    result, saved = SAVED[what](leaf(1.0, 2.0), leaf(3.0, 4.0) * 1)
    saved.add_(0)
    with pytest.raises(RuntimeError, match=MODIFIED):
        result.sum().backward()


def test_the_message_names_versions_and_the_operation():
    y = leaf(1.0, 2.0) * 1
    z = y.exp()
    z.mul_(2)
    with pytest.raises(
        RuntimeError,
        match=r"\[torch.DoubleTensor \[2\]\], which is output 0 of Exp, is at version 1; expected version 0 instead",
    ):
        z.sum().backward()


@pytest.mark.parametrize(
    "change",
    [
        lambda y: y.mul_(2),
        lambda y: y.add_(1),
        lambda y: y.neg_(),
        lambda y: y.zero_(),
        lambda y: y.fill_(3),
    ],
)
def test_what_was_not_saved_may_change(change):
    x = leaf(1.0, 2.0)
    y = x + 1
    z = y * 3
    change(y)
    z.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_the_old_value_is_saved_where_the_formula_needs_it():
    x = leaf(1.0, 2.0)
    y = x * 1
    y.pow_(3)
    y.sin_()
    y.sum().backward()
    expected = 3 * x.detach() ** 2 * (x.detach() ** 3).cos()
    assert torch.allclose(x.grad, expected)


def test_the_history_of_a_changed_tensor_is_the_change():
    y = leaf(1.0) * 2
    before = y.grad_fn
    y.add_(1)
    assert y.grad_fn.name() == "AddBackward0" and y.grad_fn.next_functions[0][0] is before


def test_a_constant_becomes_part_of_the_graph():
    x, y = leaf(1.0, 2.0), torch.ones(2, dtype=torch.float64)
    y.mul_(x)
    assert y.requires_grad and not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_zero_and_fill_cut_the_history():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_a_detached_alias_counts_with_its_source():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y * y
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()


def test_data_changes_unseen():
    x = leaf(1.0, 2.0)
    y = x * x
    x.data.mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 40.0]


def test_leaves_change_under_no_grad():
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        x -= 0.5
    assert x.tolist() == [0.5, 1.5] and x.is_leaf and x.requires_grad


REFUSED = {
    "a leaf Variable that requires grad is being used in an in-place operation": lambda x: x.add_(1),
    "result type Float can't be cast to the desired output type Long": lambda x: torch.ones(2, dtype=torch.long).mul_(
        1.5
    ),
    r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]": lambda x: torch.ones(2).add_(
        torch.ones(3, 2)
    ),
    "result type ComplexFloat can't be cast": lambda x: torch.ones(2).add_(1j),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(RuntimeError, match=message):
        REFUSED[message](leaf(1.0, 2.0))


def test_a_refused_change_leaves_no_trace():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError):
        x.mul_(2)
    assert x.tolist() == [1.0, 2.0] and x._version == 0


@for_each(
    "name, args",
    [
        ("add", (2,)), ("sub", (2,)), ("mul", (2,)), ("div", (2,)), ("pow", (2,)), ("remainder", (2,)),
        ("floor_divide", (2,)), ("exp", ()), ("log", ()), ("sqrt", ()), ("rsqrt", ()), ("sin", ()), ("cos", ()),
        ("tan", ()), ("tanh", ()), ("sigmoid", ()), ("relu", ()), ("abs", ()), ("neg", ()), ("floor", ()),
        ("ceil", ()), ("round", ()), ("trunc", ()), ("sign", ()), ("reciprocal", ()), ("clamp", (0.5, 1.5)),
        ("fmod", (1,)), ("square", ()), ("sinh", ()), ("cosh", ()), ("log1p", ()), ("expm1", ()), ("atan", ()),
        ("log2", ()), ("log10", ()), ("exp2", ()), ("frac", ()),
    ],
)  # fmt: skip
def test_the_twin_in_place_computes_the_same(name, args):
    x = torch.tensor([0.25, 1.0, 2.75])
    expected = getattr(x, name)(*args)
    y = x.clone()
    assert getattr(y, name + "_")(*args) is y
    assert y.tolist() == expected.tolist()
