"""What the engine lacks of PyTorch says so by its name (record_lacking.py wrote the names down)."""

import json

import pytest

from autograph_cli import torch
from tests.torch.record_lacking import EXPECTED, find

LACKING = json.loads(EXPECTED.read_text())


def said_of(owner, name):
    """What the error of a missing name says; the name itself where it is there by now."""
    try:
        getattr(owner, name)
    except AttributeError as error:
        return str(error)
    return name


@pytest.mark.parametrize("path", LACKING)
def test_each_name_that_is_lacking_is_named_by_its_error(path):
    owner = find(torch, path)
    assert [name for name in LACKING[path] if name not in said_of(owner, name)] == []


def test_a_class_that_wants_to_be_asked_below_autograd_is_refused():
    with pytest.raises(NotImplementedError, match=r"Wrapper\.__torch_dispatch__ is not available"):

        class Wrapper(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                return func(*args)


def test_a_storage_is_the_memory_as_one_row():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        row = x.t().storage()
    row[1] = 7
    assert (len(row), row[-1], row.tolist(), row.nbytes()) == (4, 4.0, [1.0, 7.0, 3.0, 4.0], 16)
    assert x.tolist() == [[1.0, 7.0], [3.0, 4.0]]
    assert repr(row).endswith(" 4.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 4]")
    with pytest.raises(IndexError, match="index 4 out of range for storage of size 4"):
        row[4]
