"""Tensors that are conjugated or negated when they are read, against what PyTorch gave (record_lazy.py writes it)."""

import json

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._arrays.lazy import Lazy
from tests.cases import for_each
from tests.torch.ops.record_expressions import observe
from tests.torch.ops.record_lazy import EXPECTED, SCRIPTS, run_script
from tests.torch.ops.test_expressions import assert_alike, assert_same

RECORDED = json.loads(EXPECTED.read_text())


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@for_each("code", [code for code in RECORDED if code not in SCRIPTS])
def test_function_of_a_lazy_tensor_gives_what_pytorch_gives(code):
    assert_same(observe(torch, code), RECORDED[code])


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@for_each("code", [code for code in RECORDED if code in SCRIPTS])
def test_script_with_lazy_tensors_gives_what_pytorch_gives(code):
    got, want = run_script(torch, code), RECORDED[code]
    assert len(got["seen"]) == len(want["seen"])
    for mine, theirs in zip(got["seen"], want["seen"], strict=True):
        if isinstance(theirs, str):
            assert mine == theirs
        else:
            assert mine["graph"] == theirs["graph"]
            assert_alike(mine["tensor"], theirs["tensor"], "value")
    for key in ("first", "second"):
        for mine, theirs in zip(got.get(key, []), want.get(key, []), strict=True):
            assert_alike(mine, theirs, f"{key} gradient")


def test_numpy_reads_and_writes_lazy_arrays_as_they_read():
    memory = np.array([1 + 2j, 3 - 1j])
    lazy = Lazy(memory, (True, False))
    assert (lazy + 1).tolist() == (memory.conj() + 1).tolist()
    assert np.concatenate([lazy, memory]).tolist() == [*memory.conj(), *memory]
    assert np.where([True, False], lazy, 0).tolist() == [1 - 2j, 0]
    other = np.zeros(2, complex)
    other[...] = lazy
    assert other.tolist() == lazy.tolist() == memory.conj().tolist()
    lazy += 1j
    assert memory.tolist() == [1 + 1j, 3 - 2j]
    np.copyto(lazy, [1j, 2j])
    assert memory.tolist() == [-1j, -2j]
    with pytest.raises(NotImplementedError, match="conjugated or negated"):
        np.add.at(lazy, [0], 1)
