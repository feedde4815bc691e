"""The recorded graph as frozen records: plain data, integer ids in order of creation, no arrays."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from autograph_cli.graph.source import Count as Count, Record as Record, Source as Source

if TYPE_CHECKING:
    from autograph_cli.graph.diff import GraphDiff

Kind = Literal["operation", "leaf", "input", "untracked"]
UNGRADED: tuple[Kind, ...] = ("input", "untracked")
"""The kinds of nodes that no gradient goes to."""


class Number(float):
    """A number of a trace that may be NaN or infinite; there these are texts."""

    __slots__ = ()


class TensorType(str):
    """The dtype, shape and device of a tensor, as the text that a trace has: `float32[3, 4]`."""

    __slots__ = ("device", "dtype", "shape")
    dtype: str
    shape: tuple[int, ...]
    """A side of -1 has no one length, as that of a nested tensor."""
    device: str

    def __new__(cls, dtype: str, shape: tuple[int, ...], device: str = "cpu") -> TensorType:
        """Return the one type of this dtype, shape and device.

        >>> TensorType("float32", (3, 4), "cuda:0")
        'float32[3, 4]@cuda:0'
        """
        return _tensor_type(dtype, shape, device)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.dtype, self.shape, self.device


@lru_cache(1 << 12)
def _tensor_type(dtype: str, shape: tuple[int, ...], device: str) -> TensorType:
    where = "" if device == "cpu" else f"@{device}"
    made = str.__new__(TensorType, f"{dtype}[{', '.join(map(str, shape))}]{where}")
    made.dtype, made.shape, made.device = dtype, shape, device
    return made


class Edge(Record, frozen=True, gc=False, array_like=True):
    """One output of one node: `nr` is PyTorch's input number of a next function."""

    node: Count
    nr: Count = 0


PACKED = "packed by a hook"
"""The value of what is kept of a tensor that a hook has put into another form."""
HELD = "checkpoint"
"""The name under which a node keeps what the checkpoint around it holds, until it computes once more."""


class Saved(Record, frozen=True, gc=False):
    """A value that a node keeps for its backward: a tensor (`type` and `bytes`) or a plain value."""

    name: str
    type: TensorType | None = None
    value: str = ""
    bytes: Count = 0
    storage: Count | None = None
    """Equal numbers share memory; numbered in order of first use."""
    version: Count = 0
    """The version of that memory, among those that are kept; an in-place change makes a new one."""
    given: bool = False
    """True if it is in the memory of a leaf or an input, which is there whoever keeps it."""


class Output(Record, frozen=True, gc=False):
    """One tensor that a node made, and the variables that named it."""

    type: TensorType
    names: tuple[str, ...] = ()
    storage: Count | None = None
    """The memory that it is in, if nodes keep that for backward: the number that their `saved` has."""


class Values(Record, frozen=True):
    """The numbers of a tensor as text of four digits: all of them if they are few, else what sums them up."""

    whole: tuple[str, ...] = ()
    """All of them, a line for each row of a matrix; else empty."""
    low: str = ""
    mean: str = ""
    high: str = ""
    """As `low` and `mean`, of the numbers that are not NaN."""
    count: Count = 0
    zeros: Count = 0
    nans: Count = 0
    bins: tuple[Count, ...] = ()
    """The counts of numbers in 16 equal parts from the lowest to the highest finite one."""
    norm: str = ""
    """The root of the sum of the squares of those that are no NaN."""
    alike: tuple[int, ...] = ()
    """The dimensions of a leaf along which all its parts are equal, number by number."""


