"""The protocol between a recorder and an engine: the events that it tells, and the facts that it answers.

An engine tells plain data: numbers, classes, types, and weak references to what may die. So what a recorder writes down
holds no tensor and no node. A node is known by its sequence number, which is never negative and unique in a process;
what has no node, a tensor without gradient, gets a negative number from the recorder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from msgspec import Struct

from autograph_cli.engines.held import ById, Drawn, Held
from autograph_cli.graph import Graph, Saved, Source, TensorType

Output = int | tuple[int, int]
"""An output of a node: the node's number where it is output 0, else (number, output)."""


class ModuleCall(Protocol):
    """A call of a module that is going on."""

    @property
    def number(self) -> int:
        """Its own, which is never given again."""

    @property
    def module(self) -> Any:
        """The module."""

    @property
    def args(self) -> tuple[Any, ...]:
        """Return what it was given by position."""

    @property
    def kwargs(self) -> dict[str, Any]:
        """Return what it was given by name."""


Applied = list[tuple[Any, Output, Output | None]]
"""The tensors that a custom Function was given: what each was before it ran, and what that was a view of."""


def key_of(output: Output) -> int:
    """The number of the node that an output is of."""
    return output if output.__class__ is int else output[0]  # type: ignore[index]


def number_of(output: Output) -> int:
    """Return which output of its node it is."""
    return 0 if output.__class__ is int else output[1]  # type: ignore[index]


def of_changed(applied: Applied, outputs: Iterable[Any]) -> list[Output]:
    """Return what a custom Function changed, which are the tensors that it was given and returned."""
    made = set(map(id, outputs))
    return [each for x, *before in applied if id(x) in made for each in before if each is not None]


def uncounted(function: Any) -> Any:
    """Let warnings and logging pass over a function that stands between those of the script and of an engine.

    They know the frames that they do not count, those of the import system, by the name of the file.
    """
    folder, file = os.path.split(function.__code__.co_filename)
    function.__code__ = function.__code__.replace(co_filename=os.path.join(folder, "importlib._bootstrap", file))
    return function


class BackwardCall(Protocol):
    """One `backward` or `grad` call."""

    kind: str
    """`backward` or `grad`."""
    roots: Any
    keeps_graph: bool
    create_graph: bool
    inputs: Any
    """The tensors that the roots are differentiated by; None for all leaves."""
    ran: list[Any]
    """The nodes that it ran, in order."""
    found: Any
    """The gradients of `inputs`, once it is over."""
    watch: Callable[[Any, Any], None] | None
    """Called with each node that is about to run and its gradient, after the hooks of tensors, and with None and the
    gradients that it sends on where it is done; a listener may put it here."""
    counted: Callable[[int], None] | None
    """Called with the floating-point operations of what is no watched operation; put here likewise."""


class CollectiveCall(Struct, frozen=True):
    """One call between the ranks of a group."""

    op: str
    """Its name in `torch.distributed`."""
    group: str
    ranks: Sequence[int]
    sequence: int
    """The number of the call in its group, or with its peer, from 1."""
    tensors: Sequence[Any]
    bytes: int
    """The bytes that this rank gives."""
    peer: int | None = None
    """The other rank of a call between two, which is no collective."""
    changed: Sequence[Any] = ()
    """The tensors that the result goes into."""


class Inside(Protocol):
    """Gathers the operations that the backward of one node runs."""

    node: Any

    def run(self, grad: Any) -> None:
        """Run the node's formula once more, where that is how they are found."""

    def computed(self, op: Any, args: tuple[Any, ...], outputs: list[Any]) -> None:
        """An operation was computed while the node ran."""

    def graph(self) -> Graph:
        """Return what was gathered."""


class CannotDerive(Exception):
    """The reason why no derivative graph was made, as a sentence."""


