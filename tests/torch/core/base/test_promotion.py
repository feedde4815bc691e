"""Which dtype comes out: tables as PyTorch fills them. A dot stands for complex32, which the engine does not have."""

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from autograph_cli import torch
from tests.cases import for_each

DTYPES = {
    "b": torch.bool, "u": torch.uint8, "c": torch.int8, "s": torch.int16, "i": torch.int32, "l": torch.int64,
    "h": torch.float16, "k": torch.bfloat16, "f": torch.float32, "d": torch.float64, "F": torch.complex64,
    "D": torch.complex128,
}  # fmt: skip

TENSORS = """
  b u c s i l h k f d F D
b b u c s i l h k f d F D
u u u s s i l h k f d F D
c c s c s i l h k f d F D
s s s s s i l h k f d F D
i i i i i i l h k f d F D
l l l l l l l h k f d F D
h h h h h h h h f f d F D
k k k k k k k f k f d F D
f f f f f f f f f f d F D
d d d d d d d d d d d D D
F F F F F F F F F F D F D
D D D D D D D D D D D D D
"""
WITH_0D = """
  b u c s i l h k f d F D
b b u c s i l h k f d F D
u u u u u u u h k f d F D
c c c c c c c h k f d F D
s s s s s s s h k f d F D
i i i i i i i h k f d F D
l l l l l l l h k f d F D
h h h h h h h h h h h . .
k k k k k k k k k k k F F
f f f f f f f f f f f F F
d d d d d d d d d d d D D
F F F F F F F F F F F F F
D D D D D D D D D D D D D
"""
NUMBERS = {"n": True, "2": 2, "o": 2.0, "j": 2j}
WITH_NUMBERS = """
  n 2 o j
b b l f F
u u u f F
c c c f F
s s s f F
i i i f F
l l l f F
h h h h .
k k k k F
f f f f F
d d d d D
F F F F F
D D D D D
"""
UNARY = """
       b u c s i l h k f d F D
/2     f f f f f f h k f d F D
sum    l l l l l l h k f d F D
prod   l l l l l l h k f d F D
cumsum l l l l l l h k f d F D
exp    f f f f f f h k f d F D
sqrt   f f f f f f h k f d F D
abs    . u c s i l h k f d f d
**2    l u c s i l h k f d F D
**0.5  f f f f f f h k f d F D
"""
RUN = {
    "/2": lambda t: t / 2,
    "cumsum": lambda t: t.cumsum(0),
    "**2": lambda t: t**2,
    "**0.5": lambda t: t**0.5,
    **{name: lambda t, name=name: getattr(t, name)() for name in ("sum", "prod", "exp", "sqrt", "abs")},
}


def cells(table):
    """(row, column, dtype) of a table, without the dots."""
    head, *rows = (line.split() for line in table.strip("\n").splitlines())
    return [(row[0], column, cell) for row in rows for column, cell in zip(head, row[1:], strict=True) if cell != "."]


def ones(dtype, *shape):
    return torch.ones(shape, dtype=DTYPES[dtype])


@for_each("a, b, result", cells(TENSORS))
def test_two_tensors(a, b, result):
    assert (ones(a, 2) * ones(b, 2)).dtype is DTYPES[result]
    assert (ones(a) * ones(b)).dtype is DTYPES[result]
    assert torch.promote_types(DTYPES[a], DTYPES[b]) is DTYPES[result]


@for_each("a, b, result", cells(WITH_0D))
def test_a_tensor_outranks_a_0d_tensor(a, b, result):
    assert (ones(a, 2) * ones(b)).dtype is DTYPES[result]
    assert (ones(b) + ones(a, 2)).dtype is DTYPES[result]


@for_each("shape", [(2,), ()])
@for_each("a, number, result", cells(WITH_NUMBERS))
def test_a_tensor_outranks_a_number(a, number, result, shape):
    x = NUMBERS[number]
    assert (ones(a, *shape) * x).dtype is DTYPES[result]
    assert (x + ones(a, *shape)).dtype is DTYPES[result]


@for_each("name, a, result", cells(UNARY))
def test_functions(name, a, result):
    assert RUN[name](ones(a, 2)).dtype is DTYPES[result]