class Exact(Record, frozen=True, gc=False):
    """The numbers of a tensor as they are, to be compared; of many, what tells two tensors apart."""

    kind: Literal["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]
    """Their type as NumPy calls it; floating numbers of 16 bits and fewer are kept as `f4`."""
    count: Count
    data: bytes = b""
    """All of them, row by row, the lowest byte first; else empty."""
    crc: Count = 0
    """The check sum of these bytes."""
    norm: Number | None = None
    """The root of the sum of their squares, but for those that are NaN or infinite."""
    probes: tuple[Number, ...] = ()
    """The sums of the numbers, each with one of four patterns of signs."""


class Flow(Record, frozen=True, rename={"pass_id": "pass"}):
    """The gradients that one backward call gave a node, and those that this one sent on."""

    pass_id: Count
    given: tuple[Exact | None, ...] = ()
    """The gradients of its outputs, after the hooks of tensors."""
    sent: tuple[Exact | None, ...] = ()
    """Along each edge of `next`, after the hooks of the node."""


class Run(Record, frozen=True):
    """One run of the backward of a node; of several, they are in the order of the passes that ran it."""

    began: Count
    """Nanoseconds since the step began."""
    time: Count
    """Nanoseconds that it took."""
    flops: Count = 0
    """Floating-point operations, as PyTorch's `FlopCounterMode` counts them."""


class Measured(Record, frozen=True):
    """Measurements of a node, recorded on request."""

    values: tuple[Values | None, ...] = ()
    """The values of its outputs."""
    gradients: tuple[Values | None, ...] = ()
    """The gradients given to its backward in the first pass that ran it, or that the first `grad` call gave for it."""
    time: Count | None = None
    """Nanoseconds that its operation took."""
    backward_time: Count | None = None
    """Nanoseconds that its backward took, in all passes of the step."""
    formula: tuple[str, ...] = ()
    """Its derivatives as the table of operations has them, `self: grad * other`; or the lines of a custom backward."""
    inside: Graph | None = None
    """The graph of its backward, in the first pass that ran it: inputs are its arguments, roots its results."""
    began: Count | None = None
    """Nanoseconds from the beginning of the step to that of its operation."""
    flops: Count | None = None
    """Floating-point operations that its operation took."""
    runs: tuple[Run, ...] = ()
    """The runs of its backward."""
    error: Number | None = None
    """The worst relative error of its derivatives against finite differences, at the inputs that it saw."""
    wrong: str = ""
    """The order, the number, and both values of an error that is more than rounding."""
    nonfinite: tuple[Count, ...] = ()
    """The backward calls, by number, that gave its backward NaN or infinity, or that gave it as the gradient."""
    exact: tuple[Exact | None, ...] = ()
    """The numbers of its outputs."""
    deviation: tuple[Number | None, ...] = ()
    """The error of its results against float64, and of the gradients that it sent on, in the first call that ran it;
    relative to the largest number."""
    flows: tuple[Flow, ...] = ()
    """The gradients that each backward call gave to it and that it sent on, in the order of the calls."""
    made: tuple[Source, ...] = ()
    """The lines that made and changed the numbers of a leaf or an input before it was used, as far as is known."""


class Node(Record, frozen=True, gc=False, rename={"pass_id": "pass"}):
    """One operation, one leaf (its AccumulateGrad), one input that needs no gradient, or an operation on such.

    An `untracked` operation left no grad_fn: nothing that it was given requires a gradient, or none was to be recorded.

    `next` are the backward edges, exactly PyTorch's `next_functions`; `args` are the tensors that the
    operation was given, in order, inputs without gradient included. The last number of both is an output number.
    """

    id: Count
    kind: Kind
    name: str
    """The grad_fn's name (`MulBackward0`, `AccumulateGrad`), or `Input`; empty for what is untracked."""
    op: str
    """The operation's name (`mul`); empty for leaves and inputs."""
    outputs: tuple[Output, ...]
    next: tuple[Edge | None, ...] = ()
    args: tuple[Edge, ...] = ()
    order: Count = 0
    parent: Count | None = None
    """The node whose backward was running when this one was made."""
    pass_id: Count | None = None
    """The backward call that made this one."""
    source: Source | None = None
    module: str = ""
    """The path of the module that it ran in, of a leaf or an input of the module that it belongs to."""
    saved: tuple[Saved, ...] = ()
    measured: Measured | None = None
    call: Count | None = None
    """The call of a module that it ran in, by its number among `calls`; of an input, the one that it was made in."""
    constants: tuple[tuple[str, str], ...] = ()
    """The arguments of the operation, by name, that are no tensors and not in `saved`: `("other", "3")`."""
    cut: tuple[Count, ...] = ()
    """The positions among `args` of an untracked node that required a gradient then, which ends here."""
    written: tuple[Count, str] | None = None
    """A number that the operations of one expression of the script share, and its words, as in
    `(3, "cross_entropy sum")`."""

    @property
    def is_operation(self) -> bool:
        """Return whether it is an operation, with a grad_fn or without."""
        return self.kind in ("operation", "untracked")

    @property
    def computes(self) -> bool:
        """Return whether it was computed from tensors, with a grad_fn or without."""
        return self.kind == "operation" or (self.kind == "untracked" and bool(self.args))

    @property
    def plain(self) -> tuple[tuple[str, str], ...]:
        """Return its plain arguments by name, those that it keeps for backward first."""
        kept = [(saved.name.removeprefix("_saved_"), saved.value) for saved in self.saved if saved.type is None]
        return (*kept, *self.constants)

    @property
    def is_custom(self) -> bool:
        """Return whether it is of a custom Function: the names of PyTorch's own nodes end in a number."""
        return self.kind == "operation" and bool(self.op) and self.name == f"{self.op}Backward"


class ModuleCall(Record, frozen=True, rename={"cls": "class"}):
    """One call of a module; `parent` is the call that it ran in."""

    id: Count
    path: str
    """`model.conv1`: where the script keeps it, or its class if no variable leads to it."""
    cls: str
    parent: Count | None = None
    turn: Count = 1
    """The number of this call among those of the same module in the graph, from 1."""
    turns: Count = 1
    """The number of those calls."""
    parameters: Count = 0
    """The numbers in its parameters, those of the modules in it included."""
    layer: str | None = None
    """The arguments that a module of `torch.nn` was made with: `in_features=20, out_features=64, bias=True`."""


class Root(Record, frozen=True):
    """A named tensor of the script from which the graph hangs."""

    name: str
    node: Count
    nr: Count = 0


class Pass(Record, frozen=True):
    """One backward call; `order` is 1 + the highest order among the nodes that it ran."""

    id: Count
    call: str
    """`backward` or `grad`."""
    order: Count
    create_graph: bool
    roots: tuple[Edge, ...] = ()
    source: Source | None = None
    ran: tuple[Count, ...] = ()
    """The nodes that it ran, in order of execution."""
    inputs: tuple[Edge, ...] = ()
    """The tensors that the roots were differentiated by: `inputs` of `grad`, or leaves that `backward` reached."""
    results: tuple[Edge | None, ...] = ()
    """The derivatives by `inputs`, in the same order; None where one has no graph of its own."""
    failed: bool = False
    """True if it ended with an error."""


if TYPE_CHECKING:
    Nodes = Sequence[Node]
else:
    Nodes = tuple[Node, ...]
"""The nodes of a graph: a tuple, or, in some that are read from a file, read when they are first looked at."""


def above(name: str) -> Any:
    """Return a file of this package that is written against this one: it is imported here, when it is first needed."""
    return importlib.import_module(f"{__package__}.{name}")


class Graph(Record, frozen=True, dict=True):
    """Everything recorded in one step; nodes are sorted by id, and `nodes[i].id == i`.

    >>> from autograph_cli import capture, torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> graph = capture((x * 2).sum())
    >>> [node.name for node in graph]
    ['AccumulateGrad', 'MulBackward0', 'SumBackward0']
    """

    nodes: Nodes = ()
    roots: tuple[Root, ...] = ()
    passes: tuple[Pass, ...] = ()
    calls: tuple[ModuleCall, ...] = ()
    """The calls of modules, sorted by id, each after the one that it ran in."""
    numbers: Annotated[Sequence[int], Meta(max_length=0)] = ()
    """The id that each node of a view has in the graph that it is a view of; graphs are compared, and
    written, without them."""

    def __eq__(self, other: object) -> bool:
        return self._compared() == other._compared() if isinstance(other, Graph) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._compared())

    def _compared(self) -> tuple[Any, ...]:
        return self.nodes, self.roots, self.passes, self.calls

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: int) -> Node:
        return self.nodes[index]

    def __repr__(self) -> str:
        """In short, for there may be many nodes."""
        names = f", roots {', '.join(root.name for root in self.roots)}" if self.roots else ""
        return f"<Graph: {len(self):,} node{'s' * (len(self) != 1)}{names}>"

    def verify(self) -> None:
        """Raise `GraphError` at the first node that breaks a rule of the records."""
        above("verifier").verify(self)

    def to_text(self, *, details: bool = False, shown: Collection[str] = ()) -> str:
        """The graph as reviewable text, one node a line, and facts of each below it."""
        text: str = above("text").to_text(self, details=details, shown=shown)
        return text

    def diff(self, other: Graph) -> GraphDiff:
        """Return how `other` differs from this graph, matched by structure; true if it does."""
        found: GraphDiff = above("diff").diff(self, other)
        return found

    def to_json(self) -> str:
        """The graph alone as JSON, without the run that it came from."""
        text: str = above("trace_writer").graph_to_json(self)
        return text

    def to_networkx(self, *, data: bool = True) -> Any:
        """The graph as a `networkx.MultiDiGraph`; edges lead along the data, or if `data` is false, the gradient."""
        return above("elements").to_networkx(self, data=data)

    def _repr_svg_(self) -> str | None:
        """The picture that a notebook shows, once `autograph_cli.export` has been imported."""
        export = sys.modules.get("autograph_cli.export")
        return None if export is None else export.notebook_svg(self)