class Listener(Protocol):
    """The listener that an engine tells. All is told under `lock`, in the thread in which it happens."""

    lock: Any
    known: dict[int, Any]
    """The numbers of the nodes that were told of, and what was noted of each."""
    tensors: ById[Held]
    """The leaves and the tensors without gradient that were told of, by id."""
    drawn: ById[Drawn]
    """The tensors that were made from nothing, by id."""
    count: int
    """The number of events that were noted."""

    def here(self) -> Any:
        """Return the notes on what is going on in this thread."""

    def join(self, notes: Any) -> None:
        """This thread goes on with the notes of another, whose pass it runs."""

    @property
    def noting(self) -> bool:
        """Return whether it is told of random numbers that parameters are filled with."""

    def drew(self, tensor: Any, op: str, by: tuple[tuple[str, str], ...] | None = None) -> None:
        """A tensor was made from nothing; random numbers are drawn `by` these arguments."""

    def becomes(self, made: Any, tensor: Any) -> None:
        """A parameter, or the data of one, was made of a tensor, with its numbers."""

    def owner(self, tensor: Any) -> Any:
        """Return the parameter whose memory this is, as after `weight.data`; else the tensor."""

    def filled(
        self, tensor: Any, name: str, given: Sequence[tuple[str, str]], *, part: Any, random: bool, source: Any = None
    ) -> None:
        """A parameter, or a `part` of it, was changed before anything was computed with it, by an operation that was
        given this; what becomes of it is a copy of `source`, if that is a tensor."""

    def operation(
        self,
        number: int,
        ref: Callable[[], Any],
        cls: type,
        like: Any,
        next: tuple[Output | None, ...],
        args: tuple[Output, ...],
        op: str,
        calls: Sequence[ModuleCall],
        constants: Any,
        plain: Sequence[Any] | None,
    ) -> None:
        """An operation ran that left a node of this class, and `like` tells the types of its outputs.

        `next` are the outputs that its gradients go to, `args` what it was computed from, `op` its name where the class
        does not tell it, `calls` as `Engine.calls` has them, `constants` what the node keeps that is no tensor, for
        `Engine.saved_constants` to read (None: nothing), `plain` the numbers and texts among its arguments, in their
        places, for `Engine.arguments` to read.
        """

    def earlier(
        self,
        number: int,
        ref: Callable[[], Any],
        cls: type,
        like: Any,
        next: tuple[Output | None, ...],
        args: tuple[Output, ...],
    ) -> None:
        """A node is found that was made before the engine was listened to."""

    living: bool
    """True if such nodes are put into `known` as they are, and not told of; leaves are told of."""

    def leaf(self, number: int, variable: Any, cls: type, like: Any) -> int:
        """A node of this number adds up the gradient of a leaf; the answer is the number by which the leaf is known."""

    def input(self, tensor: Any) -> int:
        """A tensor was computed with, without a gradient; the answer is the number by which it is known."""

    def untracked(
        self,
        name: str,
        op: Any,
        outputs: Sequence[Any],
        args: tuple[Output, ...],
        plain: Sequence[Any] | None,
        cut: Collection[Output],
    ) -> None:
        """An operation ran that left no node, for nothing that it was given has a gradient, or none is wanted.

        `op` is what `Engine.arguments` knows the arguments by, `cut` those of `args` that required a gradient.
        """

    def also(self, tensor: Any, number: int, nr: int) -> None:
        """A tensor that no gradient goes to is this output of the operation that was told as `number`."""

    def held(self, tensor: Any) -> Output | None:
        """Return what a leaf or a tensor that no gradient goes to is known as now, if it was told of."""

    def known_as(self, tensor: Any, found: Held) -> Output:
        """Return the same of one that was told of as `found`."""

    def shares(self, made: Any, tensor: Any) -> None:
        """`made` is over the memory of `tensor`; if no gradient goes to that, changes of either are told of one
        whole."""

    def withdrawn(self, number: int) -> tuple[Any, tuple[Output, ...]]:
        """The operation of this number is part of the one that is told next; the answer is the `plain` and the `args`
        that were told of it."""

    def absorbed(self, outputs: Iterable[Output]) -> None:
        """Forget changes of these outside of autograd: the operation that is told next includes them."""

    def made(self, number: int, node: Any, outputs: Iterable[Any], newest: int) -> None:
        """An operation was told; what was told after event `newest` came with it. Only where the engine is
        `measured`."""

    def begins(self, call: BackwardCall) -> None:
        """A backward call is about to run."""

    def ends(self, call: BackwardCall) -> None:
        """The backward call is over, also when it failed."""

    def collective(self, call: CollectiveCall) -> Callable[[], None] | None:
        """The ranks of a group are about to exchange tensors; what this returns is called once the result is there."""

    changed: bool
    """True if a tensor with a gradient was changed outside of autograd, so that `now` is asked what tensors are."""

    @property
    def updates(self) -> bool:
        """Return whether an optimizer takes a step in this thread: its operations are not told."""

    def minds(self, tensor: Any) -> bool:
        """Return whether a change of a tensor with a gradient, outside of autograd, is told as an operation without a
        node."""

    def now(self, tensor: Any, output: Output) -> Output:
        """Return what a tensor with a gradient, known as `output`, holds after such changes."""

    def was_freed(self, number: int) -> bool:
        """Return whether a pass is known to have freed what this node saved."""

    def passed(self, kept: bool) -> None:
        """A backward pass has ended of which nothing was told, for the listener did not follow; it may have `kept` its
        graph."""

    def failed(self, error: Exception) -> None:
        """The listener made an error, which the script must not see."""


