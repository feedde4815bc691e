"""gradcheck and gradgradcheck: what they accept, what they find, in PyTorch's words."""

import itertools

import pytest

from autograph_cli import torch
from autograph_cli.torch.autograd import gradcheck, gradgradcheck
from autograph_cli.torch.autograd.function import Function


def squares(backward, **settings):
    """x * x with a given backward."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.set_materialize_grads(settings.get("materialize", True))
        return x * x

    return type("My", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply


def right(ctx, g):
    return g * 2 * ctx.saved_tensors[0]


def wrong(ctx, g):
    return g * 3 * ctx.saved_tensors[0]


good, bad = squares(right), squares(wrong)


@pytest.fixture
def x():
    return torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)


@pytest.fixture
def y():
    return torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        good,
        lambda x: x * 2,
        lambda x: x.sum(),
        lambda x: (x * 2, x.detach()),
        lambda x: (x.exp(), x.sin()),
        lambda x: torch.ones(2),
    ],
)
def test_right_derivatives_pass(x, function, fast_mode):
    assert gradcheck(function, x, fast_mode=fast_mode)


def test_inputs_may_be_a_tensor_a_tuple_or_a_list_with_other_things(x, y):
    assert gradcheck(good, (x,)) and gradcheck(good, [x])
    assert gradcheck(lambda a, k: a * k, (x, 3))
    assert gradcheck(lambda a, b: a * 2, (x, y))


@pytest.mark.parametrize("shape", [(), (0,), (2, 1)])
def test_every_shape_is_checked(shape):
    x = torch.full(shape, 2.0, dtype=torch.float64, requires_grad=True)
    assert gradcheck(good, x) and gradgradcheck(good, x)
    assert gradcheck(good, x.clone())


def test_inputs_are_left_as_they_were(x):
    before = x.tolist()
    gradcheck(good, x)
    assert x.tolist() == before and x.grad is None


def test_a_mismatch_shows_both_jacobians(x):
    with pytest.raises(RuntimeError) as raised:
        gradcheck(bad, x)
    assert type(raised.value).__name__ == "GradcheckError"
    assert str(raised.value) == (
        "Jacobian mismatch for output 0 with respect to input 0,\n"
        "numerical:tensor([[2.0000, 0.0000],\n        [0.0000, 4.0000]], dtype=torch.float64)\n"
        "analytical:tensor([[3., 0.],\n        [0., 6.]], dtype=torch.float64)\n"
    )


def test_a_mismatch_names_its_output_and_input(x, y):
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 1 with respect to input 1,"):
        gradcheck(lambda a, b: (a * b, bad(b)), (x, y))


def test_a_mismatch_can_be_an_answer(x):
    assert gradcheck(bad, x, raise_exception=False) is False
    assert gradgradcheck(bad, x, raise_exception=False) is True


def test_fast_mode_finds_a_mismatch(x):
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0,"):
        gradcheck(bad, x, fast_mode=True)


def test_tolerances_are_the_callers(x):
    slightly = squares(lambda ctx, g: g * 2.01 * ctx.saved_tensors[0])
    assert not gradcheck(slightly, x, raise_exception=False)
    assert gradcheck(slightly, x, rtol=0.1) and gradcheck(slightly, x, atol=0.1)


def test_no_input_that_requires_grad_is_an_error(x):
    with pytest.raises(
        ValueError, match="gradcheck expects at least one input tensor to require gradient, but none of them"
    ):
        gradcheck(good, x.detach())


def test_a_detached_function_of_the_input_is_found(x):
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda a: a.detach() * 2, x)


def test_a_backward_without_grad_output_is_found(x):
    one = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        gradcheck(squares(lambda ctx, g: 2 * ctx.saved_tensors[0]), one)


def test_a_backward_that_changes_is_found(x):
    count = itertools.count()
    restless = squares(lambda ctx, g: g * 2 * ctx.saved_tensors[0] + next(count) * 1e-9 * g)
    with pytest.raises(
        RuntimeError, match=r"Backward is not reentrant, i.e., running backward with same input and grad_output"
    ):
        gradcheck(restless, x)
    assert gradcheck(restless, x, nondet_tol=1e-3)


def test_a_gradient_out_of_nothing_is_found(x):
    def backward(ctx, g):
        return torch.ones(2, dtype=torch.float64) if g is None else right(ctx, g)

    inventive = squares(backward, materialize=False)
    with pytest.raises(
        RuntimeError, match="Expected all input grads to be undefined or zero when all output grads are undefined"
    ):
        gradcheck(inventive, x)
    assert gradcheck(inventive, x, check_undefined_grad=False)


def test_a_backward_that_cannot_take_undefined_gradients_is_found(x):
    def backward(ctx, g):
        if g is None:
            raise RuntimeError("no gradient")
        return right(ctx, g)

    with pytest.raises(RuntimeError, match="Expected backward function to handle undefined output grads"):
        gradcheck(squares(backward, materialize=False), x)


def test_single_precision_is_warned_of():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(
        UserWarning, match="Input #0 requires gradient and is not a double precision floating point or complex"
    ):
        assert gradcheck(good, x, eps=1e-2, atol=1e-1)


def test_overlapping_memory_is_refused(x):
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(good, x[:1].expand(3))


def test_a_function_that_changes_its_shape_is_found(x):
    calls = itertools.count()
    with pytest.raises(
        AssertionError, match=r"same shape when inputs are perturbed on index \(0,\) by 1e-06, but got: shapes"
    ):
        gradcheck(lambda a: a[:1] * 2 if next(calls) == 2 else a * 2, x)


def test_right_second_derivatives_pass(x):
    assert gradgradcheck(good, x)
    assert gradgradcheck(lambda a: a * 2, x)
    assert gradgradcheck(good, x, torch.ones(2, dtype=torch.float64))


def test_a_second_derivative_that_is_cut_is_found(x):
    def forward(ctx, x):
        ctx.x = x.detach()
        return x * x

    members = {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, g: g * 2 * ctx.x)}
    hidden = type("My", (Function,), members).apply
    assert gradcheck(hidden, x)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0,"):
        gradgradcheck(hidden, x)


def test_gradgradcheck_draws_from_the_default_generator(x):
    torch.manual_seed(0)
    gradgradcheck(good, x)
    after = torch.rand(1).item()
    torch.manual_seed(0)
    torch.empty(2, dtype=torch.float64).uniform_(-1, 1)
    assert torch.rand(1).item() == after


@pytest.fixture
def z():
    return torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize(
    "function", [lambda z: z * z, lambda z: z.abs(), lambda z: z.real * z.imag, lambda z: z * z.conj()]
)
def test_complex_functions_pass(z, function, fast_mode):
    assert gradcheck(function, z, fast_mode=fast_mode)


def test_complex_second_derivatives_pass(z):
    assert gradgradcheck(lambda z: z * z, z)


def test_a_complex_mismatch_names_the_part(z):
    with pytest.raises(
        RuntimeError, match="While considering the imaginary part of complex outputs only, Jacobian mismatch"
    ):
        gradcheck(squares(right), z)


EVERYTHING = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("function", [lambda t: t**3, lambda t: torch.softmax(t, 0) * t.norm(), lambda t: t * (1 + 2j)])
def test_forward_mode_and_batches_pass(x, function, fast):
    assert gradcheck(function, x, fast_mode=fast, **EVERYTHING)


def test_forward_mode_of_a_complex_input_passes(z):
    assert gradcheck(lambda t: t * t.abs(), z, **EVERYTHING)


def test_forward_over_backward_passes(x):
    assert gradgradcheck(lambda t: t.exp() * t, x, check_fwd_over_rev=True)


def test_a_wrong_jvp_is_found(x):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            ctx.save_for_forward(t)
            return t**3

        @staticmethod
        def backward(ctx, grad):
            return grad * 3 * ctx.saved_tensors[0] ** 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 2 * ctx.saved_tensors[0] ** 2

    assert gradcheck(Cube.apply, x)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Cube.apply, x, check_forward_ad=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"check_batched_forward_grad": True}, "check_batched_forward_grad=True requires check_forward_ad to be True"),
        (
            {"check_batched_grad": True, "check_forward_ad": True, "check_backward_ad": False},
            "check_batched_grad=True requires check_backward_ad to be True",
        ),
    ],
)
def test_options_that_need_another_are_told(x, options, message):
    with pytest.raises(AssertionError, match=message):
        gradcheck(good, x, **options)


def test_something_must_be_checked(x):
    with pytest.raises(
        AssertionError, match="Expected at least one of check_forward_ad or check_backward_ad to be True"
    ):
        gradcheck(good, x, check_backward_ad=False)
