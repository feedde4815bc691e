"""Operations: a schema, a kernel and one derivative per input make a function on tensors and its node.

A formula is a function of `f`, `grad` and whatever it needs by name: an input (`self`), an output (`result`), a plain
argument (`dim`), or the sizes or the dtype of an input (`self_sizes`, `self_dtype`). What it names is what the node
saves. With `f` = kernels it computes on raw arrays; with `f` = operations on tensors, and is recorded itself.

Each operation has two ways to run: `dispatch.run` handles every mode and every kind of argument, the compiled tape
plain calls (calling.py).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ..._arrays.backends import NUMPY
from ..base import schema as schemas
from ..base.errors import refused
from ..base.op_namespace import operations as operations, table as table
from ..base.schema import REQUIRED, Parameter, Schema
from ..running import device_dispatch
from ..running.calling import function_of, in_order, operator_of
from ..tape import saved_attributes
from ..tape.node import Node
from . import docstrings, op_traits
from .formula_text import text_of
from .formulas import Formula as FormulaPlan, formulas_of, run_raw, run_recorded
from .op_traits import Traits

if TYPE_CHECKING:
    from ..tape.tensor import Tensor

Formula = Callable[..., Any]


class at_first_use:
    """A method without arguments that becomes an attribute when it is first asked for: most operations are not used in
    a program. Threads that ask at once get the same object."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make

    def __get__(self, owner: Any, cls: type) -> Any:
        return vars(owner).setdefault(self.make.__name__, self.make(owner))


class Derivative:
    """A formula, the inputs whose gradients it gives, and what it needs to be called."""

    __slots__ = ("formula", "inputs", "joint", "needs")

    def __init__(self, inputs: tuple[str, ...], formula: Formula, joint: bool) -> None:
        self.inputs = inputs
        self.formula = formula
        self.joint = joint
        code = formula.__code__
        self.needs = code.co_varnames[: code.co_argcount][1:]


class OperationFunction(Protocol):
    """An operation as a function on tensors."""

    op: Operation
    __name__: str
    __module__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        """A tensor; the several that an operation may give instead are in a tuple, which type checkers see unpacked as
        a tensor is."""


