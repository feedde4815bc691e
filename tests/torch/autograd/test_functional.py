"""jacobian, hessian and their products with vectors."""

import pytest

from autograph_cli import torch
from autograph_cli.torch.autograd import functional

X, Y = [1.0, 2.0], [3.0, 4.0]


@pytest.fixture
def x():
    return torch.tensor(X)


@pytest.fixture
def y():
    return torch.tensor(Y)


def values(found):
    return tuple(values(f) for f in found) if isinstance(found, tuple) else found.tolist()


def cubes(a):
    return (a**3).sum()


def test_jacobian_has_output_shape_then_input_shape(x):
    assert values(functional.jacobian(lambda a: a**2, x)) == [[2.0, 0.0], [0.0, 4.0]]
    assert values(functional.jacobian(lambda a: a.sum(), x)) == [1.0, 1.0]
    assert functional.jacobian(lambda a: a * 2, torch.ones(2, 3)).shape == (2, 3, 2, 3)


def test_jacobian_nests_tuples_by_output_then_input(x, y):
    by_a, by_b = [[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]]
    assert values(functional.jacobian(lambda a, b: a * b, (x, y))) == (by_a, by_b)
    nested = functional.jacobian(lambda a, b: (a * b, a.sum()), (x, y))
    assert values(nested) == ((by_a, by_b), ([1.0, 1.0], [0.0, 0.0]))


def test_hessian_has_the_input_shape_twice(x):
    assert values(functional.hessian(cubes, x)) == [[6.0, 0.0], [0.0, 12.0]]


def test_hessian_nests_tuples(x, y):
    found = functional.hessian(lambda a, b: (a**2 * b).sum(), (x, y))
    assert values(found) == (
        ([[6.0, 0.0], [0.0, 8.0]], [[2.0, 0.0], [0.0, 4.0]]),
        ([[2.0, 0.0], [0.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]),
    )


@pytest.mark.parametrize("product", ["vjp", "jvp"])
def test_products_with_the_jacobian(x, product):
    output, found = getattr(functional, product)(lambda a: a**2, x, torch.tensor([1.0, 10.0]))
    assert (values(output), values(found)) == ([1.0, 4.0], [2.0, 40.0])
    assert not output.requires_grad and not found.requires_grad


@pytest.mark.parametrize("product", ["vhp", "hvp"])
def test_products_with_the_hessian(x, product):
    output, found = getattr(functional, product)(cubes, x, torch.tensor([1.0, 10.0]))
    assert (values(output), values(found)) == (9.0, [6.0, 120.0])


def test_the_two_sides_of_a_jacobian_differ(x, y):
    def function(a, b):
        return a * b, a.sum()

    assert values(functional.vjp(function, (x, y), (torch.ones(2), torch.tensor(2.0)))[1]) == ([5.0, 6.0], [1.0, 2.0])
    assert values(functional.jvp(function, (x, y), (x, y))[1]) == ([6.0, 16.0], 3.0)


def test_one_element_needs_no_vector():
    one = torch.tensor(2.0)
    for product in (functional.vjp, functional.jvp):
        assert values(product(lambda a: a**2, one)[1]) == 4.0
    for product in (functional.vhp, functional.hvp):
        assert values(product(lambda a: a**3, one)[1]) == 12.0


def test_create_graph_leads_back_to_the_users_tensor():
    x = torch.tensor(X, requires_grad=True)
    found = functional.jacobian(lambda a: a**2, x, create_graph=True)
    assert torch.autograd.grad(found.sum(), x)[0].tolist() == [2.0, 2.0]
    found = functional.hessian(cubes, x, create_graph=True)
    assert torch.autograd.grad(found.sum(), x)[0].tolist() == [6.0, 6.0]
    found = functional.hvp(cubes, x, torch.ones(2), create_graph=True)[1]
    assert torch.autograd.grad(found.sum(), x)[0].tolist() == [6.0, 6.0]


def test_derivatives_are_taken_inside_no_grad_too(x):
    with torch.no_grad():
        assert values(functional.jacobian(lambda a: a**2, x)) == [[2.0, 0.0], [0.0, 4.0]]
        assert values(functional.hvp(cubes, x, x)[1]) == [6.0, 24.0]


def test_the_users_tensors_keep_no_gradient():
    x = torch.tensor(X, requires_grad=True)
    functional.jacobian(lambda a: a**2, x)
    assert x.grad is None


VECTOR = "The vector v can only be None if the "
CASES = [
    (
        lambda x, y: functional.jacobian(lambda a: 3, x),
        TypeError,
        "The outputs of the user-provided function given to jacobian must be",
    ),
    (
        lambda x, y: functional.jacobian(lambda a: a, (x, 3)),
        TypeError,
        "but the value at index 1 has type <class 'int'>",
    ),
    (
        lambda x, y: functional.jacobian(lambda a: a.detach() * 2, x, strict=True),
        RuntimeError,
        "Output 0 of the user-provided function does not require gradients.",
    ),
    (
        lambda x, y: functional.jacobian(lambda a, b: a * 2, (x, y), strict=True),
        RuntimeError,
        "Output 0 of the user-provided function is independent of input 1.",
    ),
    (
        lambda x, y: functional.hessian(lambda a: a * 2, x),
        RuntimeError,
        "The Tensor returned by the function given to hessian should contain a single",
    ),
    (
        lambda x, y: functional.hessian(lambda a: (a.sum(),), x),
        RuntimeError,
        "The function given to hessian should return a single Tensor",
    ),
    (
        lambda x, y: functional.hessian(lambda a: (a * 2).sum(), x, strict=True),
        RuntimeError,
        "found that the jacobian of the user-provided function with respect to input 0 is independent of the input",
    ),
    (
        lambda x, y: functional.vjp(lambda a: a**2, x),
        RuntimeError,
        VECTOR + "user-provided function returns a single Tensor",
    ),
    (
        lambda x, y: functional.jvp(lambda a: a**2, x),
        RuntimeError,
        VECTOR + "input to the user-provided function is a single Tensor",
    ),
    (
        lambda x, y: functional.vjp(lambda a: a**2, x, torch.ones(3)),
        RuntimeError,
        "v has invalid size: should be torch.Size",
    ),
    (
        lambda x, y: functional.vjp(lambda a: a**2, x, (x, y)),
        RuntimeError,
        "The given v should contain a single Tensor.",
    ),
    (
        lambda x, y: functional.jvp(lambda a, b: a, (x, y), (x,)),
        RuntimeError,
        "v is a tuple of invalid length: should be 2 but got 1.",
    ),
    (
        lambda x, y: functional.jacobian(lambda a: a, x, vectorize=True, strict=True),
        RuntimeError,
        "`strict=True` and `vectorized=True` are not supported together",
    ),
    (
        lambda x, y: functional.jacobian(lambda a: a, x, strategy="forward-mode"),
        NotImplementedError,
        "Computing Jacobian using forward-AD",
    ),
    (
        lambda x, y: functional.jacobian(lambda a: a, x, strategy="sideways"),
        AssertionError,
        "Expected strategy to be either",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), CASES)
def test_wrong_use_is_told(x, y, call, kind, message):
    with pytest.raises(kind, match=message):
        call(x, y)
