"""State of the engine beside its tensors: settings of the process, and modes of each thread."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from . import fp_warnings

if TYPE_CHECKING:
    from ..operations.operation import Operation
    from ..tape.node import Node
    from ..tape.tensor import Tensor


class Observer(Protocol):
    """The one slot through which a recorder follows the engine; it sees, it changes nothing."""

    def created(self, node: Node, inputs: tuple[Any, ...], outputs: tuple[Tensor, ...], applied: Any = None) -> None:
        """`node` was made by an operation on `inputs`, within the calls of modules `thread_state.calls`; `applied` is
        what `applies` answered, of a custom Function."""

    def applies(self, inputs: tuple[Any, ...]) -> Any:
        """A custom Function is about to run, which may change its inputs; the answer is what they are before."""

    def untracked(
        self,
        name: str,
        op: Operation | None,
        inputs: tuple[Any, ...],
        outputs: tuple[Tensor, ...],
        drawn: tuple[tuple[str, Any], ...] | None = None,
    ) -> None:
        """An operation ran that left no node; `op` tells the names of its arguments, unless it is `detach` or random
        numbers were `drawn` by these."""

    def becomes(self, made: Tensor, tensor: Tensor) -> None:
        """A parameter, or the data of one, was made of a tensor, with its numbers."""

    def collective(self, call: Any, tensors: Sequence[Any], changed: Sequence[Any]) -> Callable[[], Any] | None:
        """The ranks of a group exchange `tensors` from now on; `call` tells of it as `torch.distributed` does. What
        this returns is called once the result is in those that are `changed`."""

    def begins(self, call: BackwardCall) -> None:
        """A backward call is about to run."""

    def ends(self, call: BackwardCall) -> None:
        """The backward call is over, also when it failed; `call.ran` are the nodes that it ran, in order."""


class OpHook(Protocol):
    """Sees an operation that has just been computed, recorded or not."""

    def __call__(self, op: Any, args: tuple[Any, ...], outputs: list[Tensor], nanoseconds: int) -> None: ...


class BackwardCall:
    """One `backward` or `grad` call, as an observer is told of it."""

    __slots__ = ("counted", "create_graph", "found", "inputs", "keeps_graph", "kind", "ran", "roots", "watch")

    def __init__(self, kind: str, roots: Any, inputs: Any, keeps_graph: bool, create_graph: bool) -> None:
        self.kind = kind
        self.roots = roots
        self.inputs = inputs
        self.keeps_graph = keeps_graph
        self.create_graph = create_graph
        self.ran: list[Node] = []
        self.found: list[Tensor | None] = []
        """The gradients of `inputs`."""
        self.watch: Callable[[Node | None, Any], None] | None = None
        """Called with each node that is about to run and the gradient that it is given; an observer may put it here."""
        self.counted: Callable[[int], None] | None = None
        """Called with the floating-point operations of each kernel that the pass runs (flops.py); put here likewise."""


class ProcessState:
    """Settings of the process. `special` counts modes that send every operation through full dispatch, which asks
    the thread for them: the compiled tape reads this count in place, where a mode of the thread takes 70 ns."""

    __slots__ = (
        "anomaly", "asks", "change_hook", "check_nan", "default_device", "default_dtype", "disordered", "float8",
        "function_modes", "observer", "op_hook", "passed", "special", "transforms", "without_grad",
    )  # fmt: skip

    def __init__(self) -> None:
        self.special = 0
        self.transforms = 0
        """The number of modes that are transforms which leave alone what they do not wrap: all but those of forward
        mode, of which a plain tensor may be a view."""
        self.disordered = -1
        """The highest number of a node that one with a lower number may lead to, as to a view's new history."""
        self.float8 = False
        """True once a script has asked for a dtype of 8 bits; it counts in `special` then, so that the compiled tape
        need not look at the dtype of each argument."""
        self.anomaly = False
        self.check_nan = True
        self.asks = False
        """True if there may be classes or modes that are asked instead of public functions (see overrides.py)."""
        self.function_modes = 0
        """The number of such modes that are on, in all threads."""
        self.without_grad = 0
        """The number of threads with grad mode off; at 0, an operation need not ask for its own thread's."""
        self.observer: Observer | None = None
        self.passed: Callable[[bool], None] | None = None
        """Called after each backward pass that is in no other, and of which no observer is told, with whether it kept
        its graph."""
        self.op_hook: OpHook | None = None
        """Sees every operation, in full dispatch only: who sets it counts `special` up as well."""
        self.change_hook: Callable[[Any, tuple[Any, ...]], None] | None = None
        """Sees what an in-place operation is given before it is changed, where there is an `op_hook`."""
        self.default_dtype = np.dtype(np.float32)
        self.default_device: Any = None


