"""Functions of complex numbers in all quadrants and on both sides of branch cuts, against PyTorch and against finite differences."""

import json

import numpy as np

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_complex_plane import EXPECTED, FUNCTIONS, POINTS, compute, leaves, observe

RECORDED = json.loads(EXPECTED.read_text())


def assert_close(got, want, signs=False):
    assert (got is None) == (want is None)
    if want is None:
        return
    mine, theirs = (np.array(text.split(), float) for text in (got, want))
    np.testing.assert_allclose(mine, theirs, 1e-7, 1e-9)
    if signs:
        known = ~np.isnan(theirs)
        np.testing.assert_array_equal(np.signbit(mine)[known], np.signbit(theirs)[known])


@for_each("code", FUNCTIONS)
def test_function_on_the_plane_gives_what_pytorch_gives(code):
    got, want = observe(torch, code), RECORDED[code]
    assert got.keys() == want.keys()
    if "value" in want:
        assert_close(got["value"], want["value"], signs=code not in OTHER_ZEROS)
    for key in ("first", "second"):
        for mine, theirs in zip(got.get(key, []), want.get(key, []), strict=True):
            assert_close(mine, theirs)


# z+y: PyTorch adds the product with alpha, 1 by default. Quotients: another algorithm. Powers: NaN decides in C.
OTHER_ZEROS = {"z+y", "z/y", "torch.true_divide(z,y)", "torch.addcdiv(z,y,z+3)", "0**z", "z.real**y"}
"""Where zeros may have another sign than PyTorch's."""
# Of these PyTorch's gradient is that of another function: of a constant direction, of a positive length.
NO_DERIVATIVE = {"0**z", "torch.polar(z.real,z.imag)"}
OFF_AXES = [i for i, z in enumerate(POINTS) if z.real and z.imag]


@for_each("code", [c for c in FUNCTIONS if c not in NO_DERIVATIVE])
def test_gradient_in_every_quadrant_is_that_of_finite_differences(code):
    assert torch.autograd.gradcheck(lambda z, y: compute(torch, code, z, y + 2), leaves(torch, OFF_AXES), atol=1e-4)
