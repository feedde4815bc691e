"""What a script uses and the engine lacks is found without running it, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli import torch
from autograph_cli.record.run.scan import Missing, scan
from autograph_cli.record.run.tensor_names import TENSOR_NAMES
from tests import inside

MISSING = {
    "a function": ("import torch\ntorch.symeig(x)", "2 torch.symeig"),
    "a module under another name": ("import torch.nn as n\nn.Relu()", "2 torch.nn.Relu"),
    "a module from a package": ("from torch import nn\nnn.Relu()", "2 torch.nn.Relu"),
    "a module from deeper": ("from torch.nn import functional as F\nF.frob(x)", "2 torch.nn.functional.frob"),
    "a submodule, and what is in it": ("import torch.frob.deep as d\nd.x()", "1 torch.frob"),
    "a name from a module": ("from torch.nn import Linear, Frob", "1 torch.nn.Frob"),
    "an assigned name": ("import torch\nF = torch.nn.functional\nG = F\nG.frob(1)", "4 torch.nn.functional.frob"),
    "a method of a class": ("import torch\ntorch.Tensor.frob(x)", "2 torch.Tensor.frob"),
    "an import in a function": ("def f():\n  import torch as t\n  return t.frob", "3 torch.frob"),
    "a base and a decorator": ("import torch\n@torch.frob\nclass A(torch.frib): ...", "2 torch.frob; 3 torch.frib"),
    "an annotation": ("import torch\ndef f(x: torch.Frob): ...", "2 torch.Frob"),
    "a name in a string": ("import torch\ngetattr(torch, 'frob')", "2 torch.frob"),
    "a part of what is set": ("import torch\ntorch.backends.frob.flag = True", "2 torch.backends.frob"),
    "a package built on PyTorch": ("import torchaudio.models as m\nm.resnet18()", "1 torchaudio"),
    "the way out of a failed import": ("import torch\ntry: import a\nexcept ImportError: torch.frob", "3 torch.frob"),
    "a try that forgives other things": ("import torch\ntry: torch.frob\nexcept ValueError: 0", "2 torch.frob"),
    "a name that refuses": ("import torch.fx as fx\nfx.symbolic_trace(m)", "2 torch.fx.symbolic_trace"),
    "a method of something": ("import torch\nx.to_mkldnn()", "2 .to_mkldnn?"),
    "a method of a result": ("import torch\ntorch.ones(3).sum().to_mkldnn()", "2 .to_mkldnn?"),
}

NOTHING = {
    "what is there": "import torch\nfrom torch import nn\nnn.functional.relu(torch.ones(3)).sum().backward()",
    "parts loaded at need": "import torch\nfrom torch.utils.data import DataLoader\ntorch.distributions.Normal(0, 1)",
    "a module that a function hides": "from torch.autograd.gradcheck import gradcheck",
    "a mark for tracing": "import torch.fx\n@torch.fx.wrap\ndef f(): ...",
    "what may not be available": "import torch.distributed as d\nif d.is_available():\n  from torch.distributed import group",
    "other packages": "import torch, numpy as np\nnp.frob(1)\nnp.linalg.symeig()",
    "a failed import": "try:\n  from torch import frob\nexcept ImportError:\n  frob = None",
    "a name after its import may fail": "try: import torch.frob as d\nexcept ImportError: ok = 0\nif ok: d.x()",
    "any failure": "import torch\ntry: torch.frob\nexcept: pass",
    "suppressed failure": "import torch, contextlib\nwith contextlib.suppress(AttributeError): torch.frob",
    "a condition on the version": "import torch\nif torch.__version__ < '1.9': torch.frob\nelse: torch.frib",
    "imports for annotations": "import typing, torch\nif typing.TYPE_CHECKING: from torch import Frob",
    "hasattr": "import torch\nif hasattr(torch, 'frob'): torch.frob.deep()",
    "hasattr of anything": "import torch\nif hasattr(x, 'to_mkldnn'): x.to_mkldnn()",
    "getattr with a default": "import torch\ngetattr(torch, 'frob', None)",
    "what the script sets": "import torch\ntorch.frob = 1\ntorch.frob\nsetattr(torch, 'frib', 2)\ntorch.frib",
    "an argument of that name": "import torch\ndef f(torch): torch.frob",
    "a variable of that name": "import torch\nfor torch in x: torch.frob",
    "a name of two meanings": "import torch\nF = torch.nn\nF = other\nF.frob",
    "a class attribute seen from a method": "import torch\nclass A:\n  F = torch.nn\n  def f(self): F.frob",
    "a method of the script's own": "import torch\nclass A:\n  def to_mkldnn(self): ...\nA().to_mkldnn()",
    "a method that lists have": "import torch\n[1].index(1)\nx.index(2)",
    "annotations that are not evaluated": "from __future__ import annotations\nimport torch\ndef f(x: torch.Frob): ...",
    "a script without torch": "x.to_mkldnn()",
    "an endless alias": "import torch\na = b\nb = a\na.frob()",
}


def found(source: str, folder: Path | None = None) -> str:
    return "; ".join(
        f"{lack.line} {lack.name}{'' if lack.certain else '?'}" for lack in scan(source.encode(), "s.py", folder)
    )


@pytest.mark.parametrize(("source", "expected"), MISSING.values(), ids=MISSING)
def test_missing_name_is_found(source: str, expected: str) -> None:
    assert found(source) == expected


@pytest.mark.parametrize("source", NOTHING.values(), ids=NOTHING)
def test_nothing_else_is_reported(source: str) -> None:
    assert found(source) == ""


def test_name_is_reported_where_it_is_first_used() -> None:
    assert found("import torch\n\ntorch.frob()\ntorch.frob()") == "3 torch.frob"


@pytest.mark.parametrize(
    "form", ["import helpers", "from helpers import f", "from . import helpers", "import pkg.inner"]
)
def test_modules_beside_the_script_are_read_and_not_run(tmp_path: Path, form: str) -> None:
    (tmp_path / "pkg").mkdir()
    for file in ("helpers.py", "pkg/inner.py"):
        (tmp_path / file).write_text("import torch\n1 / 0\ntorch.frob()")
    [lack] = scan(f"{form}\n".encode(), "src/s.py", tmp_path)
    assert lack == Missing("src/pkg/inner.py" if "pkg" in form else "src/helpers.py", 3, "torch.frob")


def test_module_that_is_not_python_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("def")
    assert found("import torch, helpers\ntorch.frob", tmp_path) == "2 torch.frob"


def test_advice_comes_with_the_name() -> None:
    [first, second] = scan(b"import torch\ntorch.symeig\ntorch.nn.Relu")
    assert first.advice == "use torch.linalg.eigh instead"
    assert second.advice == "did you mean torch.nn.ReLU?"


def test_what_is_advised_is_there() -> None:
    for name in inside.advised_names():
        position = torch
        for part in name.split(".")[1:]:
            position = getattr(position, part)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("torch.symeig", "; use torch.linalg.eigh instead"),
        ("torch.nn.Relu", "torch.nn.Relu is not available in autograph's engine yet; did you mean torch.nn.ReLU?"),
        (
            "torch.linalg.eih",
            "torch.linalg.eih is not available in autograph's engine yet; did you mean torch.linalg.eigh?",
        ),
        ("torch.fft.frob", "torch.fft.frob is not available in autograph's engine yet"),
        ("torch.testing.assert_allclose", "; use torch.testing.assert_close instead"),
    ],
)
def test_error_of_a_missing_name_says_what_to_use(expression: str, message: str) -> None:
    with pytest.raises(AttributeError) as caught:
        eval(expression, {"torch": torch})
    assert str(caught.value).endswith(message)


def test_recorded_names_are_those_of_the_tensors_of_pytorch() -> None:
    reference = pytest.importorskip("torch")
    assert reference.__version__.startswith("2.13"), reference.__version__
    assert {name for name in dir(reference.Tensor) if not name.startswith("_")} == TENSOR_NAMES


@pytest.mark.parametrize("needs", ["torch>=2.0", 'torch; extra == "torch"', "numpy"])
def test_what_an_installed_package_needs_to_be_imported_is_read(tmp_path, monkeypatch, needs: str) -> None:
    package = tmp_path / "built_on"
    (package / "parts").mkdir(parents=True)
    (package / "__init__.py").write_text("from .parts import layer\nimport torch\nif TYPE_CHECKING:\n    torch.no\n")
    (package / "parts" / "__init__.py").write_text("")
    (package / "parts" / "layer.py").write_text("import torch\nx = torch.frob\ndef f():\n    return torch.frib\n")
    (package / "lazy.py").write_text("import torch\nclass Late(torch.nn.Frob): ...\n")
    about = tmp_path / "built_on-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: built_on\nVersion: 1.0\nRequires-Dist: {needs}\n")
    (about / "top_level.txt").write_text("built_on\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    source = b"from built_on import Late\nimport torch"
    told = [f"{x.file}:{x.line} {x.name}" for x in scan(source, packages=True)]
    lacking = ["built_on/lazy.py:2 torch.nn.Frob", "built_on/parts/layer.py:2 torch.frob"]
    assert sorted(told) == ([] if needs == "numpy" else lacking)
    assert scan(source) == []
