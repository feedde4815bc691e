"""The names of PyTorch that are not public and that the engine needs: all stand here, in private_compiler.py and in
private_replaced.py.

A dispatch key that PyTorch itself leaves unused is above autograd. A fallback for it is called with every operation
before autograd, and gets the results with their history. Unlike a `TorchDispatchMode` it is no mode: nothing that asks
whether a mode is on, such as the choice between derivatives in place and out of place, finds one.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch._guards as guards
import torch._ops as operations
from torch.autograd import function as functions, graph as graphs
from torch.nn.modules import module as modules
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.checkpoint import CheckpointFunction

from autograph_cli.engines import EngineError
from autograph_cli.engines.pytorch.private_compiler import uncounted

resource: Any
try:
    import resource
except ImportError:  # Windows
    resource = None

OLDEST = (2, 5)
"""The oldest PyTorch that this is written for: 2.4 does not tell the shapes of what a node made."""
_KEY_NAME = "TESTING_ONLY_GenericMode"
_FRESH = ("aten::detach", "aten::detach_", "aten::alias", "aten::lift", "aten::lift_fresh")
"""Operations whose result may become an object of a subclass of Tensor: only what is no object of Python yet can."""
FACTORIES = frozenset(
    ("arange", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm", "range", "zeros")
)
"""Operations that make a tensor out of none, and are seen to do so. `empty` is not: it makes objects of subclasses."""
_NEEDED = (
    (torch, "_C._dispatch_key_parse"),
    (torch, "_C._dispatch_tls_set_dispatch_key_included"),
    (torch, "_C._dispatch_get_registrations_for_dispatch_key"),
    (torch, "_C._current_autograd_node"),
    (torch, "_C._functions.AccumulateGrad"),
    (torch, "_C._current_graph_task_id"),
    (torch, "_C._autograd._get_sequence_nr"),
    (torch, "_C._autograd._push_saved_tensors_default_hooks"),
    (torch, "_C._autograd._pop_saved_tensors_default_hooks"),
    (torch, "library.Library.impl"),
    (torch, "_C.DisableTorchFunction"),
    (torch, "_C._len_torch_dispatch_stack"),
    (torch, "compiler._is_compiling_flag"),
    (torch, "_C._get_dispatch_mode"),
    (torch, "_C._functorch.peek_interpreter_stack"),
    (torch, "_C._dynamo.eval_frame.set_eval_frame"),
    (guards, "_TLS"),
    (operations, "_higher_order_ops"),
    (operations, "_HIGHER_ORDER_OP_DEFAULT_FALLTHROUGH_DISPATCH_KEYS"),
    (graphs, "_engine_run_backward"),
    (functions, "_SingleLevelFunction"),
    (modules, "Module._call_impl"),
)


def check() -> None:
    """Raise `EngineError` if this PyTorch has not all that is needed."""
    if tuple(map(int, torch.__version__.split(".")[:2])) < OLDEST:
        raise EngineError(
            f"PyTorch {torch.__version__} is too old: take PyTorch {OLDEST[0]}.{OLDEST[1]} or newer, "
            "or --engine builtin."
        )
    for owner, path in _NEEDED:
        found: Any = owner
        for name in path.split("."):
            found = getattr(found, name, None)
            if found is None:
                raise EngineError(
                    f"PyTorch {torch.__version__} lacks {owner.__name__}.{path}, which recording needs: "
                    f"take PyTorch {OLDEST[0]}.{OLDEST[1]} or newer, or --engine builtin."
                )
    try:
        torch._C._dispatch_key_parse(_KEY_NAME)
    except RuntimeError:
        raise EngineError(
            f"PyTorch {torch.__version__} lacks the dispatch key {_KEY_NAME}: take --engine builtin."
        ) from None


check()
_KEY = torch._C._dispatch_key_parse(_KEY_NAME)
LEAF: Any = torch._C._functions.AccumulateGrad
"""The class of the nodes that add up the gradients of leaves."""
sequence_number: Callable[[], int] = torch._C._autograd._get_sequence_nr
"""The number that the next node of this thread gets."""
current_node: Callable[[], Any] = torch._C._current_autograd_node
"""The node whose backward is running in this thread."""
modes_on: Callable[[], int] = torch._C._len_torch_dispatch_stack
tracing_state: Callable[[], Any] = torch._C._get_tracing_state
compiler = vars(torch.compiler)
contexts, _Tensor, _is_batched = guards._TLS, torch.Tensor, torch._C._functorch.is_batchedtensor
_is_wrapped: Callable[[Any], bool] = torch._C._functorch.is_gradtrackingtensor
_DIFFERENTIATING = (torch._C._functorch.TransformType.Grad, torch._C._functorch.TransformType.Jvp)
_PROXY = torch._C._TorchDispatchModeKey.PROXY
_WRAPPED = ("Python", "Functionalize", "Batched", "FuncTorchBatched", "FuncTorchGradWrapper")
_STANDS_FOR = tuple(map(torch._C._dispatch_key_parse, _WRAPPED))
"""The keys of tensors that hold others, and have no memory of their own."""
_SavedTensor = torch._C._autograd.SavedTensor
_packing = threading.local()
_top_hooks = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)


def packing() -> Any:
    """The hooks that saved tensors are packed and unpacked with now; None where there are none."""
    if _top_hooks is not None:
        return _top_hooks(False)
    return _packing.hooks[-1] if getattr(_packing, "hooks", None) else None


packing_now: Callable[[], Any] = packing if _top_hooks is None else functools.partial(_top_hooks, False)
"""The same, without Python where PyTorch tells."""


def opened(item: Any) -> tuple[Any, ...] | None:
    """Return what a tensor that was saved holds, and the function that gives it back; None where PyTorch does not tell,
    and nothing of other things."""
    if not isinstance(item, _SavedTensor):
        return ()
    return (item.data, item.unpack_hook) if hasattr(item, "data") else None


def _follow_packing() -> None:
    """Note the hooks from now on: before 2.7, PyTorch does not tell."""
    autograd: Any = torch._C._autograd
    push, pop = autograd._push_saved_tensors_default_hooks, autograd._pop_saved_tensors_default_hooks

    def noted_push(*hooks: Any) -> None:
        push(*hooks)
        _packing.hooks = [*getattr(_packing, "hooks", ()), hooks]

    def noted_pop() -> None:
        pop()
        _packing.hooks.pop()

    autograd._push_saved_tensors_default_hooks, autograd._pop_saved_tensors_default_hooks = noted_push, noted_pop


if _top_hooks is None:
    _follow_packing()
_pass_number: Callable[[], int] = torch._C._current_graph_task_id
_CARRIED = "autograph"
_libraries: dict[str, Any] = {}
"""The registrations, which end with these objects."""
_RESERVED = ("prim",)
"""The namespaces in which nothing may be registered."""


def intercept(handler: Callable[..., Any]) -> None:
    """Have this called as `handler(operation, *args, **kwargs)` instead of operations, where they are `intercepted`.

    What is composed of other operations, and has no derivative of its own, passes: its parts come. What makes a tensor
    out of none passes as well, apart from `FACTORIES`, and so does what makes numbers out of tensors.
    """
    if _libraries:
        return
    composed = set(torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd"))
    for schema in torch._C._jit_get_all_schemas():
        space, _, base = schema.name.partition("::")
        name = f"{base}.{schema.overload_name}".rstrip(".")
        if space in _RESERVED or not torch._C._dispatch_has_kernel(f"{space}::{name}"):
            continue
        passes = f"{space}::{name}" in composed or schema.name in _FRESH or _gives_numbers(schema)
        if passes or not (base in FACTORIES or any("Tensor" in str(given.type) for given in schema.arguments)):
            _register(space, name, torch.library.fallthrough_kernel)
        else:
            kernel = functools.partial(handler, Operation(space, base, schema.overload_name or "default"))
            _register(space, name, kernel)
    _pass_higher_order()
    _follow_definitions(handler)
    if hasattr(torch.library.Library, "fallback"):  # for what a package defines in C, from 2.5 on
        _libraries["_"] = torch.library.Library("_", "IMPL")
        _libraries["_"].fallback(functools.partial(_fall_back, handler), _KEY_NAME)


def _register(space: str, name: str, kernel: Any) -> None:
    library = _libraries.get(space) or _libraries.setdefault(space, torch.library.Library(space, "IMPL"))
    library.impl(name, kernel, _KEY_NAME)


def _follow_definitions(handler: Callable[..., Any]) -> None:
    """Have operations come that the script defines: while a mode is on, PyTorch refuses what is not registered for the
    operation itself."""
    own = torch.library.Library.define

    @functools.wraps(own)
    @uncounted
    def define(library: Any, schema: str, *args: Any, **kwargs: Any) -> Any:
        returned = own(library, schema, *args, **kwargs)  # the name without its overload
        name = schema.partition("(")[0].strip().rpartition("::")[2]
        base, _, overload = name.partition(".")
        kernel = functools.partial(handler, Operation(library.ns, base, overload or "default"))
        _register(library.ns, name, kernel)
        return returned

    torch.library.Library.define = define


def _pass_higher_order() -> None:
    """Let operations on functions, such as `torch.cond`, pass: what they run comes."""
    operations._HIGHER_ORDER_OP_DEFAULT_FALLTHROUGH_DISPATCH_KEYS.append(_KEY)
    for each in operations._higher_order_ops.values():
        each.fallthrough(_KEY)


_NUMERIC = frozenset(("bool", "float", "int", "number"))


def _gives_numbers(schema: Any) -> bool:
    """Return whether an operation changes nothing and gives nothing but numbers."""
    return bool(schema.returns) and not schema.is_mutable and {str(each.type) for each in schema.returns} <= _NUMERIC


class Operation:
    """An operation that is intercepted, and what is true of all its calls, read at the first."""

    __slots__ = ("changes", "defaults", "facts", "found", "gives_nothing", "names", "run")

    def __init__(self, *names: str) -> None:
        self.names = names
        self.found: Any = None
        self.facts: Any = None
        """The same as the compiled listener reads it."""

    def find(self) -> None:
        """Read them: PyTorch makes its operations when they are asked for."""
        self.found = functools.reduce(getattr, self.names, torch.ops)
        schema = self.found._schema
        self.run = self.found._op
        self.changes, self.gives_nothing = bool(schema.is_mutable), not schema.returns
        self.defaults = {each.name: each.default_value for each in schema.arguments}


@uncounted
def _fall_back(handler: Callable[..., Any], operation: Any, *args: Any, **kwargs: Any) -> Any:
    return handler(_defined_in_c(operation), *args, **kwargs)


@functools.cache
def _defined_in_c(operation: Any) -> Operation:
    space, _, base = operation._schema.name.partition("::")
    return Operation(space, base, operation._overloadname)


@uncounted
def compute(operation: Any, args: Any, kwargs: Any) -> Any:
    """Run an operation that came to the handler, as it would have run."""
    try:
        return operation.run(*args, **kwargs)
    except RuntimeError as error:
        if "Unable to cast" not in str(error):
            raise
    # A number that PyTorch itself had made a tensor came as a number, and few operations take it back.
    types = [str(each.type) for each in operation.found._schema.arguments]
    made = [
        torch.scalar_tensor(x, dtype=_NUMBERS[type(x)]) if kind == "Tensor" and type(x) in _NUMBERS else x
        for kind, x in zip(types, args, strict=False)
    ]
    return operation.run(*made, **kwargs)


_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


intercepted: Callable[[bool], None] = functools.partial(torch._C._dispatch_tls_set_dispatch_key_included, _KEY)
"""Set whether the operations of this thread go to the handler."""


def is_intercepted() -> bool:
    """Return whether they do now."""
    return bool(torch._C._dispatch_tls_is_dispatch_key_included(_KEY))


def run_backward() -> Callable[..., Any]:
    """Return what all backward passes go through."""
    return graphs._engine_run_backward  # type: ignore[no-any-return]


def in_pass() -> bool:
    """Return whether a backward pass is running in this thread."""
    return _pass_number() != -1


def has_ranks() -> bool:
    """Return whether there are other processes, to which a pass may send gradients."""
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())


def carried() -> Any:
    """Return what the thread that began this pass has carried; PyTorch runs the nodes of a device in a thread of the
    device's own."""
    return torch._C._get_obj_in_tls(_CARRIED) if torch._C._is_key_in_tls(_CARRIED) else None