class Events(Protocol):
    """The events that a connection tells, and when."""

    name: str
    """The engine's name in traces."""
    version: str
    """Its version, unless it is that of this package."""
    cost: float
    """The seconds that it takes to follow an operation, about."""
    folders: tuple[str, ...]
    """The folders of the engine's own code, beside this package."""
    measured: bool
    """True if the listener is told of what was `made`."""
    telling: tuple[str, ...]
    """The methods by which the listener is told."""
    replaced: dict[str, Any]
    """The methods of tensors that the engine puts others in the place of when it listens: what these come down to."""

    def between(self, function: Any) -> Any:
        """Let warnings, logging and compilers pass over a function that stands between those of the script and of the
        engine."""

    def start(self) -> None:
        """Tell the listener what happens from now on."""

    def stop(self) -> None:
        """Tell it no more."""

    def breaks(self) -> Sequence[tuple[str, Source]]:
        """The places where a compiler has ended a graph since the start, each with the reason before it."""

    def follow(self, on: bool) -> None:
        """Set whether the listener follows what comes now; it may be told all the same, if that costs nothing."""

    def listening(self) -> AbstractContextManager[None]:
        """Tell the listener within the block only; who listened before does so again after it."""

    def calls(self) -> Sequence[ModuleCall]:
        """The calls of modules that this thread has entered and not left, the innermost last."""

    def parent(self) -> int | None:
        """The number of the node whose backward is running in this thread."""

    def recomputing(self) -> bool:
        """Return whether a checkpoint is running its forward once more: what is made then is no derivative."""