@for_each("a, b", list(itertools.product("bulfdF", repeat=2)))
def test_comparisons_give_booleans(a, b):
    assert ((ones(a, 2) == ones(b)).dtype, (ones(a) != 2).dtype) == (torch.bool, torch.bool)


def test_the_default_dtype_decides_what_a_float_is():
    torch.set_default_dtype(torch.float64)
    try:
        assert (torch.ones(2, dtype=torch.int64) * 2.0).dtype is torch.float64
        assert torch.ones(2, dtype=torch.float32).mul(2.0).dtype is torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_integers_wrap_around():
    assert (torch.tensor([250], dtype=torch.uint8) + 10).tolist() == [4]
    assert (torch.tensor([127], dtype=torch.int8) + torch.tensor([1], dtype=torch.int8)).tolist() == [-128]


@pytest.mark.parametrize(
    "a, b, floor, remainder, trunc",
    [
        (7, 2, 3, 1, 3),
        (-7, 2, -4, 1, -3),
        (7, -2, -4, -1, -3),
        (-7, -2, 3, -1, 3),
    ],
)
def test_integer_division_rounds_as_python_does_or_toward_zero(a, b, floor, remainder, trunc):
    x, y = torch.tensor([a]), torch.tensor([b])
    assert ((x // y).item(), (x % y).item(), torch.div(x, y, rounding_mode="trunc").item()) == (floor, remainder, trunc)
    assert (x / y).item() == a / b


def test_division_of_integers_by_zero_is_refused():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.tensor([1]) // torch.tensor([0])


def test_uint16_and_the_like_promote_with_nothing():
    with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
        torch.ones(2, dtype=torch.uint16) + torch.ones(2, dtype=torch.int32)


# ---------------------------------------------------------------- broadcasting and its gradients

LENGTHS = st.lists(st.integers(1, 3), max_size=3)


@st.composite
def broadcast_pair(draw):
    """Two shapes that broadcast."""
    full = draw(LENGTHS)
    shapes = []
    for _ in range(2):
        kept = full[draw(st.integers(0, len(full))) :]
        shapes.append(tuple(1 if draw(st.booleans()) else n for n in kept))
    return shapes


BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: torch.sub(a, b, alpha=3),
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "atan2": torch.atan2,
    "maximum": torch.maximum,
    "where": lambda a, b: torch.where(a > b, a * a, b * 3),
    "remainder": lambda a, b: a % (b + 3),
}


def values(shape, start):
    n = 1
    for length in shape:
        n *= length
    return (torch.arange(n, dtype=torch.float64) * 0.37 + start).reshape(shape)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(broadcast_pair(), st.sampled_from(sorted(BINARY)))
def test_gradients_of_broadcast_operands_match_finite_differences(shapes, name):
    f = BINARY[name]
    a, b = values(shapes[0], 0.71).requires_grad_(), values(shapes[1], 0.52).requires_grad_()
    result = f(a, b)
    weights = values(result.shape, 0.9)
    grads = torch.autograd.grad((result * weights).sum(), (a, b), create_graph=True)
    assert [tuple(g.shape) for g in grads] == [tuple(s) for s in shapes]
    eps = 1e-6
    for which, g in enumerate(grads):
        for position in range(g.numel()):
            sides = []
            for step in (eps, -eps):
                moved = [a.detach().clone(), b.detach().clone()]
                moved[which].view(-1)[position] += step
                sides.append((f(*moved) * weights).sum().item())
            assert g.reshape(-1)[position].item() == pytest.approx(
                (sides[0] - sides[1]) / (2 * eps), rel=1e-5, abs=1e-6
            )


@pytest.mark.parametrize(
    "name", ["sin", "exp", "log", "sqrt", "sigmoid", "tanh", "erf", "rsqrt", "reciprocal", "atan", "lgamma"]
)
def test_a_view_of_integers_becomes_floating_as_the_integers_do(name: str) -> None:
    whole = torch.tensor([3, 4])
    for view in (whole[0], whole[:1], whole.view(-1), whole.t(), whole.detach()):
        assert getattr(view, name)().dtype is torch.float32
