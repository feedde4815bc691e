"""The safetensors package runs on the engine: the same bytes and tensors as on PyTorch."""

from pathlib import Path

import pytest

from tests.conftest import Run

HERE = Path(__file__).parent
PACKAGE = f"""
import pathlib, sys
import torch, safetensors
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
sys.path.insert(0, {str(HERE)!r})
from record_safetensors import EXPECTED, METADATA, tensors
wanted = tensors(torch)
"""
"""The lines that a script of these tests begins with."""
SCRIPTS = {
    "it is the package itself": (
        "print(hasattr(safetensors, 'serialize'), 'autograph' in safetensors.__version__)",
        ["True False"],
    ),
    "what it wrote on PyTorch is read": (
        "for found in (load_file(EXPECTED), load(EXPECTED.read_bytes())):\n"
        "    print(found.keys() == wanted.keys(), [name for name, x in wanted.items() if found[name].dtype != x.dtype"
        " or found[name].shape != x.shape or not torch.equal(found[name], x)])",
        ["True []"] * 2,
    ),
    "the bytes are those that it writes on PyTorch": (
        "save_file(wanted, 'x', METADATA)\n"
        "print(save(wanted, METADATA) == EXPECTED.read_bytes() == pathlib.Path('x').read_bytes())",
        ["True"],
    ),
    "an open file gives tensors and parts of them": (
        "with safe_open(EXPECTED, framework='pt') as file:\n"
        "    part = file.get_slice('layer.weight')\n"
        "    print(file.metadata(), part.get_shape(), part[0].tolist(), part[:, 1:].tolist(), part[..., -1].tolist())",
        ["{'format': 'pt'} [2, 3] [0.0, 1.0, 2.0] [[1.0, 2.0], [4.0, 5.0]] [2.0, 5.0]"],
    ),
    "what is read may be changed, and is not one memory": (
        "found = load_file(EXPECTED)\n"
        "weight = found['layer.weight'].add_(1)\n"
        "print(weight.sum(), load_file(EXPECTED)['layer.weight'].sum(), weight.untyped_storage().nbytes())\n"
        "print(len({x.untyped_storage().data_ptr() for x in found.values() if x.numel()}) == len(found) - 1)",
        ["tensor(21.) tensor(15.) 24", "True"],
    ),
    "shared parameters are written once": (
        "class Tied(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.a = torch.nn.Linear(2, 2, bias=False)\n"
        "        self.b = torch.nn.Linear(2, 2, bias=False)\n"
        "        self.b.weight = self.a.weight\n"
        "model, other = Tied(), Tied()\n"
        "try: save_file(model.state_dict(), 'x')\n"
        "except RuntimeError as error: print('Some tensors share memory' in str(error))\n"
        "save_model(model, 'x')\n"
        "print(load_model(other, 'x'), torch.equal(other.b.weight, model.a.weight), other.b.weight is other.a.weight)",
        ["True", "(set(), []) True True"],
    ),
    "parts of one tensor are no shared memory": (
        "x = torch.arange(6.0).reshape(2, 3)\n"
        "print(*[x.tolist() for _, x in sorted(load(save({'a': x[0], 'b': x[1]})).items())])\n"
        "try: save({'a': x.T})\n"
        "except ValueError as error: print('non contiguous tensor: `a`' in str(error))",
        ["[0.0, 1.0, 2.0] [3.0, 4.0, 5.0]", "True"],
    ),
}


@pytest.mark.parametrize("what", SCRIPTS)
def test_the_package_runs_on_the_engine(autograph: Run, tmp_path: Path, what: str) -> None:
    script, printed = SCRIPTS[what]
    (tmp_path / "s.py").write_text(PACKAGE + script)
    done = autograph("run", "-q", "s.py")
    assert done.stdout.splitlines()[: len(printed)] == printed, done.stderr


def test_weights_from_a_file_are_recorded_as_leaves(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(
        "import torch\nfrom safetensors.torch import load_file, save_file\n"
        "save_file({'w': torch.ones(2), 'b': torch.ones(2)}, 'x')\n"
        "found = load_file('x')\nw, b = found['w'].requires_grad_(), found['b'].requires_grad_()\n"
        "loss = (w * b).sum()\nloss.backward()\n"
    )
    done = autograph("run", "-o", "t.json", "s.py")
    assert done.returncode == 0, done.stderr
    shown = autograph("show", "t.json").stdout
    assert "MulBackward0" in shown


def test_where_it_is_not_installed_it_is_said_what_to_do(autograph: Run, tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("import sys\nsys.modules['safetensors'] = None\nimport safetensors\n")
    done = autograph("run", "-q", "s.py")
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("pip install safetensors")
