"""What type checkers are told of Tensor's methods is what it has."""

import ast
import inspect
from pathlib import Path

from autograph_cli.torch import Tensor
from autograph_cli.torch._core.tape import tensor_methods


def test_every_declared_method_is_there() -> None:
    module = ast.parse(Path(inspect.getsourcefile(tensor_methods)).read_text())
    methods = next(node for node in module.body if isinstance(node, ast.ClassDef))
    targets = [t for node in methods.body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in methods.body if isinstance(node, ast.AnnAssign)]
    declared = [target.id for target in targets]
    assert len(declared) > 500
    assert len(declared) == len(set(declared))
    assert [name for name in declared if name not in vars(Tensor)] == []