def _takes_reference() -> bool:
    """Return whether PyTorch takes a reference of its own to what it carries, as it should."""
    probe: list[Any] = []
    count = sys.getrefcount(probe)
    torch._C._stash_obj_in_tls(_CARRIED, probe)
    took = sys.getrefcount(probe) > count
    if not took:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(probe))
    return took


_is_counted = _takes_reference()


def _carry(carried_object: Any) -> None:
    if not _is_counted:  # it gives a reference back all the same
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(carried_object))
    torch._C._stash_obj_in_tls(_CARRIED, carried_object)


_carry(None)


@contextlib.contextmanager
def carrying(carried_object: Any) -> Iterator[None]:
    """Within the block, passes carry an object into the threads that they run in."""
    before = carried()
    _carry(carried_object)
    try:
        yield
    finally:
        _carry(before)


def is_traced() -> bool:
    """Return whether what runs in this thread is looked at by a compiler or a tracer, on tensors of its own."""
    if getattr(contexts, "tracing_context", None) is not None or compiler["_is_compiling_flag"]:
        return True
    if modes_on() and torch._C._get_dispatch_mode(_PROXY) is not None:
        return True
    return tracing_state() is not None


def is_transforming() -> bool:
    """Return whether a function is traced, compiled or transformed (`vmap`, `grad`) in this thread, on tensors that
    stand for others."""
    return is_traced() or is_within_transform()