class Operation(Traits):
    """One operation's record."""

    function: OperationFunction

    def __init__(
        self,
        schema: Schema,
        kernel: str | Callable[..., Any],
        node_name: str,
        derivatives: tuple[Derivative, ...],
        traits: Mapping[str, Any],
    ) -> None:
        self.schema = schema
        self.name = schema.name
        self.identifier = schema.identifier
        self.kernel = kernel
        self.derivatives = derivatives
        vars(self).update(op_traits.DEFAULTS, **traits)
        if self.pointwise is None:
            self.pointwise = bool(self.promotes or self.floating)
        if self.linear is None:
            self.linear = self.view
        self.multiple = len(schema.outputs) > 1 or self.list_result
        self.node_name = node_name

    def bind(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """All arguments in order, of a call with some of them left out or given by name."""
        return in_order(self, args, kwargs)

    @at_first_use
    def operator(self) -> Any:
        """The function as an operator of Tensor, which returns NotImplemented for operands that it does not know."""
        return operator_of(self)

    @at_first_use
    def names(self) -> tuple[str, ...]:
        """The names of the arguments as calls give them."""
        return tuple(sys.intern("input" if p.name == "self" else p.name) for p in self.schema.parameters)

    @at_first_use
    def positional(self) -> int:
        """Return how many arguments may be given by position."""
        return sum(not p.keyword_only for p in self.schema.parameters)

    @at_first_use
    def least(self) -> int:
        """Return how many arguments must be given."""
        return sum(p.default is REQUIRED for p in self.schema.parameters)

    @at_first_use
    def defaults(self) -> tuple[Any, ...]:
        """For each argument its default, or REQUIRED."""
        return tuple(p.default for p in self.schema.parameters)

    @at_first_use
    def signature(self) -> inspect.Signature:
        """The parameters as Python's `inspect` shows those of a function."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        parameters = []
        for name, p in zip(self.names, self.schema.parameters, strict=True):
            default = inspect.Parameter.empty if p.default is REQUIRED else p.default
            parameters.append(inspect.Parameter(name, kinds[p.keyword_only], default=default))
        out = [] if self.view else [inspect.Parameter("out", kinds[1], default=None)]
        return inspect.Signature(parameters + out)

    @at_first_use
    def formulas(self) -> tuple[FormulaPlan, ...]:
        """Return how the formulas are called on raw arrays."""
        return formulas_of(self, recorded=False)

    @at_first_use
    def recorded_formulas(self) -> tuple[FormulaPlan, ...]:
        """Return how they are called on tensors, recorded."""
        return formulas_of(self, recorded=True)

    @at_first_use
    def kernel_function(self) -> Callable[..., Any]:
        """The kernel on NumPy's arrays; AttributeError where there is none of that name."""
        return device_dispatch.bound(self, NUMPY.kernels)

    @at_first_use
    def elementwise(self) -> bool:
        """Return whether the result is laid out in memory as PyTorch's iterator over tensors has it."""
        return (
            bool(self.promotes or self.floating or self.pointwise)
            and not (self.multiple or self.view or self.memory_format not in ("", "own"))
            and not any(p.type.startswith("MemoryFormat") for p in self.schema.parameters)
        )

    @at_first_use
    def positions(self) -> tuple[tuple[int, Parameter], ...]:
        """Return where the tensor arguments stand."""
        return tuple((i, p) for i, p in enumerate(self.schema.parameters) if p.is_tensor or p.is_list)

    @at_first_use
    def numbers(self) -> tuple[int, ...]:
        """Return where the arguments stand that are one number, which may come as a tensor without dimensions."""
        kinds = ("Scalar", "float", "int", "bool")
        return tuple(i for i, p in enumerate(self.schema.parameters) if p.type.rstrip("?") in kinds)

    @at_first_use
    def input_positions(self) -> tuple[tuple[int, Parameter], ...]:
        """Return where those stand that have a derivative; ValueError where another argument is given one."""
        given = {name for d in self.derivatives for name in d.inputs}
        unknown = given - {p.name for p in self.tensors}
        if unknown:
            raise refused(
                ValueError,
                f"{self.identifier}: derivative of {', '.join(sorted(unknown))}, which is no tensor argument",
            )
        return tuple((i, p) for i, p in self.positions if p.name in given)

    @at_first_use
    def tensors(self) -> tuple[Parameter, ...]:
        """The tensor arguments."""
        return tuple(p for _, p in self.positions)

    @at_first_use
    def inputs(self) -> tuple[Parameter, ...]:
        """The tensor arguments that have a derivative."""
        return tuple(p for _, p in self.input_positions)

    @at_first_use
    def output_mask(self) -> int | None:
        """Return where the argument stands that says which outputs are asked for; the kernel leaves the others
        empty."""
        return next((i for i, p in enumerate(self.schema.parameters) if p.name == "output_mask"), None)

    @at_first_use
    def takes_lists(self) -> bool:
        """Return whether an argument is a list of tensors."""
        return any(p.is_list for p in self.tensors)

    @at_first_use
    def flattens(self) -> bool:
        """Return whether such a list has derivatives."""
        return any(p.is_list for p in self.inputs)

    @at_first_use
    def required_edges(self) -> dict[str, int | None]:
        """For each saved thing the edge without which it is not saved; None: it is saved whatever is wanted, as PyTorch
        does it."""
        return {name: self._required_edge(name) for name in self.saved_names}

    @at_first_use
    def saving(self) -> tuple[tuple[int | None, int | None, int | None, str], ...]:
        """For each saved thing its guard and where it comes from: (guard, output, argument, property)."""
        return tuple(map(self._origin, self.saved_names))

    @at_first_use
    def node(self) -> type[Node]:
        """The class of the nodes that it leaves."""
        return self._node_type(self.node_name)

    @at_first_use
    def saved_names(self) -> tuple[str, ...]:
        """Return what the formulas name and the node keeps; ValueError for a name that says nothing."""
        special = {"grad", "grads", "mask", "total"} - {p.name for p in self.schema.parameters}
        names: list[str] = []
        for derivative in self.derivatives:
            names += [n for n in derivative.needs if n not in special and n not in names]
        for show in self.saved.values():
            names += [n for n in saved_attributes.needs(show) if n not in names]
        known = {p.name for p in self.schema.parameters} | set(self.schema.outputs)
        for name in names:
            if name not in known and name.rpartition("_")[0] not in known:
                raise refused(
                    ValueError, f"{self.identifier}: a formula names {name!r}, which is no argument and no output"
                )
        return tuple(names)

    def _origin(self, name: str) -> tuple[int | None, int | None, int | None, str]:
        given = [p.name for p in self.schema.parameters]
        if name in self.schema.outputs:
            return self.required_edges[name], self.schema.outputs.index(name), None, ""
        if name in given:
            return self.required_edges[name] if self.is_tensor(name) else None, None, given.index(name), ""
        head, _, tail = name.rpartition("_")
        inputs = [p.name for p in self.inputs]
        guard = inputs.index(head) if tail == "strides" and head in inputs and not self.flattens else None
        return guard, None, given.index(head) if head in given else None, tail

    def _node_type(self, name: str) -> type[Node]:
        edge = {p.name: i for i, p in enumerate(self.inputs)}
        result = {n: i for i, n in enumerate(self.schema.outputs)}
        names = self.saved_names
        outputs = self.schema.outputs
        shown = saved_attributes.members(self)
        members = {
            "__slots__": ("_ag_kept",) if callable(shown["_ag_frees"]) else (),
            "__doc__": f"Backward of {self.identifier}.",
            "_ag_operation": self,
            "_ag_multiple": self.multiple,
            "_ag_item_names": names,
            "_ag_item_edges": tuple(edge.get(n) for n in names),
            "_ag_item_results": tuple(result.get(n) for n in names),
            "_ag_differentiable": frozenset(i for i, n in enumerate(outputs) if n not in self.nondifferentiable),
            **shown,
            **({"_ag_run_raw": run_raw, "_ag_run_recorded": run_recorded} if self.derivatives else {}),
        }
        if "::" in name:
            members["_ag_name"] = lambda node: name
        return type(name.rpartition("::")[2], (Node,), members)

    def is_tensor(self, name: str) -> bool:
        """Return whether the saved thing `name` is a tensor (an input or an output)."""
        return name in self.schema.outputs or any(p.name == name for p in self.tensors)

    def _required_edge(self, name: str) -> int | None:
        users = [d for d in self.derivatives if name in d.needs]
        several = len(self.derivatives) > 1 and not self.flattens and not self.saves_all
        if not several or len(users) != 1 or len(users[0].inputs) != 1 or name in self.schema.outputs:
            return None
        return next(i for i, p in enumerate(self.inputs) if p.name == users[0].inputs[0])

    def formula_text(self, name: str) -> str:
        """The derivative of input `name` as the source has it."""
        for derivative in self.derivatives:
            if name in derivative.inputs:
                return text_of(derivative.formula)
        raise refused(KeyError, name)

    def __repr__(self) -> str:
        return f"<operation {self.identifier}>"


def camel(name: str) -> str:
    """`binary_cross_entropy` -> `BinaryCrossEntropy`, PyTorch's rule for node names."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def right_first(right: Any, left: Any) -> Any:
    """`left * right` in a formula, of which PyTorch's C++ works out the right factor first: the nodes of the second
    derivative are numbered so."""
    return left * right


def operation(
    schema: str,
    kernel: str | Callable[..., Any] | None = None,
    *,
    doc: str = "",
    node: str | None = None,
    joint: Mapping[tuple[str, ...], Formula] | None = None,
    **options: Any,
) -> OperationFunction:
    """Define an operation and return the function on tensors.

    `doc`: what its public function does, in words. `kernel`: the name of a kernel (default: the operation's
    identifier) or a function of (f, *arguments). `node`: the node's name (default: `<Name>Backward0`), with its C++
    namespace where PyTorch shows that. `joint`: formulas that give several gradients at once, keyed by the inputs'
    names; they may name `mask`, which gradients are wanted. A formula of one input may name `total`: the sum of the
    gradients that came to that input before, where it may be added to in its place and be returned itself; else None.
    Options are the operation's traits (op_traits.py) and its formulas, each named as the input whose gradient it gives.
    """
    traits = {k: options.pop(k) for k in [*options] if k in op_traits.NAMES}
    parsed = schemas.parse(schema)
    order = {p.name: i for i, p in enumerate(parsed.parameters)}
    derivatives = [Derivative((name,), formula, False) for name, formula in options.items()]
    derivatives += [Derivative(names, formula, True) for names, formula in (joint or {}).items()]
    for derivative in derivatives:
        for name in derivative.inputs:
            if name not in order:
                raise refused(ValueError, f"{parsed.identifier}: no argument {name!r}")
    derivatives.sort(key=lambda d: order[d.inputs[0]])
    if node is None:
        named = traits.get("has_derivative", True)
        node = f"{camel(parsed.name)}Backward0" if named else "torch::autograd::NotImplemented"
    record = Operation(parsed, kernel or parsed.identifier, node, tuple(derivatives), traits)
    if record.identifier in table:
        raise refused(ValueError, f"operation {record.identifier} is defined twice")
    record.function = function_of(record)
    if doc:
        record.function.__doc__ = docstrings.of_operation(record, doc)
    table[record.identifier] = record
    setattr(operations, record.identifier, record.function)
    return record.function
