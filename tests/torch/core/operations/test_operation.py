"""Operations: schemas, the two ways to run, formulas as text, and what a wrong definition says."""

import dis
from pathlib import Path
from types import FunctionType

import pytest

from autograph_cli import torch
from autograph_cli.torch._core.base import schema
from autograph_cli.torch._core.base.state import process_state
from autograph_cli.torch._core.operations.operation import Derivative, Operation, camel, operation, table
from autograph_cli.torch._core.running import dispatch
from autograph_cli.torch._core.running.calling import fast_tape
from autograph_cli.torch._core.tape.node import Node
from tests.torch.ops.record_expressions import cases, observe

SCHEMAS = {
    "sin(Tensor self)": ("sin", [("self", "Tensor", schema.REQUIRED, False)], ("result",)),
    "add(Tensor self, Tensor other, *, Scalar alpha=1)": (
        "add",
        [
            ("self", "Tensor", schema.REQUIRED, False),
            ("other", "Tensor", schema.REQUIRED, False),
            ("alpha", "Scalar", 1, True),
        ],
        ("result",),
    ),
    "sum.dim_IntList(Tensor self, int[]? dim, bool keepdim=False) -> Tensor": (
        "sum_dim_IntList",
        [
            ("self", "Tensor", schema.REQUIRED, False),
            ("dim", "int[]?", schema.REQUIRED, False),
            ("keepdim", "bool", False, False),
        ],
        ("result",),
    ),
    "max.dim(Tensor self, int dim=-1) -> (Tensor values, Tensor indices)": (
        "max_dim",
        [("self", "Tensor", schema.REQUIRED, False), ("dim", "int", -1, False)],
        ("values", "indices"),
    ),
    "f(Tensor?[] x, float p=0.5, str mode='a', int[] d=[0, 1], Tensor? w=None) -> (Tensor, Tensor)": (
        "f",
        [
            ("x", "Tensor?[]", schema.REQUIRED, False),
            ("p", "float", 0.5, False),
            ("mode", "str", "a", False),
            ("d", "int[]", (0, 1), False),
            ("w", "Tensor?", None, False),
        ],
        ("result0", "result1"),
    ),
    "zeros()": ("zeros", [], ("result",)),
}


@pytest.mark.parametrize("text", SCHEMAS)
def test_a_schema_is_read(text):
    identifier, parameters, outputs = SCHEMAS[text]
    parsed = schema.parse(text)
    assert parsed.identifier == identifier and parsed.outputs == outputs
    assert [(p.name, p.type, p.default, p.keyword_only) for p in parsed.parameters] == parameters


@pytest.mark.parametrize("text", ["", "sin", "sin Tensor self", "sin(Tensor self"])
def test_what_is_no_schema_is_refused(text):
    with pytest.raises(ValueError, match="not an operator schema"):
        schema.parse(text)


@pytest.mark.parametrize(
    "name, node", [("mul", "Mul"), ("binary_cross_entropy", "BinaryCrossEntropy"), ("_to_copy", "ToCopy")]
)
def test_node_names_follow_the_operation(name, node):
    assert camel(name) == node


@pytest.mark.parametrize(
    "schema_text, formulas, message",
    [
        ("mul(Tensor self, Tensor other)", {}, "defined twice"),
        ("wrong1(Tensor self)", {"other": lambda f, grad: grad}, "no argument 'other'"),
    ],
)
def test_a_wrong_definition_is_refused(schema_text, formulas, message):
    before = set(table)
    with pytest.raises(ValueError, match=message):
        operation(schema_text, lambda f, *args: args[0], **formulas)
    assert set(table) == before


@pytest.mark.parametrize(
    "schema_text, name, formula, message",
    [
        (
            "wrong2(Tensor self)",
            "self",
            lambda f, grad, strange: grad,
            "names 'strange', which is no argument and no output",
        ),
        ("wrong3(Tensor self, int n)", "n", lambda f, grad: grad, "derivative of n, which is no tensor argument"),
    ],
)
def test_a_wrong_formula_is_refused_when_the_record_is_first_used(schema_text, name, formula, message):
    record = Operation(schema.parse(schema_text), "neg", "Wrong", (Derivative((name,), formula, False),), {})
    with pytest.raises(ValueError, match=message):
        assert record.node


def test_every_record_can_be_used():
    for op in table.values():
        assert issubclass(op.node, Node) and len(op.saving) == len(op.saved_names)
        assert callable(op.kernel_function) and callable(op.bind)


@pytest.mark.parametrize(
    "identifier, name, text",
    [
        ("mul", "self", "grad * f.conj(other)"),
        ("exp", "self", "grad * f.conj(result)"),
        ("sin", "self", "grad * f.conj(f.cos(self))"),
        ("add", "other", "scaled(f, grad, alpha)"),
        ("transpose", "self", "f.transpose(grad, dim0, dim1)"),
    ],
)
def test_a_formula_can_be_read(identifier, name, text):
    assert table[identifier].formula_text(name) == text