def is_within_transform() -> bool:
    """Return whether a function of `torch.func` transforms what runs in this thread."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def is_differentiated_around(roots: Any) -> bool:
    """Return whether a pass from these roots is one of a transform, and what it computes is differentiated outside of
    it as well: by another transform, or by the script."""
    if not is_within_transform():
        return False
    stack = torch._C._functorch.get_interpreter_stack() or ()
    if sum(each.key() in _DIFFERENTIATING for each in stack) > 1:
        return True
    return any(map(_has_outer_history, roots))


def _layers(x: Any) -> Iterator[Any]:
    """A tensor, and those that it stands for, each of the transform around it; the last is the script's."""
    while isinstance(x, _Tensor):
        yield x
        x = torch._C._functorch.get_unwrapped(x) if torch._C._functorch.is_functorch_wrapped_tensor(x) else None


def _has_outer_history(root: Any) -> bool:
    *_, own = None, *_layers(root)
    return own is not None and own.requires_grad


def nodes_made(results: Iterable[Any]) -> list[Any]:
    """The nodes by which the results of a pass of a transform can be differentiated, there and outside of it."""
    nodes = (history(layer) for x in results for layer in _layers(x))
    return [node for node in nodes if node is not None]


def has_wrapped_number(node: Any) -> bool:
    """Return whether a node has saved a tensor without dimensions that a transform has wrapped, as it wraps numbers."""
    for name in dir(node):
        if name.startswith("_saved_"):
            with contextlib.suppress(RuntimeError):  # freed: the pass itself says so
                saved = getattr(node, name)
                if isinstance(saved, _Tensor) and saved.dim() == 0 and _is_wrapped(saved):
                    return True
    return False


