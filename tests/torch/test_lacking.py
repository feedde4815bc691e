"""What the engine lacks of PyTorch says so by its name (record_lacking.py wrote the names down)."""

import importlib
import json

import pytest

from autograph_cli import torch
from autograph_cli.torch import _missing
from tests.torch.record_lacking import EXPECTED, find

LACKING = json.loads(EXPECTED.read_text())


def said_of(owner, name):
    """Return what the error of a missing name says; the name itself where it is there by now."""
    try:
        getattr(owner, name)
    except AttributeError as error:
        return str(error)
    return name


@pytest.mark.parametrize("path", LACKING)
def test_each_name_that_is_lacking_is_named_by_its_error(path):
    owner = find(torch, path)
    assert [name for name in LACKING[path] if name not in said_of(owner, name)] == []


@pytest.mark.parametrize("installed", [False, True])
def test_what_is_not_rebuilt_says_that_the_script_needs_pytorch_itself(installed, monkeypatch):
    from autograph_cli.record.run.imports import serve

    monkeypatch.setattr(_missing.PathFinder, "find_spec", lambda name: installed or None)
    end = "needs PyTorch itself" + (
        ", which is installed here: `autograph run --engine torch` will run it" if installed else ""
    )
    for name in _missing.NOT_REBUILT:
        owner, _, last = name.rpartition(".")
        if owner in ("torch", "torch.nn", "torch.masked") and name != "torch.fx":
            with pytest.raises(AttributeError, match=rf"{name} is not available .* does not rebuild .*{end}$"):
                getattr(find(torch, owner), last)
    monkeypatch.undo()
    with serve():
        for name in (
            "torch.fx.passes",
            "torch.ao.quantization",
            "torch.nested",
            "torch.export",
            "torch.distributed.fsdp",
            "torch.distributed.pipelining",
            "torch.distributed.device_mesh",
        ):
            with pytest.raises(ModuleNotFoundError, match=r"torch\.[a-z._]+ is not available .* needs PyTorch itself"):
                importlib.import_module(name)


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
