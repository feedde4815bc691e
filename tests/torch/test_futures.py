"""Values that are set later."""

import pytest

from autograph_cli import torch


def test_a_future_is_complete_when_its_value_is_set():
    one, other = torch.futures.Future(), torch.futures.Future[int]()
    doubled, both = one.then(lambda done: done.value() * 2), torch.futures.collect_all([one, other])
    assert not one.done() and not both.done()
    with pytest.raises(RuntimeError, match="before the future is complete"):
        one.value()
    one.set_result(3)
    assert doubled.wait() == 6 and not both.done()
    other.set_exception(ValueError("lost"))
    assert [future.done() for future in both.wait()] == [True, True]
    with pytest.raises(ValueError, match="lost"):
        torch.futures.wait_all([one, other])
    assert torch.futures.collect_all([]).wait() == []


def test_an_error_of_a_callback_is_that_of_the_next_future():
    future = torch.futures.Future()
    following = future.then(lambda done: 1 / done.value())
    future.set_result(0)
    with pytest.raises(ZeroDivisionError):
        following.wait()