def batch_of(x: Any) -> Any:
    """The batch of which a tensor within `vmap` is one sample, which has the history; any other value itself."""
    while issubclass(type(x), _Tensor) and _is_batched(x):
        x = torch._C._functorch.get_unwrapped(x)
    return x


def is_captured() -> bool:
    """Return whether what runs now becomes part of a CUDA graph, so that nothing may be read from the GPU."""
    return bool(torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())


def is_readable(x: Any) -> bool:
    """Return whether this is a tensor whose numbers and memory may be read now: not one that stands for another."""
    return (
        isinstance(x, torch.Tensor)
        and not x.is_meta
        and not (is_transforming() or is_captured())
        and not any(map(torch._C._dispatch_keys(x).has, _STANDS_FOR))
    )


def history(tensor: Any) -> Any:
    """The node that made a tensor, if one did; None for a view of which PyTorch refuses to say so: one that was made
    without gradients, and whose base was changed with them."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def is_recomputing() -> bool:
    """Return whether a checkpoint is running its forward once more: within its own backward, or where a node takes what
    it kept."""
    node = current_node()
    if node is None:
        return False
    if getattr(node, "_forward_cls", None) is CheckpointFunction:
        return True
    hooks = packing()
    return hooks is not None and getattr(hooks[0], "__qualname__", "").startswith("_recomputation_hook")


BYTES_A_NODE = 384
"""The stack that PyTorch takes, from 2.13 on, to let go of a node of which there is an object of Python: it does so by
a call within that for the node after it. It was measured: 256 are enough."""


def deepen_stack(nodes: int) -> None:
    """Let the stack of the main thread grow until it is enough for a chain of so many nodes; else the process would die
    where the chain goes, which it does not without a recorder."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = nodes * BYTES_A_NODE
    if soft != resource.RLIM_INFINITY and soft // 2 < wanted:
        wanted += soft
        with contextlib.suppress(ValueError, OSError):  # the system may refuse
            resource.setrlimit(resource.RLIMIT_STACK, (wanted if hard < 0 else min(wanted, hard), hard))


def untouched() -> contextlib.AbstractContextManager[Any]:
    """Within such a block, no class and no mode of the script's is asked about what is read of tensors and nodes."""
    return _without_modes() if modes_on() else torch._C.DisableTorchFunction()


@contextlib.contextmanager
def _without_modes() -> Iterator[None]:
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        yield
