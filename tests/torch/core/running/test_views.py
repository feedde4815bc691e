"""Views: shared memory, shared versions, and histories that follow in-place changes."""

import pytest
from hypothesis import given, settings, strategies as st

from autograph_cli import torch

VIEWS = {
    "x[1]": lambda x: x[1],
    "x[:, 1:]": lambda x: x[:, 1:],
    "x[..., ::2]": lambda x: x[..., ::2],
    "x[None]": lambda x: x[None],
    "x.t()": lambda x: x.t(),
    "x.view": lambda x: x.view(3, 4),
    "x.reshape": lambda x: x.reshape(2, 6),
    "x.permute": lambda x: x.permute(1, 0),
    "x.unsqueeze": lambda x: x.unsqueeze(1),
    "x.squeeze": lambda x: x[:1].squeeze(0),
    "x.diagonal": lambda x: x.diagonal(1),
    "x.narrow": lambda x: x.narrow(1, 1, 2),
    "x.expand": lambda x: x[:, :1].expand(4, 3),
    "x.split": lambda x: x.split(2)[1],
    "x.unbind": lambda x: x.unbind(1)[2],
    "x.as_strided": lambda x: x.as_strided((2, 2), (3, 1), 1),
    "x.detach": lambda x: x.detach(),
    "x.view_as": lambda x: x.view_as(x),
}


def numbers(*shape):
    n = 1
    for length in shape:
        n *= length
    return torch.arange(1, n + 1).double().view(*shape)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_memory_and_version_with_its_base(name):
    x = numbers(4, 3)
    v = VIEWS[name](x)
    before = v._version
    x.mul_(2)
    assert v._version == before + 1 == x._version
    expected = VIEWS[name](numbers(4, 3) * 2)
    assert v.tolist() == expected.tolist()


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("x.expand", "x.detach")])
def test_writing_to_a_view_writes_to_its_base(name):
    x = numbers(4, 3)
    v = VIEWS[name](x)
    v.zero_()
    assert x.sum().item() < 78.0 and v.sum().item() == 0.0 and x._version == 1


@pytest.mark.parametrize("name", [n for n in VIEWS if n != "x.detach"])
def test_the_gradient_of_a_view_equals_that_of_a_copy(name):
    def gradient(copy):
        x = numbers(4, 3).requires_grad_()
        v = VIEWS[name](x)
        v = v.clone() if copy else v
        return torch.autograd.grad((v * v).sum(), x)[0]

    assert gradient(False).tolist() == gradient(True).tolist()


def test_data_shares_memory_but_not_the_version():
    x = numbers(2, 2)
    x.data.mul_(3)
    assert x[0, 0].item() == 3.0 and x._version == 0


def test_the_base_of_a_view_of_a_view_is_the_first_tensor():
    x = torch.ones(4, 3)
    assert x[1:][0]._base is x and x._base is None


def test_a_0d_tensor_can_be_viewed():
    s = torch.tensor(2.0, dtype=torch.float64)
    v = s.view(1)
    v.mul_(5)
    assert s.item() == 10.0
    s.add_(1)
    assert v.tolist() == [11.0]


def test_an_expanded_tensor_is_written_once_per_place():
    x = torch.zeros(3)
    y = x.expand(2, 3)
    x.add_(1)
    assert y.tolist() == [[1.0] * 3] * 2


def test_a_base_changed_through_a_view_gets_copy_slices():
    x = numbers(2, 3).requires_grad_()
    y = x * 1
    y[0].mul_(2)
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    (g,) = torch.autograd.grad((y * y).sum(), x)
    assert g.tolist() == [[8.0, 16.0, 24.0], [8.0, 10.0, 12.0]]


def test_a_view_of_a_changed_base_follows_it():
    x = numbers(2, 3).requires_grad_()
    y = x * 1
    v = y[1]
    y.mul_(3)
    assert v.grad_fn.name() == "AsStridedBackward0"
    assert torch.autograd.grad(v.sum(), x)[0].tolist() == [[0.0] * 3, [3.0] * 3]


def test_views_and_their_base_change_in_turns():
    x = numbers(3).requires_grad_()
    y = x * 1
    a, b = y[:2], y[1:]
    a.mul_(2)
    b.mul_(3)
    a.add_(b * 1)
    assert y.tolist() == [2 + 12.0, 12 + 9.0, 9.0]
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [2.0, 12.0, 6.0]


