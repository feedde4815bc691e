"""`Function`: operations whose forward and backward the user writes. The `ctx` they share is the graph's node
itself."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from .._arrays.lazy import resolved
from .._compiled import compiled
from .._core.base import dtypes
from .._core.base.state import next_sequence_nr, process_state, thread_state
from .._core.base.user_warnings import warn
from .._core.running.device_dispatch import filled
from .._core.running.gradients import output_meta_at
from .._core.tape.node import Node, NodeType, edge_of, shape_dtype
from .._core.tape.saved_tensors import SavedTensor, freed, unpack
from .._core.tape.tensor import Tensor, make
from .._core.transforms.interpreter_stack import BatchLevel, belongs_here, below, in_function, interprets
from .._core.transforms.transforms import top_level
from .function_once import once_differentiable as once_differentiable
from .function_outputs import among, finish, tensors_of, wants_grad

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "once_differentiable"]

_fast: Any = compiled("_core.running.fast_tape")


class FunctionCtx:
    """The `ctx` of `forward`."""

    __slots__ = ()

    to_save: Any
    dirty_tensors: Any
    non_differentiable: Any
    materialize_grads: Any
    saved_for_forward: Any

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `backward`, which finds them in `ctx.saved_tensors`; a second call replaces the first."""
        self.to_save = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs `forward` changed in place."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Return whether `backward` gets zeros (the default) or None for outputs that no gradient reached."""
        self.materialize_grads = value

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`, which finds them in `ctx.saved_tensors`."""
        self.saved_for_forward = tensors


class BackwardCFunction(FunctionCtx, Node):
    """The node of a custom Function. Each Function has a subclass of its own, named `<Function>Backward`."""

    __slots__ = (
        "_ag_constant", "_ag_differentiable", "_ag_in_jvp", "_ag_item_edges", "_ag_item_results", "_ag_takes_grad",
        "dirty_tensors", "materialize_grads", "needs_input_grad", "non_differentiable", "saved_for_forward",
        "to_save",
    )  # fmt: skip

    _ag_multiple = True
    _ag_takes_none = True
    _forward_cls: type[Function]
    _ag_constant: tuple[Any, ...]
    """The outputs that were marked as not differentiable."""
    _ag_in_jvp: bool
    needs_input_grad: tuple[bool, ...]
    _ag_takes_grad: tuple[bool, ...]
    """For each argument, whether it is a tensor, and so has an edge."""

    def _ag_all_unpacked(self) -> tuple[Any, ...]:
        """Return what `save_for_backward` kept, with its history; RuntimeError when it was freed or changed in
        place."""
        if self._ag_in_jvp:
            return self.saved_for_forward or ()
        saved = self._ag_saved
        if saved is None:
            raise freed()
        return tuple(unpack(self, i) for i in range(len(saved)))

    saved_tensors = property(_fast.saved_tensors if _fast else _ag_all_unpacked, doc=_ag_all_unpacked.__doc__)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The former name of `saved_tensors`; it warns."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self._ag_all_unpacked()

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._ag_saved is None:
            raise freed()
        return tuple(SavedTensor(self, i) for i in range(len(self._ag_saved)))

    def _ag_has_gradient(self, i: int, output: Tensor) -> bool:
        return not among(output, self._ag_constant) and dtypes.CATEGORY[output._ag_raw.dtype] >= dtypes.FLOATING

    def apply(self, *grads: Any) -> Any:
        """Run the user's `backward` on the gradients of the outputs."""
        return self._forward_cls._ag_user_backward()(self, *grads)

    def _ag_run_raw(self, f: Any, grad: Any) -> tuple[Any, ...]:
        return self._ag_raws(self._ag_run([g if g is None else make(g) for g in self._ag_incoming(grad)]))

    @staticmethod
    def _ag_raws(grads: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(g if g is None else resolved(g._ag_raw) for g in grads)

    def _ag_run_recorded(self, f: Any, grad: Any) -> tuple[Any, ...]:
        return self._ag_run(self._ag_incoming(grad))

    def _ag_incoming(self, grad: Any) -> list[Any]:
        if grad is None:
            return [None] * len(self._ag_output_meta)
        return grad if isinstance(grad, list) else [grad]

    def _ag_run(self, grads: list[Any]) -> tuple[Any, ...]:
        if self.materialize_grads:
            pairs = zip(grads, self._ag_output_meta, strict=True)
            grads = [_zeros(like) if g is None and like is not None else g for g, like in pairs]
        return self._ag_checked(self.apply(*grads))

    def _ag_checked(self, result: Any) -> tuple[Any, ...]:
        """The gradients of the tensor arguments, out of what the user's `backward` returned."""
        given = result if isinstance(result, tuple) else (result,)
        takes_grad, name = self._ag_takes_grad, type(self).__name__
        if (wanted := len(takes_grad)) > len(given) or any(g is not None for g in given[wanted:]):
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {wanted}, got {len(given)})"
            )
        for i, (g, is_tensor) in enumerate(zip(given, takes_grad, strict=False)):
            if not is_tensor and g is not None:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if g is not None and not isinstance(g, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
        self._ag_check_complex(given)
        return tuple(g for g, is_tensor in zip(given, takes_grad, strict=False) if is_tensor)

    def _ag_check_complex(self, given: tuple[Any, ...]) -> None:
        """Raise PyTorch's error for a complex gradient of a real argument."""
        tensors = (g for g, is_tensor in zip(given, self._ag_takes_grad, strict=False) if is_tensor)
        for g, edge in zip(tensors, self._ag_edges, strict=False):
            if (
                g is not None
                and edge is not None
                and g.dtype.is_complex
                and shape_dtype(output_meta_at(edge))[1].kind != "c"
            ):
                raise RuntimeError(
                    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, "
                    "but got false.  (Could this error message be improved?  If so, please report an enhancement "
                    "request to PyTorch.)"
                )

    def __call__(self, *_: Any) -> Any:
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


def _zeros(like: Any) -> Tensor:
    return make(filled(like, 0))


# ---------------------------------------------------------------- the user's class


class FunctionMeta(type):
    """Makes the node class of each Function."""

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        super().__init__(name, bases, members)
        node_members = {"_forward_cls": cls, "__module__": "torch.autograd.function", "__doc__": f"Backward of {name}."}
        cls._backward_cls = NodeType(f"{name}Backward", (BackwardCFunction,), node_members)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base class of operations with their own `forward` and `backward`; used by `apply`, never instantiated.

    >>> from autograph_cli import torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * 2 * x
    >>> Square.apply(torch.tensor(3.0, requires_grad=True))
    tensor(9., grad_fn=<SquareBackward>)
    """

    _backward_cls: type[Any]
    generate_vmap_rule = False

    def __init__(self, *_: Any, **__: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*_: Any, **__: Any) -> Any:
        """`forward(ctx, *args)`, or `forward(*args)` beside `setup_context`: compute the outputs."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what `backward` needs, where `forward` takes no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradient of each argument, given those of the outputs; None where there is none."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @classmethod
    def _ag_user_backward(cls) -> Callable[..., Any]:
        own_backward, own_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if own_backward and own_vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return cls.vjp if own_vjp else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` outside the graph and put the Function's node on its outputs."""
        if (apart := cls._ag_is_apart()) or kwargs:
            args = _positional(cls.forward, args, kwargs, apart)
        if not thread_state.levels:
            return _fast.applied(cls, args) if _fast else cls._ag_applied(args)[1]
        if in_function() and not apart:
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it "
                "must override the setup_context staticmethod. "
                f"{NOTES}"
            )
        level = top_level(args)
        if level is None:
            cls._ag_check_batched()
            return cls._ag_applied(args)[1]
        with below(level):
            found = level.function(cls, args)
        return belongs_here(found)

    @classmethod
    def _ag_check_batched(cls) -> None:
        """As in PyTorch, a Function under vmap must have a rule for it also where nothing that it is given is
        batched."""

        if any(isinstance(level, BatchLevel) for level in thread_state.levels) and not has_rule(cls):
            raise without_rule(cls)

    @classmethod
    def _ag_is_apart(cls) -> bool:
        """Return whether `forward` takes no `ctx`, and `setup_context` does."""
        return cls.setup_context is not Function.setup_context

    @classmethod
    def _ag_context(cls, args: tuple[Any, ...]) -> BackwardCFunction:
        node: BackwardCFunction = object.__new__(cls._backward_cls)  # type: ignore[arg-type]
        node.to_save = node.dirty_tensors = node.non_differentiable = node.saved_for_forward = None
        node._ag_edges = node._ag_output_meta = node._ag_saved = ()
        node._ag_extra, node._ag_seq = None, 0
        node.materialize_grads, node._ag_in_jvp, node._ag_constant = True, False, ()
        node._ag_takes_grad = tuple([isinstance(x, Tensor) for x in args])
        node.needs_input_grad = tuple([isinstance(x, Tensor) and wants_grad(x) for x in args])
        return node

    @classmethod
    def _ag_applied(cls, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """The node, which is the `ctx`, and what `forward` gave."""
        if thread_state.levels and top_level(args) is not None:
            return cls._ag_applied_above(args)
        node = cls._ag_context(args)
        record = thread_state.records and True in node.needs_input_grad
        if record:
            node._ag_edges = tuple([edge_of(x) for x in args if isinstance(x, Tensor)])
        observer = process_state.observer
        applied = observer.applies(args) if record and observer is not None else None
        node._ag_seq = next_sequence_nr()
        mode, thread_state.grad = thread_state.grad, False
        try:
            if cls._ag_is_apart():
                result = cls.forward(*args)
                cls.setup_context(node, args, result)
            else:
                result = cls.forward(node, *args)
        finally:
            thread_state.grad = mode
        return node, finish(node, args, result, record, applied)

    @classmethod
    def _ag_applied_above(cls, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """The same under a transform further out: what it gives, and a `ctx` that holds tensors of its level."""
        result = cls.apply(*args)
        node = cls._ag_context(args)
        mode, thread_state.grad = thread_state.grad, False
        try:
            cls.setup_context(node, args, result)
        finally:
            thread_state.grad = mode
        node._ag_constant = tensors_of(node.non_differentiable, "")
        return node, result

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """(outputs, their batch dimensions) of arguments of which some have a batch dimension; see `torch.vmap`."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangent of each output, given those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def _ag_tangents(cls, node: Any, primals: Any, result: Any, tangents: list[Any]) -> tuple[Any, ...]:
        """Return what the user's `jvp` gives, one for each output."""
        node._ag_in_jvp = True
        try:
            found = cls.jvp(node, *tangents)
        finally:
            node._ag_in_jvp = False
        found = found if isinstance(found, tuple) else (found,)
        expected = len(result) if isinstance(result, tuple) else 1
        if len(found) != expected:
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {expected} but got "
                f"{len(found)})"
            )
        return found


def _positional(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], apart: bool
) -> tuple[Any, ...]:
    """All arguments in the order of `forward`'s parameters; with `setup_context`, the defaults as well."""
    if apart:
        bound = inspect.signature(forward).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [p for p in inspect.signature(forward).parameters.values() if p.kind in kinds][1:]
    positions = {p.name: i for i, p in enumerate(parameters)}
    for name in kwargs:
        if name not in positions:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if positions[name] < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    last = max(positions[name] for name in kwargs)
    rest = []
    for parameter in parameters[len(args) : last + 1]:
        value = kwargs.get(parameter.name, parameter.default)
        if value is inspect.Parameter.empty:
            raise TypeError(f"forward() missing a required argument: '{parameter.name}'")
        rest.append(value)
    return (*args, *rest)


if _fast:
    _fast.know_functions(Function, BackwardCFunction, finish)
NOTES = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def has_rule(cls: Any) -> bool:
    """Return whether a custom Function can be batched."""
    return cls.generate_vmap_rule or cls.vmap is not Function.vmap


def without_rule(cls: Any) -> RuntimeError:
    """PyTorch's error for one that cannot."""
    return RuntimeError(
        f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the "
        f"vmap staticmethod or set generate_vmap_rule=True. {NOTES}"
    )


@interprets(BatchLevel, "function")
def _batched(level: BatchLevel, cls: type[Function], args: tuple[Any, ...]) -> Any:
    # With the trees of its results, which few scripts need.
    return importlib.import_module(".batched_function", __package__).apply(level, cls, args)
