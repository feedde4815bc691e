"""`import torch` is served from the engine within the block, and only there."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from autograph_cli.record.run import imports
from autograph_cli.record.run.imports import serve

LAYOUT = {
    "__init__.py": "from fake_engine import nn\nvalue = 1\n",
    "optim.py": "class SGD: ...\n",
    "nn/__init__.py": "",
    "nn/functional.py": "def relu(x): return x\n",
}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small package that plays the engine."""
    for name, text in LAYOUT.items():
        path = tmp_path / "fake_engine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(imports.SERVED, "torch", "fake_engine")
    for name in [name for name in sys.modules if name.partition(".")[0] == "fake_engine"]:
        monkeypatch.delitem(sys.modules, name)
    return "fake_engine"


@pytest.mark.parametrize("inner", ["", ".nn", ".nn.functional", ".optim"])
def test_served_module_is_the_engine_module_itself(engine: str, inner: str) -> None:
    with serve():
        assert importlib.import_module(f"torch{inner}") is importlib.import_module(engine + inner)


def test_all_forms_of_import_work(engine: str) -> None:
    with serve():
        import torch
        import torch.nn.functional as F
        from torch import nn, value
        from torch.optim import SGD

        assert torch.nn is nn
        assert nn.functional is F
        assert value == 1
        assert SGD.__module__ == "fake_engine.optim"


def test_spec_of_the_engine_modules_stays_their_own(engine: str) -> None:
    with serve():
        import torch.optim

        assert torch.__spec__.name == "fake_engine"
        assert torch.optim.__name__ == "fake_engine.optim"


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("import torch.distributed", "torch.distributed"),
        ("import torch.distributed.fsdp", "torch.distributed"),
        ("from torch import distributed", "torch.distributed"),
        ("from torch.distributed import rpc", "torch.distributed"),
        ("import torch.optim.swa_utils", "torch.optim.swa_utils"),
        ("from torch.nn.functional import gelu", "torch.nn.functional.gelu"),
    ],
)
def test_missing_module_is_named(engine: str, statement: str, missing: str) -> None:
    with serve(), pytest.raises(ModuleNotFoundError) as caught:
        exec(statement)
    assert str(caught.value) == f"{missing} is not available in autograph's engine yet"
    assert caught.value.name == missing


@pytest.mark.parametrize("name", ["torchtext", "torchaudio", "torchaudio.transforms"])
def test_packages_built_on_pytorch_are_refused_where_installed(engine: str, tmp_path: Path, name: str) -> None:
    root = name.partition(".")[0]
    with serve():
        assert importlib.util.find_spec(root) is None
    (tmp_path / root).mkdir()
    (tmp_path / root / "__init__.py").write_text("raise SystemExit('the real one was imported')")
    importlib.invalidate_caches()
    with serve():
        assert importlib.util.find_spec(root) is not None
        with pytest.raises(ImportError, match="is built on PyTorch itself"):
            importlib.import_module(name)


def test_everything_is_as_before_afterwards(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = ModuleType("torch")
    monkeypatch.setitem(sys.modules, "torch", installed)
    for name in [name for name in sys.modules if name.startswith("torch.")]:
        monkeypatch.delitem(sys.modules, name)
    finders = list(sys.meta_path)
    with pytest.raises(RuntimeError), serve():
        import torch.optim as optim

        assert sys.modules["torch"] is not installed
        raise RuntimeError
    assert sys.modules["torch"] is installed
    assert "torch.optim" not in sys.modules
    assert sys.meta_path == finders
    assert not hasattr(optim, "__path__")


def test_other_missing_modules_fail_in_pythons_words(engine: str) -> None:
    with serve(), pytest.raises(ModuleNotFoundError, match=r"^No module named 'torchless'$"):
        importlib.import_module("torchless")


def test_libraries_are_told_the_versions_of_what_is_served() -> None:
    from importlib import metadata

    with serve():
        import torch

        assert metadata.version("torch") == torch.__version__ == metadata.distribution("torch").version
        assert metadata.packages_distributions()["torch"][0] == "torch"
        assert {"torch", "torchvision"} <= {found.metadata["Name"] for found in metadata.distributions()}
    assert not [found for found in metadata.distributions() if found.version.endswith("+autograph")]


def test_functorch_is_the_former_name_of_func() -> None:
    with serve():
        import functorch
        import torch

        models = [torch.nn.Linear(3, 1) for _ in range(2)]
        run, params, buffers = functorch.combine_state_for_ensemble(models)
        x = torch.ones(3)
        found = functorch.vmap(run, in_dims=(0, 0, None))(params, buffers, x)
        assert torch.allclose(found, torch.stack([model(x) for model in models]))
        run, params = functorch.make_functional(models[0])
        slopes = functorch.grad(lambda p: run(p, x).sum())(params)
        assert [g.tolist() for g in slopes] == [[[1.0, 1.0, 1.0]], [1.0]]
        with pytest.raises(RuntimeError, match="has buffers"):
            functorch.make_functional(torch.nn.BatchNorm1d(2))
