"""What is true of an operation stands in its record: generic code has no lists of operations, and asks none for its name."""

import ast
from pathlib import Path

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.operations.op_traits import DEFAULTS, NAMES
from autograph_cli.torch._core.operations.operation import operation, table
from tests.cases import for_each

ENGINE = Path(torch.__file__).parent
NAMED = {name for op in table.values() for name in (op.name, op.identifier)}
GENERIC = sorted(
    path
    for folder in ("_arrays", "_core", "_functorch", "_kernels", "autograd", "amp")
    for path in ENGINE.glob(f"{folder}/**/*.py")
)
TABLES = {
    "_arrays/meta.py: for _name": "methods of ndarray",
    "_core/arguments/arg_check.py: BARE": "public functions whose calls are hottest",
    "_core/arguments/arg_check.py: QUICK": "public functions whose calls are hottest; most are no operations",
    "_core/arguments/delegates.py: BOUND": "functions of nn.functional",
    "_core/running/autocast_on_gpu.py: LISTS": "PyTorch's lists of what autocast does with operations on a GPU",
    "_core/arguments/delegates.py: OTHERS": "functions of nn.functional",
    "_core/arguments/overrides.py: AS_CALLED": "functions of nn.functional",
    "_core/arguments/parsing.py: TAKE_NUMBERS": "public functions, with their aliases, whose signatures say Tensor where a number may stand",
    "_arrays/stand_in.py: for _name": "operators of Python",
    "_kernels/gpu/cuda_kernels.py: for _name": "the kernels that this file defines",
    "_kernels/elements/indexing.py: _ufuncs": "values of the argument `reduce`",
    "_kernels/inplace.py: for _name": "the kernels of optimizers that this file defines",
    "_kernels/layers/interpolate.py: RESIZINGS": "the kernels that this file defines",
    "_kernels/elementwise/pointwise.py: direct": "the kernels that this table defines",
    "_kernels/elements/sparse.py: @_norm": "the operations that this kernel computes",
    "_kernels/reducing/segments.py: _STARTS": "values of the argument `reduce`",
    "_kernels/reducing/segments.py: _UFUNCS": "values of the argument `reduce`",
    "_kernels/variants.py: VARIANTS": "kernels, before which compiled ones stand",
}
"""What names operations all the same, with what it really lists."""
QUESTIONS = {"_core/arguments/delegates.py: name != 'relu'": "a function of nn.functional"}


def said(node):
    """The words of all strings in an expression."""
    strings = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return {word for text in strings for word in text.split()}


def statements(tree):
    """Yield what a module or a class of it assigns, loops over or decorates with, by name."""
    for statement in [
        s for owner in (tree, *(n for n in tree.body if isinstance(n, ast.ClassDef))) for s in owner.body
    ]:
        if isinstance(statement, ast.For):
            yield f"for {ast.unparse(statement.target)}", statement.iter
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            yield ast.unparse(target), statement.value
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)) and statement.decorator_list:
            yield f"@{statement.name}", ast.Tuple(statement.decorator_list)
        elif isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
            yield ast.unparse(statement.value)[:40], statement.value


def questions(tree):
    """Comparisons of something's name with that of an operation."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            names = [s for s in sides if getattr(s, "attr", getattr(s, "id", "")) in ("name", "identifier", "__name__")]
            if names and any(said(s) & (NAMED | {"backward", "NotImplemented"}) for s in sides):
                yield ast.unparse(node)


def places(found):
    return {
        f"{path.relative_to(ENGINE).as_posix()}: {name}"
        for path in GENERIC
        for name in found(ast.parse(path.read_text("utf-8")))
    }


def test_no_table_of_generic_code_names_operations():
    tables = places(lambda tree: [name for name, value in statements(tree) if len(said(value) & NAMED) > 2])
    assert tables == set(TABLES)


def test_no_generic_code_asks_for_the_name_of_an_operation():
    assert places(questions) == set(QUESTIONS)


@for_each("trait", sorted(NAMES))
def test_a_trait_is_what_some_operations_have_and_most_do_not(trait):
    different = sum(getattr(op, trait) != DEFAULTS[trait] for op in table.values())
    assert different
    assert trait in ("pointwise", "linear") or different < len(table) / 2


def test_what_is_no_trait_and_no_input_is_refused():
    with pytest.raises(ValueError, match="never_heard_of: no argument 'pointwisse'"):
        operation("never_heard_of(Tensor self)", pointwisse=lambda f, grad: grad)