class ModuleCall(NamedTuple):
    """A call of a module that is going on."""

    number: int
    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class ThreadState(threading.local):
    """Modes of the current thread."""

    def __init__(self) -> None:
        fp_warnings.install()
        self.calls: list[ModuleCall] = []
        """The calls of modules that are going on, the innermost last, as long as there is an observer."""

    _grad: bool = True
    inference: bool = False
    current: Node | None = None
    """The node whose backward is running."""
    rehearses: bool = False
    """True while passes run for their formulas alone, without the callbacks at their end."""
    walk: Any = None
    """The backward pass that is running (a `Pass` of backward.py)."""
    recomputing: bool = False
    """True while a checkpoint runs its forward again."""
    unobserved: bool = False
    """True while the observer ignores this thread."""
    saved_hooks: tuple[Any, ...] = ()
    """Pairs of (pack, unpack), the innermost last."""
    saved_hooks_disabled: str | None = None
    on_meta: bool = False
    """True while tensors are created without memory."""
    queued: Callable[[], int] | None = None
    """The timer of operations on a GPU, in nanoseconds, while `op_hook` is set."""
    place: Any = None
    """The GPU on which tensors are made."""
    before_change: Any = None
    """Called with each tensor that is about to be changed in place."""
    levels: tuple[Any, ...] = ()
    """The transforms that are running, the outermost first (`Level`s of interpreter_stack.py)."""
    wrapping: bool = False
    """True while a transform wraps tensors; those of reverse mode do not."""
    forward: bool = True
    """True while tangents are computed."""
    by_hand: bool = False
    """True if these tangents are those of a `dual_level`, not of a transform of a function."""
    autocast: Any = None
    """The dtype that operations on the CPU may choose, while autocast is on (see autocast.py)."""
    watcher: Any = None
    """Stands between operations and their kernels (see utils/_selective.py), if there is one."""

    function_modes: tuple[Any, ...] = ()
    """Modes that are asked instead of public functions, the innermost last (see overrides.py)."""
    overrides_off: int = 0
    """The overrides that are off: those of classes, or of classes and modes."""

    @property
    def anomaly(self) -> bool:
        """Return whether anomalies are looked for, in all threads."""
        return process_state.anomaly

    @anomaly.setter
    def anomaly(self, on: bool) -> None:
        process_state.anomaly = on

    @property
    def check_nan(self) -> bool:
        """Return whether not-a-numbers are anomalies."""
        return process_state.check_nan

    @check_nan.setter
    def check_nan(self, on: bool) -> None:
        process_state.check_nan = on

    @property
    def grad(self) -> bool:
        """Return whether operations are recorded."""
        return self._grad

    @grad.setter
    def grad(self, on: bool) -> None:
        if on:
            if not self._grad:
                self._grad = True
                process_state.without_grad -= 1
        elif self._grad:
            process_state.without_grad += 1
            self._grad = False

    @property
    def records(self) -> bool:
        """Return whether operations leave a graph: grad mode is on, and inference mode is not."""
        return self._grad and not self.inference


process_state = ProcessState()
thread_state = ThreadState()
next_sequence_nr = itertools.count().__next__
next_call_nr = itertools.count().__next__
