"""Random numbers on a GPU: those that PyTorch draws there, as far as they are published."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._core.streams.philox import Philox, _philox

pytestmark = pytest.mark.usefixtures("gpu")

RAND = [0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150, 0.8203, 0.2290, 0.9096]
AFTER = [0.9722, 0.7910, 0.4690, 0.3300, 0.3345, 0.3783, 0.7640, 0.6405, 0.1103, 0.3594]
"""`torch.rand(10, device="cuda")` after `torch.manual_seed(0)`, twice."""
RANDN = """
    -0.9247 -0.4253 -2.6438 0.1452 -0.1209 -0.5797 -0.6229 -0.3284
    -1.0745 -0.3631 -1.6711 2.2655 0.3117 -0.1842 1.2866 1.1820
    -0.1271 1.2169 1.4353 1.0605 -0.4941 -1.4244 -0.7244 -1.2973"""
"""The first numbers of `torch.randn(8, 8, device="cuda")` after the same seed."""
KNOWN_ANSWERS = [
    ((0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((2**64 - 1, 2**64 - 1), 2**64 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
]
"""(counter and thread), seed, and what Philox4x32-10 makes of them, from the tests of Random123."""


def shown(x: Any) -> list[float]:
    return [round(value, 4) for value in x.flatten().tolist()]


@pytest.mark.parametrize("at, seed, expected", KNOWN_ANSWERS)
def test_the_generator_gives_the_known_answers(at: Any, seed: int, expected: Any) -> None:
    counter, thread = (np.array([part], np.uint64) for part in at)
    assert _philox(seed, counter[:, None], thread, np)[0, :, 0].tolist() == list(expected)


def test_uniform_numbers_are_those_of_pytorch_on_a_gpu() -> None:
    torch.manual_seed(0)
    assert shown(torch.rand(10, device="cuda")) == RAND
    assert shown(torch.rand(10, device="cuda")) == AFTER


def test_normal_numbers_are_those_of_pytorch_on_a_gpu() -> None:
    torch.cuda.manual_seed_all(0)
    assert shown(torch.randn(8, 8, device="cuda"))[:24] == list(map(float, RANDN.split()))


def test_a_generator_draws_apart_from_the_default_one() -> None:
    torch.manual_seed(0)
    generator = torch.Generator(device="cuda").manual_seed(0)
    assert shown(torch.rand(10, device="cuda", generator=generator)) == RAND
    assert shown(torch.empty(10, device="cuda").uniform_(generator=generator)) == AFTER
    assert shown(torch.rand(10, device="cuda")) == RAND
    assert generator.device == torch.device("cuda", 0)


def test_what_is_drawn_on_a_gpu_leaves_the_stream_of_the_cpu_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    torch.rand(3, device="cuda")
    torch.nn.functional.dropout(torch.ones(3, device="cuda"))
    assert torch.equal(torch.rand(3), expected)


def test_states_go_back_and_forth() -> None:
    torch.cuda.manual_seed(7)
    torch.rand(3, device="cuda")
    state = torch.cuda.get_rng_state()
    first = torch.rand(5, device="cuda")
    torch.cuda.set_rng_state(state)
    assert (state.dtype, state.shape) == (torch.uint8, (16,))
    assert torch.equal(torch.rand(5, device="cuda"), first)
    assert torch.cuda.initial_seed() == 7
    with torch.random.fork_rng():
        inside = torch.rand(5, device="cuda")
    assert torch.equal(torch.rand(5, device="cuda"), inside)


def test_a_generator_of_another_device_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(2, device="cuda", generator=torch.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
        torch.rand(2, generator=torch.Generator(device="cuda"))


MEANS = {
    "rand": (lambda: torch.rand(20_000, device="cuda"), 0.5),
    "rand of doubles": (lambda: torch.rand(20_000, device="cuda", dtype=torch.float64), 0.5),
    "rand of bfloat16": (lambda: torch.rand(20_000, device="cuda", dtype=torch.bfloat16), 0.5),
    "randn of doubles": (lambda: torch.randn(20_000, device="cuda", dtype=torch.float64) + 1, 1.0),
    "uniform_": (lambda: torch.empty(100, 200, device="cuda").t().uniform_(2, 4), 3.0),
    "normal": (lambda: torch.normal(torch.ones(20_000, device="cuda"), 0.5), 1.0),
    "randint": (lambda: torch.randint(0, 11, (20_000,), device="cuda"), 5.0),
    "randint of a wide range": (lambda: torch.randint(-(2**40), 2**40, (20_000,), device="cuda") / 2**40, 0.0),
    "random_": (lambda: torch.empty(20_000, device="cuda", dtype=torch.uint8).random_(), 127.5),
    "bernoulli_": (lambda: torch.empty(20_000, device="cuda").bernoulli_(0.3), 0.3),
    "bernoulli of numbers": (lambda: torch.bernoulli(torch.full((20_000,), 0.3, device="cuda")), 0.3),
    "dropout": (lambda: torch.nn.functional.dropout(torch.ones(20_001, device="cuda"), 0.3), 1.0),
    "dropout in place": (lambda: torch.nn.functional.dropout(torch.ones(20_000, device="cuda"), 0.3, inplace=True), 1),
    "exponential_": (lambda: torch.empty(20_000, device="cuda").exponential_(2), 0.5),
    "multinomial": (lambda: torch.multinomial(torch.ones(11, device="cuda"), 20_000, True), 5.0),
    "randperm": (lambda: torch.randperm(101, device="cuda"), 50.0),
    "gamma": (lambda: torch.distributions.Gamma(torch.full((2_000,), 2.0, device="cuda"), 1.0).sample(), 2.0),
}


@pytest.mark.parametrize("name", MEANS)
def test_numbers_have_the_mean_of_their_distribution(name: str) -> None:
    torch.manual_seed(1)
    draw, mean = MEANS[name]
    found = draw()
    assert found.is_cuda
    assert found.double().mean().item() == pytest.approx(mean, abs=0.03 * max(1.0, abs(mean)))
    assert found.double().std().item() > 0


@pytest.mark.parametrize("count", [6, 7, 8, 1000, 300_000 * 4 + 2])
def test_every_element_is_drawn_once_for_any_count(count: int) -> None:
    """As many rounds of all threads as are needed: no number comes twice."""
    stream = Philox(0, threads=1024)
    drawn = stream.bits32(count)
    again = Philox(0, threads=1024).bits32(count + 1)
    assert drawn.tolist() == again[:count].tolist() if count % 1024 else True
    assert len(np.unique(drawn)) > count * 0.999


def test_dropout_on_a_gpu_is_one_node_as_in_pytorch() -> None:
    x = torch.ones(8, device="cuda", requires_grad=True)
    torch.manual_seed(0)
    y = torch.nn.functional.dropout(x, 0.5)
    y.sum().backward()
    assert y.grad_fn.name() == "NativeDropoutBackward0"
    assert y.tolist() == x.grad.tolist()
    assert set(y.tolist()) == {0.0, 2.0}


def test_drawing_on_a_gpu_copies_nothing(transfers: dict[str, int]) -> None:
    x = torch.ones(64, device="cuda")
    transfers.clear()
    torch.nn.functional.dropout(x)
    torch.rand(64, device="cuda")
    x.normal_().uniform_(1, 2).bernoulli_(0.5)
    torch.bernoulli(x)
    torch.randint(0, 9, (64,), device="cuda")
    assert dict(transfers) == {}