class NodeFacts(Protocol):
    """The facts of nodes."""

    def number(self, node: Any) -> int:
        """The number by which a node is known; one that was not told of is told of now."""

    def told_number(self, node: Any) -> int | None:
        """The number of an operation's node; None for one that was not told of."""

    def numbers(self, nodes: Iterable[Any]) -> list[int]:
        """The number of each of these nodes."""

    def names(self, cls: Any) -> tuple[str, str]:
        """The name of a node of this class, and that of its operation."""

    def types(self, cls: Any, like: Any) -> list[TensorType]:
        """The types of a node's outputs; of an input, which has no class, its own."""

    def arguments(self, cls: Any, plain: Sequence[Any]) -> list[tuple[str, str]]:
        """Return what the operation of this class was given that is no tensor and no default, by name."""

    def is_random(self, cls: Any) -> bool:
        """Return whether an operation that left no node draws random numbers."""

    def formula(self, cls: Any) -> tuple[str, ...]:
        """The lines that tell how nodes of this class compute their gradients."""

    def look(self, nodes: Iterable[Any]) -> Iterable[Any]:
        """Return what each of these nodes keeps, as plain data for `saved`; None for one that keeps nothing, or is
        None."""

    def saved(self, cls: Any, looked: Any, storages: dict[int, int], start: int) -> tuple[tuple[Saved, ...], Any]:
        """Return what a node of this class keeps, and which inputs and outputs of it that is, where its class does not
        tell.

        `storages` numbers the memory that was met, by id, the first one `start`; versions are those of the engine.
        """

    alike: Callable[..., tuple[Any, ...]] | None
    """Returns what a node keeps, as `look` told it, without what differs from step to step: of `(looked, storages,
    versions, place)` the dicts number memory and versions as they are met, and `place` tells an output's place in the
    step. None of an engine of which each step gets a graph of its own."""

    def saved_constants(self, cls: Any, constants: Any) -> tuple[Saved, ...]:
        """Return what a node of this class keeps that is no tensor, as the listener was told of it."""

    def kept_outputs(
        self, number: int, cls: Any, following: Sequence[Output | None], kept: Iterable[Saved], positions: Any
    ) -> Iterable[tuple[Output, int]]:
        """The outputs that a node keeps, those of other nodes and its own, and the memory in which they are."""

    def adds_up(self, node: Any) -> bool:
        """Return whether the node adds up the gradient of a leaf."""


class TensorFacts(Protocol):
    """The facts of tensors."""

    @property
    def tensor(self) -> type:
        """The class of tensors."""

    def output(self, tensor: Any) -> Output | None:
        """The output that a tensor is, if it is one, or a leaf or an input that was told of."""

    def told(self, tensor: Any) -> Output | None:
        """The output that a tensor is, if that was told of."""

    def root(self, root: Any) -> Output | None:
        """The output that a root of a backward call is."""

    @staticmethod
    def untouched() -> AbstractContextManager[Any]:
        """Within the block no class and no mode of the script's is asked about what is read of tensors."""

    def is_leaf(self, tensor: Any) -> bool:
        """Return whether the tensor is a leaf that asks for its gradient."""

    def inner(self, value: Any) -> Any:
        """The tensor that a value stands for within a transform; else the value itself."""

    def is_tracked(self, tensor: Any) -> bool:
        """Return whether it is a leaf to which a gradient goes, or has a history."""

    def base(self, tensor: Any) -> Any:
        """Return what the tensor is a view of."""

    def free_base(self, tensor: Any) -> Any:
        """Return what the tensor is a view of, if that has no gradient."""

    def like(self, tensor: Any) -> Any:
        """The type of a tensor, for `types` to read."""

    def storages(self, tensors: Iterable[Any]) -> list[int]:
        """The ids of the memory in which tensors are."""

    def refresh(self, tensor: Any) -> None:
        """Bring the history of a view up to date, whose base was changed."""

    def hooks(self, tensor: Any) -> Sequence[tuple[str, Any]]:
        """The hooks of a tensor, each with the name of the method that registered it."""

    def array(self, x: Any) -> Any:
        """The numbers of a tensor or of a gradient; None where they are not to be read."""

    def arrays(self, tensors: Iterable[Any]) -> list[Any]:
        """The numbers of each tensor; None also on a GPU, for which the script would wait."""

    def memory(self, x: Any) -> tuple[Any, int] | None:
        """Return what lives as long as the memory of a tensor or a gradient, and its bytes; None where there is no
        such."""

    def device(self, tensor: Any) -> str:
        """The name of the device of a tensor or a gradient."""

    def leaf_bytes(self, leaves: Iterable[Any]) -> tuple[int, int]:
        """The bytes of these leaves, and those of their gradients."""

    def bytes_of(self, tensors: Iterable[Any]) -> int:
        """The bytes of these tensors."""

    def optimizers(self) -> type | None:
        """The class of optimizers; None where there can be none yet, as `torch.optim` was not imported."""


