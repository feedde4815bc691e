"""Random tensors: PyTorch's numbers in PyTorch's order, generators and their states, gradients that are cut."""

import pickle

import pytest

from autograph_cli import torch

# Recorded from PyTorch 2.13 on the CPU: one stream from seed 0, in this order.
STREAM = [
    (lambda: torch.rand(3), [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]),
    (lambda: torch.randn(3), [0.3643381893634796, 0.13439632952213287, 0.16421625018119812]),
    (lambda: torch.randn(17)[-2:], [-0.28966769576072693, 0.05250748619437218]),
    (lambda: torch.randint(10, (4,)), [1, 7, 3, 5]),
    (lambda: torch.randperm(5), [2, 4, 3, 1, 0]),
    (lambda: torch.empty(3).uniform_(1, 2), [1.6984410285949707, 1.5675463676452637, 1.8352432250976562]),
    (lambda: torch.empty(3).random_(2, 9), [7.0, 3.0, 6.0]),
    (lambda: torch.empty(4).bernoulli_(0.5), [1.0, 0.0, 0.0, 1.0]),
    (lambda: torch.normal(torch.zeros(2), torch.ones(2)), [0.3057610094547272, 0.6577075719833374]),
    (lambda: torch.empty(2, dtype=torch.float64).normal_(1, 2), [2.8773133229483063, 3.2634613631215013]),
    (lambda: torch.bernoulli(torch.full((4,), 0.5)), [0.0, 0.0, 0.0, 1.0]),
    (lambda: torch.multinomial(torch.tensor([0.1, 0.2, 0.7]), 2), [2, 1]),
    # Elements are drawn in the order of memory, here column by column.
    (
        lambda: torch.rand_like(torch.ones(2, 3).t()).t().flatten(),
        [
            0.5935860276222229,
            0.4157699942588806,
            0.41771942377090454,
            0.2711215615272522,
            0.6922780871391296,
            0.2038482427597046,
        ],
    ),
    (lambda: torch.empty(2).exponential_(), [0.6280439496040344, 1.9913314580917358]),
]


def test_one_stream_gives_pytorchs_numbers_call_after_call():
    torch.manual_seed(0)
    for draw, expected in STREAM:
        assert draw().tolist() == pytest.approx(expected, rel=1e-6)


def test_a_generator_has_a_stream_of_its_own():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    own = torch.Generator().manual_seed(0)
    assert torch.equal(torch.rand(3, generator=own), expected)
    assert torch.equal(torch.get_rng_state(), state)
    assert own.initial_seed() == 0


def test_states_are_kept_and_restored():
    state = torch.get_rng_state()
    first = torch.randn(5)
    torch.set_rng_state(state)
    assert torch.equal(torch.randn(5), first)
    torch.set_rng_state(state)
    with torch.random.fork_rng():
        torch.rand(9)
    assert torch.equal(torch.randn(5), first)
    generator = torch.Generator().manual_seed(3)
    assert torch.equal(
        torch.rand(2, generator=pickle.loads(pickle.dumps(generator))), torch.rand(2, generator=generator)
    )


@pytest.mark.parametrize(
    ("fill", "node"),
    [
        (lambda t: t.normal_(), "NormalBackward0"),
        (lambda t: t.uniform_(), "UniformBackward0"),
        (lambda t: t.random_(), "RandomBackward2"),
        (lambda t: t.random_(3), "RandomBackward1"),
        (lambda t: t.random_(1, 3), "RandomBackward0"),
        (lambda t: t.bernoulli_(), "BernoulliBackward2"),
        (lambda t: t.bernoulli_(torch.tensor(0.5)), "BernoulliBackward1"),
        (lambda t: t.exponential_(), "ExponentialBackward0"),
        (lambda t: t.geometric_(0.3), "GeometricBackward0"),
        (lambda t: t.cauchy_(), "CauchyBackward0"),
        (lambda t: t.log_normal_(), "LogNormalBackward0"),
    ],
)
def test_filling_at_random_cuts_the_gradient(fill, node):
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    assert fill(y) is y
    assert type(y.grad_fn).__name__ == node
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_a_leaf_that_requires_grad_is_not_filled():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        torch.ones(2, requires_grad=True).normal_()


@pytest.mark.parametrize(
    ("run", "node"),
    [
        (lambda p: torch.bernoulli(p), "BernoulliBackward0"),
        (lambda p: torch.normal(p, 1.0), "NormalBackward1"),
        (lambda p: torch.normal(0.0, p), "NormalBackward2"),
        (lambda p: torch.normal(p, p), "NormalBackward3"),
    ],
)
def test_draws_around_a_tensor_are_recorded(run, node):
    assert type(run(torch.full((2,), 0.5, requires_grad=True)).grad_fn).__name__ == node


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (
            lambda: torch.randint(3, 2),
            TypeError,
            "randint(): argument 'size' (position 2) must be tuple of ints, not int",
        ),
        (
            lambda: torch.randint(5, 2, (2,)),
            RuntimeError,
            "random_ expects 'from' to be less than 'to', but got from=5 >= to=2",
        ),
        (
            lambda: torch.rand(2, dtype=torch.int32),
            NotImplementedError,
            "\"check_uniform_bounds\" not implemented for 'Int'",
        ),
        (lambda: torch.normal(torch.zeros(2), -1.0), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (lambda: torch.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
        (
            lambda: torch.normal(torch.zeros(2), torch.ones(3)),
            RuntimeError,
            "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
        ),
        (lambda: torch.empty(2).geometric_(), TypeError, 'geometric_() missing 1 required positional arguments: "p"'),
    ],
)
def test_errors_in_pytorchs_words(run, error, message):
    with pytest.raises(error) as caught:
        run()
    assert str(caught.value) == message


def test_draws_written_into_out_are_those_of_the_call_without():
    for draw in (
        lambda **out: torch.normal(torch.zeros(3), 1.0, **out),
        lambda **out: torch.multinomial(torch.ones(5), 3, **out),
    ):
        torch.manual_seed(0)
        want = draw()
        torch.manual_seed(0)
        out = torch.empty_like(want)
        assert draw(out=out) is out and torch.equal(out, want)
