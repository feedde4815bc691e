"""What is public at the top, and that asking for nothing imports nothing."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import autograph_cli
from tests.conftest import Run


def test_public_names() -> None:
    assert autograph_cli.__all__ == [
        "AutographError",
        "Graph",
        "GraphDiff",
        "__version__",
        "assert_gradients",
        "assert_no_findings",
        "assert_same_graph",
        "assert_same_numbers",
        "capture",
        "first_divergence",
        "record",
    ]
    for name in autograph_cli.__all__:
        assert getattr(autograph_cli, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(autograph_cli, "catpure")


def test_importing_the_package_and_its_pytest_plugin_is_light(python: Run) -> None:
    code = "import sys, autograph_cli, autograph_cli.testing.plugin; print([m for m in ('numpy', 'rich', 'click') if m in sys.modules])"
    assert python("-c", code).stdout == "[]\n"


AT_NEED = {
    "the engine": (
        "import autograph_cli.torch",
        "dataclasses difflib multiprocessing numpy.fft numpy.random traceback autograph_cli.torch.nn autograph_cli.torch.optim "
        "autograph_cli.torch._functorch.vmap autograph_cli.torch._kernels.gpu.cuda_kernels autograph_cli.torch._kernels.meta_kernels "
        "autograph_cli.torch.utils._python_dispatch",
    ),
    # But for a run of a file: its trace keeps a digest of the script, by which `show` tells that it has changed since.
    "the command": ("import autograph_cli.cli.main, autograph_cli.record.run.runner, autograph_cli.graph", "hashlib"),
    "a run of one process": (
        "import sys; from autograph_cli.cli.main import main; sys.argv = ['autograph', 'run', '-q', 'script.py']; main()",
        "concurrent.futures email importlib.metadata multiprocessing numpy.random socket tomllib autograph_cli.export "
        "autograph_cli.findings autograph_cli.record.measure.finite_difference",
    ),
}
"""Code, and what it is to leave to those who need it."""


@pytest.mark.parametrize("name", AT_NEED)
def test_what_few_need_is_imported_at_need(name: str, python: Run, tmp_path: Path) -> None:
    code, left = AT_NEED[name]
    (tmp_path / "script.py").write_text("import torch\n(torch.ones(2, requires_grad=True) * 2).sum().backward()\n")
    told = f"import atexit, sys; atexit.register(lambda: print([m for m in {left!r}.split() if m in sys.modules]))"
    assert python("-c", f"{told}; {code}").stdout == "[]\n"


# ---------------------------------------------------------------- docstrings

NAMESPACES = """
torch torch.Tensor torch.amp torch.autograd torch.autograd.forward_ad torch.autograd.function torch.autograd.functional
torch.autograd.graph torch.autograd.profiler torch.backends.cudnn torch.compiler torch.cpu torch.cuda torch.distributed
torch.distributions torch.fft torch.func torch.futures torch.hub torch.jit torch.library torch.linalg torch.masked torch.mps
torch.multiprocessing torch.nn torch.nn.attention torch.nn.functional torch.nn.init torch.nn.parallel torch.nn.parameter torch.nn.utils
torch.nn.utils.parametrizations torch.nn.utils.parametrize torch.nn.utils.rnn torch.nn.utils.stateless torch.onnx torch.optim
torch.optim.lr_scheduler torch.optim.swa_utils torch.overrides torch.profiler torch.random torch.serialization torch.signal.windows
torch.sparse torch.special torch.storage torch.testing torch.utils torch.utils.benchmark torch.utils.checkpoint torch.utils.data
torch.utils.data.distributed torch.utils.hooks torch.xpu
"""
ENGINE = "autograph_cli.torch"


def _names(space: Any) -> list[str]:
    return [name for name in vars(space).get("__all__", dir(space)) if not name.startswith("_")]


def _is_ours(found: Any) -> bool:
    return callable(found) and str(getattr(found, "__module__", "")).startswith((ENGINE, "torch"))


def _of_class(cls: type) -> Iterator[tuple[str, str | None]]:
    """The methods and properties, with what they or those that they override say."""
    for name in _names(cls):
        found = inspect.getattr_static(cls, name, None)
        is_member = (
            type(found) is property if isinstance(found, property) else _is_ours(getattr(found, "__func__", found))
        )
        if is_member:
            yield (
                name,
                next(filter(None, (getattr(vars(base).get(name), "__doc__", None) for base in cls.__mro__)), None),
            )


def _documented(space: str) -> Iterator[tuple[str, str | None]]:
    """Each public callable of a namespace, and the members of its classes, with its docstring."""
    top = import_module(ENGINE)
    for name in space.split(".")[1:]:
        top = getattr(top, name)
    for name in _names(top):
        found = getattr(top, name, None)
        if isinstance(found, type) and _is_ours(found):
            yield f"{space}.{name}", vars(found).get("__doc__")
            yield from ((f"{space}.{name}.{member}", doc) for member, doc in _of_class(found))
        elif _is_ours(found):
            yield f"{space}.{name}", inspect.getdoc(found)
    if isinstance(top, type):
        yield from ((f"{space}.{name}", doc) for name, doc in _of_class(top))


@pytest.mark.parametrize("space", NAMESPACES.split())
def test_every_public_callable_of_the_engine_has_a_docstring(space: str) -> None:
    found = dict(_documented(space))
    assert found
    assert [name for name, doc in found.items() if not doc or doc.startswith(f"{name.split('.')[-1]}(")] == []


def test_every_public_name_of_the_package_has_an_example() -> None:
    shown = [getattr(autograph_cli, name) for name in autograph_cli.__all__ if name != "__version__"]
    assert [found.__name__ for found in shown if ">>> " not in (inspect.getdoc(found) or "")] == []
