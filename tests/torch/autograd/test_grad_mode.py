"""no_grad and its kin, as blocks and as decorators."""

import pytest

from autograph_cli import torch


def recorded():
    x = torch.tensor(1.0, requires_grad=True)
    return (x * 2).requires_grad


@pytest.mark.parametrize(
    ("manager", "expected"),
    [
        (torch.no_grad, False),
        (torch.enable_grad, True),
        (torch.inference_mode, False),
        (lambda: torch.set_grad_enabled(False), False),
        (lambda: torch.set_grad_enabled(True), True),
    ],
)
def test_blocks_and_decorators_set_the_mode_and_restore_it(manager, expected):
    with manager():
        assert recorded() is torch.is_grad_enabled() is expected
    assert recorded()
    assert manager()(recorded)() is expected
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    ("mode", "expected"), [(torch.no_grad, False), (torch.enable_grad, True), (torch.inference_mode, False)]
)
def test_decorators_need_no_parentheses(mode, expected):
    run = mode(recorded)
    assert run() is expected and run.__name__ == "recorded"


def test_enable_grad_records_inside_no_grad():
    with torch.no_grad():
        with torch.enable_grad():
            assert recorded()
        assert not recorded()


def test_set_grad_enabled_acts_at_once():
    torch.set_grad_enabled(False)
    try:
        assert not recorded()
    finally:
        torch.set_grad_enabled(True)
    assert recorded()


def test_set_grad_enabled_as_a_decorator_leaves_the_mode_alone():
    run = torch.set_grad_enabled(False)(recorded)
    assert torch.is_grad_enabled() and not run()


def test_set_grad_enabled_wants_a_bool():
    with pytest.raises(
        TypeError, match=r"set_grad_enabled\(\): argument 'enabled' \(position 1\) must be bool, not str"
    ):
        torch.set_grad_enabled("yes")


def test_one_manager_serves_a_recursive_function():
    @torch.no_grad()
    def down(n):
        return torch.is_grad_enabled() or (n > 0 and down(n - 1))

    assert not down(3) and torch.is_grad_enabled()


def test_a_generator_runs_in_its_mode_and_its_caller_does_not():
    @torch.no_grad()
    def numbers():
        sent = yield torch.is_grad_enabled()
        yield sent, torch.is_grad_enabled()
        return 3

    run = numbers()
    assert next(run) is False and torch.is_grad_enabled()
    assert run.send(5) == (5, False)
    with pytest.raises(StopIteration) as end:
        next(run)
    assert end.value.value == 3


def test_a_generator_sees_what_is_thrown_into_it():
    @torch.no_grad()
    def numbers():
        try:
            yield 1
        except ValueError:
            yield torch.is_grad_enabled()

    run = numbers()
    next(run)
    assert run.throw(ValueError("x")) is False


def test_a_decorated_class_runs_its_init_in_the_mode():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @torch.no_grad()
        class Holder:
            def __init__(self):
                self.mode = torch.is_grad_enabled()

    assert Holder().mode is False


def test_an_exception_restores_the_mode():
    with pytest.raises(ValueError, match="x"), torch.no_grad():
        raise ValueError("x")
    assert torch.is_grad_enabled()


def test_the_wish_for_threads_is_kept_and_given_back():
    enabled = torch.autograd.is_multithreading_enabled
    assert enabled()
    with torch.autograd.set_multithreading_enabled(False):
        assert not enabled()
    torch.autograd.set_multithreading_enabled(False)
    assert not enabled()
    torch.autograd.set_multithreading_enabled(True)
    assert torch.autograd.set_multithreading_enabled(False)(enabled)() is False
    torch.autograd.set_multithreading_enabled(True)
