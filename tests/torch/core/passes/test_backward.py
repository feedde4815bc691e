"""`backward` and `grad`: what they compute, keep, free and refuse."""

import pytest

from autograph_cli import torch


def leaf(*values, dtype=None):
    return torch.tensor(list(values), dtype=dtype or torch.float64).requires_grad_()


def scalar(value):
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def test_a_given_gradient_is_not_changed_by_later_accumulation():
    x, given = leaf(1.0, 2.0), torch.ones(2, dtype=torch.float64)
    x.backward(given)
    (x * 2).sum().backward()
    assert given.tolist() == [1.0, 1.0] and x.grad.tolist() == [3.0, 3.0]


def test_what_others_hold_is_not_taken_for_grad():
    kept, given, (x, y) = [], torch.ones(3, dtype=torch.float64), (leaf(1.0, 2.0, 3.0) for _ in range(2))
    product = x * y
    product.register_hook(kept.append)
    x.register_hook(kept.append)
    product.register_hook(lambda g: given)
    (product + y.exp() + y + y).backward(torch.full((3,), 2.0, dtype=torch.float64))
    shown = [t.tolist() for t in (*kept, given)]
    for t in (x, y):
        t.grad.add_(100)
    assert [t.tolist() for t in (*kept, given)] == shown == [[2.0] * 3, [1.0, 2.0, 3.0], [1.0] * 3]


def test_a_tensor_to_which_many_lead_gets_their_sum_in_order():
    x, parts = leaf(1.0, 2.0), []
    shared = x.sin()
    shared.retain_grad()
    views = [shared.clone() for _ in range(5)]
    for i, view in enumerate(views):
        view.register_hook(parts.append)
        views[i] = view * (i + 0.1)
    sum(views).sum().backward(retain_graph=True)
    first = shared.grad.clone()
    expected = parts[0]
    for part in parts[1:]:
        expected = expected + part
    assert torch.equal(first, expected) and [p[0].item() for p in parts] == [4.1, 3.1, 2.1, 1.1, 0.1]


def test_the_same_input_may_be_named_twice():
    x = scalar(3.0)
    assert [g.item() for g in torch.autograd.grad(x * x, [x, x])] == [6.0, 6.0]


def test_several_roots_add_up():
    x = scalar(3.0)
    y, z = x * 2, x * x
    assert torch.autograd.grad([y, z], x, retain_graph=True)[0].item() == 8.0
    assert torch.autograd.grad([y * 1, z * 1], x, [torch.tensor(10.0, dtype=torch.float64), None])[0].item() == 26.0


def test_backward_into_a_middle_tensor():
    x = scalar(2.0)
    y = x * x
    y.retain_grad()
    (y * 3).backward(inputs=[y])
    assert y.grad.item() == 3.0 and x.grad is None


@pytest.mark.parametrize("order, expected", [(1, 80.0), (2, 160.0), (3, 240.0), (4, 240.0), (5, 120.0), (6, 0.0)])
def test_create_graph_to_any_order(order, expected):
    x = scalar(2.0)
    y = x**5
    for _ in range(order):
        (y,) = torch.autograd.grad(y, x, create_graph=True) if y.requires_grad else (torch.zeros(()),)
    assert y.item() == expected


def test_retain_graph_keeps_it():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_no_graph_is_recorded_while_a_plain_backward_runs():
    x, modes = scalar(2.0), []
    y = x * x
    y.register_hook(lambda g: modes.append((torch.is_grad_enabled(), g.requires_grad)))
    y.backward(retain_graph=True)
    y.backward(create_graph=True)
    # The cotangent of a root is a constant, also when the walk is recorded.
    assert modes == [(False, False), (True, False)]


def test_the_mode_survives_an_exception_in_a_hook():
    x = scalar(2.0)
    y = x * x

    def fail(g):
        raise ValueError("no")

    y.register_hook(fail)
    with pytest.raises(ValueError, match="no"):
        y.backward()
    assert torch.is_grad_enabled()


def test_backward_inside_a_hook():
    x, y = scalar(3.0), scalar(5.0)
    z = x * x
    z.register_hook(lambda g: (y * y).backward() if torch.is_grad_enabled() else None)
    with torch.enable_grad():
        z.backward(create_graph=True)
    assert y.grad.item() == 10.0 and x.grad.item() == 6.0


def test_gradients_take_the_dtype_and_shape_of_their_leaf():
    a = torch.ones(3, dtype=torch.float32, requires_grad=True)
    b = torch.ones(2, 1, dtype=torch.float64, requires_grad=True)
    c = torch.tensor(2.0, dtype=torch.float16, requires_grad=True)
    (a * b * c).sum().backward()
    assert [(t.grad.dtype, tuple(t.grad.shape)) for t in (a, b, c)] == [
        (torch.float32, (3,)),
        (torch.float64, (2, 1)),
        (torch.float16, ()),
    ]


def test_a_result_without_gradient_stops_there():
    x = leaf(1.0, 2.0)
    y = x * (x > 1.5)
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_an_unused_output_of_several_counts_as_zero():
    x = leaf(1.0, 2.0, 3.0)
    first, _second, third = x.unbind()
    (first * third).backward()
    assert x.grad.tolist() == [3.0, 0.0, 1.0]


def test_detached_and_no_grad_results_lead_nowhere():
    x = scalar(2.0)
    with torch.no_grad():
        y = x * x
    assert not y.requires_grad and not x.detach().requires_grad
    assert torch.autograd.grad(x * x.detach(), x)[0].item() == 2.0


def test_nothing_keeps_the_graph_alive_after_its_tensors():
    import gc
    import weakref

    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = (x.exp() * x).sum()
        watched = weakref.ref(y.grad_fn)
        y.backward()
        del y
        assert watched() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_a_gradient_of_the_wrong_shape_is_told_with_its_own_index(wrong, create_graph):
    class Three(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            return args[0] + args[1] + args[2]

        @staticmethod
        def backward(ctx, grad):
            return tuple(torch.ones(5) if i == wrong else grad for i in range(3))

    x = torch.ones(2, requires_grad=True)
    message = rf"Function ThreeBackward returned an invalid gradient at index {wrong} - got \[5\] but expected shape compatible with \[2\]"
    with pytest.raises(RuntimeError, match=message):
        Three.apply(x, x * 2, x).sum().backward(create_graph=create_graph)


def test_anomaly_mode_is_told_at_the_top_of_the_namespace():
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (True, False)
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (False, True)


def test_nodes_run_when_all_their_gradients_have_come_whatever_their_numbers_say() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    h = x * 2
    y = h.sin() * h
    h.grad_fn._set_sequence_nr(10**9)
    y.backward()
    expected = x.grad
    x.grad = None
    h = x * 2
    (h.sin() * h).backward()
    assert expected is not None and torch.equal(expected, x.grad)
