"""Large arrays, whose elements several threads share."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._compiled import compiled
from autograph_cli.torch._kernels import threads


@pytest.fixture(autouse=True)
def three() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def a_million(kind: str = "float32") -> Any:
    return np.random.default_rng(0).standard_normal((1025, 1024)).astype(kind)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(
    "text",
    [
        "x.exp()",
        "x * x",
        "x + x",
        "x * 2",
        "x.sigmoid()",
        "x.tanh()",
        "x.mT * x",
        "x * x[0]",
        "x.log()",
        "torch.atan2(x, x)",
        "torch.nn.functional.elu(x)",
        "x.sin() * x + x",
        "1 / x",
        "x / 3",
        "x**3",
        "torch.lerp(x, x * x, 0.3)",
        "torch.maximum(x, -x)",
        "(x.T * x.T).T",
    ],
)
def test_results_and_gradients_are_those_of_one_thread(kind: str, text: str) -> None:
    raw = a_million(kind)

    def run() -> Any:
        x = torch.tensor(raw[:, :1024] if "mT" not in text else raw[:1024], requires_grad=True)
        made = eval(text)
        made.backward(torch.ones_like(made))
        return made.detach().numpy(), x.grad.numpy()

    several = run()
    torch.set_num_threads(1)
    for found, wanted in zip(several, run(), strict=True):
        assert found.strides == wanted.strides
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.skipif(compiled("_core.running.fast_tape") is None, reason="shared by the compiled modules only")
def test_work_is_shared_and_no_thread_stays(monkeypatch: Any) -> None:
    seen: list[int] = []
    shared = threads.shared
    monkeypatch.setattr(threads, "shared", lambda *given: seen.append(threads.count) or shared(*given))
    x, before = torch.tensor(a_million()), threading.active_count()
    x.exp(), x + x, x.sigmoid(), x[:3].exp(), x.mT.exp()
    assert (seen, threading.active_count()) == ([3, 3, 3], before)


@pytest.mark.skipif(compiled("_core.running.fast_tape") is None, reason="shared by the compiled modules only")
def test_formulas_and_sums_of_gradients_are_shared(monkeypatch: Any) -> None:
    seen: list[str] = []

    def noticed(name: str, run: Any) -> Any:
        def spy(*given: Any) -> Any:
            seen.append(name)
            return run(*given)

        return spy

    for name in ("shared", "in_blocks"):
        monkeypatch.setattr(threads, name, noticed(name, getattr(threads, name)))
    x = torch.tensor(a_million(), requires_grad=True)
    made = x.sin() + x
    seen.clear()
    made.backward(made.detach())
    # Two formulas of `+` that give what they were given, that of `sin`, the sum of both.
    assert seen == ["in_blocks", "in_blocks", "in_blocks", "shared", "shared"]


def test_a_formula_that_works_nothing_out_gives_what_it_was_given() -> None:
    grad = np.ones(1 << 17)
    assert threads.in_blocks(lambda grad: grad, (grad,)) is grad
    assert threads.in_blocks(lambda grad: None, (grad,)) is None
    assert threads.in_blocks(lambda grad: grad > 0, (grad,)).all()


def test_an_error_of_any_thread_is_raised() -> None:
    def run(part: Any, out: Any) -> None:
        if part[0] >= 6:
            raise ValueError("in the last part")

    with pytest.raises(ValueError, match="in the last part"):
        threads.shared(run, (np.arange(9.0),), np.empty(9))


def test_settings_of_numpy_hold_in_all_threads() -> None:
    large = np.full(9, 1e300)
    with np.errstate(over="ignore"):
        threads.shared(np.exp, (large,), np.empty(9))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        threads.shared(np.exp, (np.where(np.arange(9) < 8, 0, large),), np.empty(9))
