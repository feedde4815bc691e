"""Transforms give what torchvision gives: values, kinds, random numbers, representations and errors."""

import json
import math

import pytest

pytest.importorskip("PIL")

from autograph_cli import torch, torchvision
from autograph_cli.torchvision.transforms import v2
from tests.cases import for_each
from tests.torchvision.record_transforms import EXPECTED, expressions, observe, world

RECORDED = json.loads(EXPECTED.read_text())
TIES = {"F.resize(u,(3,9))"}
"""A sum that is half way between two integers is rounded by its last bit."""


def alike(ours, theirs, slack=0):
    """Equal, floats to rounding, integers to `slack`."""
    if type(theirs) is int:
        return type(ours) is int and abs(ours - theirs) <= slack
    if isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=2e-4, abs_tol=2e-5)
    if isinstance(theirs, list):
        return (
            isinstance(ours, list)
            and len(ours) == len(theirs)
            and all(alike(o, t, slack) for o, t in zip(ours, theirs, strict=True))
        )
    if isinstance(theirs, dict):
        return (
            isinstance(ours, dict)
            and ours.keys() == theirs.keys()
            and all(alike(ours[k], theirs[k], slack) for k in theirs)
        )
    return ours == theirs


@pytest.fixture(scope="module")
def names():
    return world(torch, torchvision, v2)


def test_the_record_is_of_these_expressions():
    assert list(RECORDED) == expressions()


@for_each("expression", RECORDED)
def test_as_torchvision(expression, names):
    ours = observe(expression, names)
    assert alike(ours, RECORDED[expression], slack=expression in TIES), ours