class Measuring(Protocol):
    """The measurements and computations that an engine makes on request."""

    @property
    def namespace(self) -> Any:
        """The module that scripts know as `torch`."""

    @staticmethod
    def is_transforming() -> bool:
        """As `Connect.is_transforming`."""

    def gradients(self, roots: Sequence[Any], *, custom: bool) -> tuple[Sequence[Any], Sequence[Any]]:
        """The leaves that the roots hang on, and their gradients with a graph, unseen by the script.

        With `custom`, code of the script may run once more. Raises `CannotDerive`.
        """

    def watch_operations(
        self, watcher: Callable[..., None] | None, changing: Callable[..., None] | None = None
    ) -> None:
        """Call `watcher` with each operation, its arguments, its outputs, the nanoseconds that it took, and the
        arguments that it was given by name, if there are; None ends it. Call `changing` with an operation in place, its
        arguments and those by name, before it changes them."""

    def tensors_in(self, values: Iterable[Any]) -> Iterable[Any]:
        """The tensors among arguments or results, those in lists as well."""

    def operation_of(self, node: Any) -> Any:
        """The operation that such nodes are of, as a watcher is given it; None for a custom Function. Of what left no
        node, it is asked with what the listener was told."""

    def queued(self) -> Callable[[], int] | None:
        """Return what waits for a GPU and tells the nanoseconds of the operation that a watcher is told of; None: the
        CPU."""

    def mark(self, values: Iterable[Any]) -> Any:
        """A mark in the queue of the GPU that tensors or gradients are on; None on the CPU."""

    def since(self, mark: Any) -> Callable[[], int] | None:
        """Return what waits until the GPU has come to now, and tells the nanoseconds since a mark; None for no mark."""

    def call(self, operation: Any, *args: Any, **words: Any) -> Any:
        """Compute an operation, as a watcher is given it, on other arguments."""

    def unseen(self) -> AbstractContextManager[None]:
        """Within the block nothing is told and modes are those of a new script; random numbers are put back after
        it."""

    def flops(self, operation: Any, args: Sequence[Any], outputs: Any) -> int:
        """The floating-point operations of an operation, as a watcher is given it; 0 where they are not counted."""

    def runs(self) -> Any:
        """The node whose backward is running."""

    def arrays_made(self, node: Any, outputs: Iterable[Any]) -> Iterable[Any]:
        """The numbers that an operation made."""

    def sent(self, node: Any, grads: Sequence[Any]) -> Sequence[Any]:
        """The numbers of the gradients that a node sends on, each as it fits what it goes to; None where there is
        none."""

    def prepare_inside(self, *, numbers: bool) -> None:
        """From now on, `inside` is going to be asked of nodes, with all numbers where these are asked for."""

    def inside(self, node: Any, grad: Any, summary: Callable[[Any], Any] | None) -> Inside | None:
        """Return what gathers the operations of a node that is about to run, and what `summary` says of them; None
        where there are none."""


class Engine(Events, NodeFacts, TensorFacts, Measuring, Protocol):
    """A connection of one recorder to an engine; who needs a part of it takes that."""


class Connect(Protocol):
    """Connects a recorder to an engine."""

    tensor: type
    """The class of tensors."""
    cost: float

    @staticmethod
    def is_transforming() -> bool:
        """Return whether a function is traced, compiled or transformed in this thread, so that no tensor is read or
        copied."""

    def __call__(self, listener: Listener) -> Engine: ...

    def kept(self) -> AbstractContextManager[None]:
        """Within the block, what is changed of the engine's settings and modes is put back."""
