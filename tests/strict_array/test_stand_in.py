"""What the stand-in allows and refuses, held against CuPy: its rules, and its names and parameters where it is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.strict_array.arrays import KNOWN
from tests.strict_array.module import served
from tests.strict_array.record_cupy import known

RULES: dict[str, Callable[[Any, Any], Any]] = {
    "a function of NumPy": lambda cupy, a: np.sum(a),
    "a universal function of NumPy": lambda cupy, a: np.exp(a),
    "a conversion to NumPy's array": lambda cupy, a: np.asarray(a),
    "an array of NumPy beside one": lambda cupy, a: a + np.ones(3),
    "an array of NumPy in front of one": lambda cupy, a: np.ones(3) * a,
    "an array of NumPy as an argument": lambda cupy, a: cupy.exp(np.ones(3)),
    "an array of NumPy that is assigned": lambda cupy, a: a.__setitem__(0, np.ones(())),
    "a number where an array is wanted": lambda cupy, a: cupy.sum(2.0),
    "an option that only NumPy has": lambda cupy, a: a.sum(initial=1.0),
    "a reduction that only NumPy has": lambda cupy, a: cupy.maximum.reduce(a),
    "a function that only NumPy has": lambda cupy, a: cupy.vecdot(a, a),
    "a dtype that only NumPy has": lambda cupy, a: a.astype(object),
}


@pytest.mark.parametrize("rule", RULES)
def test_what_cupy_refuses_is_refused(rule: str) -> None:
    with served() as cupy, pytest.raises((TypeError, ValueError, NotImplementedError, AttributeError)):
        RULES[rule](cupy, cupy.arange(3.0))


def test_numbers_that_come_of_arrays_are_0d_arrays() -> None:
    with served() as cupy:
        a = cupy.arange(6.0).reshape(2, 3)
        for found in (a.sum(), a[0, 0], a[0, 0] * 2, cupy.max(a), cupy.exp(2.0), np.float32(2) * a[0, 0]):
            assert type(found) is cupy.ndarray
            assert found.shape == ()


def test_a_view_knows_the_array_that_owns_its_memory() -> None:
    with served() as cupy:
        a = cupy.arange(6.0)
        assert a.base is None
        assert a[2:].reshape(2, 2).T.base is a
        assert a[2:].data.ptr == a.data.ptr + 16


def test_only_an_import_finds_it_and_only_while_it_is_served() -> None:
    with served():
        import cupy  # type: ignore[import-not-found, unused-ignore]

        assert cupy.ndarray.__module__ == "tests.strict_array.arrays"
    before = importlib.util.find_spec("cupy")
    assert before is None or "strict_array" not in str(before.origin)


@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="CuPy is not installed")
def test_names_and_parameters_are_those_of_the_installed_cupy() -> None:
    import cupy

    if cupy.__version__ != KNOWN["version"]:
        pytest.skip(f"recorded with CuPy {KNOWN['version']}")
    assert known() == {key: value for key, value in KNOWN.items() if key != "version"}