def test_a_constant_base_takes_a_gradient_in():
    w = numbers(3).requires_grad_()
    y = torch.zeros(2, 3, dtype=torch.float64)
    v = y[0]
    v.copy_(w * 2)
    assert y.requires_grad and torch.autograd.grad(y.sum(), w)[0].tolist() == [2.0] * 3


REFUSED = {
    "a view of a leaf Variable that requires grad is being used in an in-place operation": lambda x: x[0].mul_(2),
    "is a view and is being modified inplace": lambda x: (x * 1).unbind(0)[0].mul_(2),
    "Can't detach views in-place": lambda x: (x * 1)[0].detach_(),
    "view size is not compatible": lambda x: x.t().view(6),
    "is invalid for input of size 6": lambda x: x.view(4),
    "only one dimension can be inferred": lambda x: x.view(-1, -1),
    "must match the existing size": lambda x: x.expand(4, 3),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(RuntimeError, match=message):
        REFUSED[message](numbers(2, 3).requires_grad_())


def test_a_view_made_without_grad_refuses_a_recorded_change():
    x = numbers(2, 3).requires_grad_()
    y = x * 1
    with torch.no_grad():
        v = y[0]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        v.mul_(2)


# ---------------------------------------------------------------- chains of views

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("select"), st.integers(0, 2), st.integers(0, 1)),
        st.tuples(st.just("slice"), st.integers(0, 2), st.integers(0, 2), st.integers(1, 2)),
        st.tuples(st.just("transpose"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("unsqueeze"), st.integers(0, 2)),
        st.tuples(st.just("flatten")),
        st.tuples(st.just("diagonal"), st.integers(-1, 1)),
    ),
    max_size=5,
)


def apply(t, step):
    """One step of a chain, where it is possible."""
    kind, *args = step
    n = t.dim()
    if kind == "unsqueeze":
        return t.unsqueeze(min(args[0], n))
    if kind == "flatten":
        return t.flatten()
    if kind == "diagonal":
        return t.diagonal(args[0]) if n >= 2 and min(t.shape[:2]) > 1 else t
    if not n:
        return t
    d = args[0] % n
    if kind == "transpose":
        return t.transpose(d, args[1] % n)
    if kind == "select":
        return t.select(d, args[1] % t.shape[d]) if n > 1 else t
    start = args[1] % t.shape[d]
    return t[(slice(None),) * d + (slice(start, None, args[2]),)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(STEPS, st.booleans())
def test_a_chain_of_views_is_a_window_and_has_the_gradient_of_the_copies(steps, write):
    def run(copy):
        x = numbers(2, 3, 4).requires_grad_()
        base = x * 1
        t = base
        for step in steps:
            moved = apply(t, step)
            t = moved.clone() if copy else moved
        changes = write and t._base is base
        if changes and not copy:
            t.mul_(2)
        return x, base, t, changes

    x, base, view, changed = run(copy=False)
    y, _, copied, _ = run(copy=True)
    factor = 2 if changed else 1
    assert view.tolist() == (copied * factor).tolist()
    weights = torch.arange(1, view.numel() + 1).double().view(view.shape)
    g = torch.autograd.grad((view * weights).sum(), x, retain_graph=True)[0]
    h = torch.autograd.grad((copied * weights).sum() * factor, y)[0]
    assert g.tolist() == h.tolist()
    # Through the base every element counts, and those in the window count `factor` times.
    total = torch.autograd.grad(base.sum(), x)[0].sum().item()
    assert total == 24 + (factor - 1) * view.numel()


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("wanted", [0, 1])
def test_a_change_of_a_view_computes_the_gradients_that_are_asked_for_only(wanted, recorded):
    ran = []

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a.clone()

        @staticmethod
        def backward(ctx, grad):
            ran.append("other")
            return grad

    leaves = torch.ones(2, 3, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
    y = leaves[0] * 1
    y[:, 1:] *= Times.apply(leaves[1]).unsqueeze(1).expand(2, 2)
    (g,) = torch.autograd.grad(y.sum(), leaves[wanted], create_graph=recorded)
    assert g.tolist() == ([[1.0, 3.0, 3.0]] * 2, [2.0, 2.0])[wanted]
    assert ran == ["other"] * wanted


def test_a_function_on_a_view_that_returns_no_gradient_leaves_none_as_pytorch_does():
    class Lost(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return None

    w = torch.ones(2, 3, requires_grad=True)
    y = w * 1
    Lost.apply(y[:, 1:])
    assert torch.autograd.grad(y.sum(), w, allow_unused=True) == (None,)