def test_every_formula_has_a_text():
    for op in table.values():
        for parameter in op.inputs:
            text = op.formula_text(parameter.name)
            assert text and "<" not in text.replace("<=", ""), f"{op.identifier}: {text}"


def test_every_formula_saves_what_it_names_under_pytorchs_name():
    node = table["sum_dim_IntList"].node
    assert node._ag_item_names == ("self_sizes", "dim", "keepdim")
    assert all(hasattr(node, name) for name in ("_saved_self_sym_sizes", "_saved_dim", "_saved_keepdim"))


def test_a_wrong_argument_is_named():
    with pytest.raises(TypeError, match=r"sin\(\): argument 'input' \(position 1\) must be Tensor, not float"):
        torch.sin(1.5)
    with pytest.raises(TypeError, match="unsupported operand"):
        torch.ones(2) + "a"


def result_of(code):
    try:
        return observe(torch, code)
    except (AttributeError, NotImplementedError) as error:
        return str(error)


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("part", range(8))
def test_the_compiled_way_and_the_general_way_agree(part):
    """Everything that test_expressions.py checks of the compiled way holds of the general one."""
    for code in cases()[part::8]:
        compiled = result_of(code)
        process_state.special += 1
        try:
            general = result_of(code)
        finally:
            process_state.special -= 1
        assert repr(general) == repr(compiled), code


class Held(torch.Tensor):
    """A class whose `__torch_dispatch__` computes."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return torch.zeros(2)


UNUSUAL = {
    "without memory": lambda: torch.ones(2, device="meta"),
    "conjugated when it is read": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "by coordinates": lambda: torch.eye(2).to_sparse(),
    "by rows": lambda: torch.eye(2).to_sparse_csr(),
    "of a class that computes": lambda: torch.Tensor._make_wrapper_subclass(Held, (2,)),
}


@pytest.mark.skipif(fast_tape() is None, reason="without the compiled tape all operations take the general way")
@pytest.mark.parametrize("name", UNUSUAL)
def test_only_operations_on_an_unusual_tensor_take_the_general_way(name, monkeypatch):
    unusual, x = UNUSUAL[name](), torch.ones(2, requires_grad=True)
    taken, way = [], dispatch.run
    monkeypatch.setattr(dispatch, "run", lambda *call: taken.append(call[0]) or way(*call))
    torch.mul(x.exp(), x).view(1, 2).sum().backward()
    assert taken == [] and x.grad.tolist() == (2 * torch.ones(2).exp()).tolist()
    if unusual.layout is torch.strided:
        like = torch.ones_like(unusual)
        (
            torch.exp(unusual),
            torch.mul(unusual, unusual),
            torch.mul(unusual, 2),
            torch.mul(like, unusual),
            unusual.view(2, 1),
        )
        assert [op.name for op in taken] == ["exp", "mul", "mul", "mul", "view"]


def test_out_takes_the_result():
    out = torch.empty(2)
    assert torch.add(torch.ones(2), 2, out=out) is out and out.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match=r"functions with out=... arguments don't support automatic differentiation"):
        torch.add(torch.ones(2, requires_grad=True), 2, out=out)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        torch.mul(torch.ones(2), 1.5, out=torch.empty(2, dtype=torch.long))


def test_no_two_families_of_kernels_have_a_method_of_the_same_name():
    from autograph_cli.torch._kernels import Kernels

    owners = {}
    for family in Kernels.__mro__[1:-1]:
        for name in vars(family):
            if not name.startswith("__"):
                owners.setdefault(name, []).append(family.__name__)
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}


def test_what_computes_with_arrays_stands_in_the_folder_of_kernels() -> None:
    """A kernel given to `operation(...)` is a name, or one expression that calls kernels."""
    folder = Path(torch.__file__).parent / "_ops"
    for record in table.values():
        code = getattr(record.kernel, "__code__", None)
        if code is not None and folder in Path(code.co_filename).parents:
            assert code.co_name == "<lambda>", f"{record.identifier}: {code.co_name} is to stand in _kernels"
            assert "xp" not in code.co_names, f"{record.identifier}: what asks the array module stands in _kernels"
            used = [each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"]
            made_here = [name for name in used if isinstance(record.kernel.__globals__.get(name), FunctionType)]
            assert not made_here, f"{record.identifier}: {made_here} are to stand in _kernels"


def test_a_room_of_the_engine_has_a_dozen_files_and_a_few() -> None:
    engine = Path(torch.__file__).parent
    rooms = [room for name in ("_ops", "_kernels") for room in (engine / name).rglob("__init__.py")]
    assert {str(room): count for room in rooms if (count := len([*room.parent.glob("*.py")])) > 16} == {}
