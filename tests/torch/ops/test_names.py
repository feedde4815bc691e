"""Every function is there in all the forms that PyTorch gives it (record_names.py wrote them down)."""

import inspect
import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.ops.record_names import EXPECTED

NAMES = json.loads(EXPECTED.read_text())


WITHOUT_OUT = {"native_batch_norm"}  # three results at once, under names of their own


def has(owner, name):
    return callable(getattr(owner, name, None))


def known(name):
    return has(torch, name) or has(torch.Tensor, name)


def test_every_function_that_pytorch_has_as_a_method_is_one_here():
    assert [n for n in NAMES["methods"] if has(torch, n) and not has(torch.Tensor, n)] == []


def test_every_method_that_pytorch_has_as_a_function_is_one_here():
    assert [n for n in NAMES["methods"] if has(torch.Tensor, n) and not has(torch, n)] == []


def test_every_function_has_its_twin_that_works_in_place():
    assert [n for n in NAMES["twins"] if known(n) and not has(torch.Tensor, f"{n}_")] == []


def test_every_twin_that_pytorch_has_as_a_function_is_one_here():
    assert [n for n in NAMES["function_twins"] if known(n) and not has(torch, f"{n}_")] == []


def test_every_function_that_takes_out_takes_it_here():
    def takes_out(name):
        function = getattr(torch, name)
        while "out" not in inspect.signature(function, follow_wrapped=False).parameters:
            if not hasattr(function, "__wrapped__"):
                return False
            function = function.__wrapped__
        return True

    assert [n for n in NAMES["out"] if has(torch, n) and not takes_out(n) and n not in WITHOUT_OUT] == []


@for_each("name", NAMES["aliases"])
def test_a_function_is_there_under_all_its_names(name):
    if known(name):
        assert [alias for alias in NAMES["aliases"][name] if not known(alias)] == []
