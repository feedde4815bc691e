"""The engine computes inf and nan in silence, whatever filters are in force; other code's NumPy warns as ever."""

import threading
import warnings

import numpy as np
import pytest

from autograph_cli import torch

SILENT = {
    "log(0)": lambda: torch.log(torch.zeros(1)),
    "1 / 0": lambda: torch.ones(1) / 0,
    "a number by 0": lambda: torch.tensor(1.0) / 0,
    "0 / 0": lambda: torch.zeros(2) / torch.zeros(2),
    "overflow": lambda: torch.tensor([1e38]) * 10,
    "a cast of nan": lambda: torch.tensor([float("nan")]).long(),
    "the mean of nothing": lambda: torch.zeros(0).mean(),
}
LOUD = {
    "divide by zero encountered in log": lambda: np.log(np.zeros(1)),
    "divide by zero encountered in divide": lambda: np.ones(1) / np.zeros(1),
    "divide by zero encountered in scalar divide": lambda: np.float64(1) / np.float64(0),
    "overflow encountered in multiply": lambda: np.array([1e308]) * 10,
    "invalid value encountered in sqrt": lambda: np.sqrt(np.array([-1.0])),
}


@pytest.mark.parametrize("name", SILENT)
def test_filters_that_make_errors_of_warnings_do_not_reach_the_engine(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SILENT[name]()


def test_nor_do_they_in_a_backward_pass():
    x = torch.zeros(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.sqrt().sum().backward()
    assert x.grad.tolist() == [float("inf")] * 2


def test_nor_in_another_thread():
    found = []

    def work():
        torch.is_grad_enabled()
        found.append(torch.log(torch.zeros(1)).item())

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [float("-inf")]


@pytest.mark.parametrize("message", LOUD)
def test_other_code_is_warned_in_numpys_words_at_its_own_line(message):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LOUD[message]()
    assert [(str(w.message), w.category, w.filename) for w in caught] == [(message, RuntimeWarning, __file__)]


def test_other_code_may_choose_its_own_settings():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.log(np.zeros(1))
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        np.log(np.zeros(1))
