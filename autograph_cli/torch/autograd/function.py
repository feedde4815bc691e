"""`Function`: operations whose forward and backward the user writes. The `ctx` they share is the graph's node "
"itself."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from .._core import dtypes
from .._core.general import annotate
from .._core.node import (
    LEAF,
    Edge,
    Node,
    NodeType,
    SavedResult,
    View,
    edge_of,
    freed,
    like_of,
    save,
    unpack,
)
from .._core.placement import filled
from .._core.saved import SavedTensor
from .._core.state import L, S, next_sequence_nr
from .._core.tensor import Tensor, make
from .._core.transforms import below, top_level
from .._core.views import (
    CUSTOM,
    MULTIPLE,
    NO_GRAD,
    bump,
    check_inplace,
    counter,
    make_view,
    materialize,
    move_retained,
    rebase,
)


class FunctionCtx:
    """What `forward` may do with its `ctx`."""

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
        """Whether `backward` gets zeros (the default) or None for outputs that no gradient reached."""
        self.materialize_grads = value

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`, which finds them in `ctx.saved_tensors`."""
        self.saved_for_forward = tensors


class BackwardCFunction(FunctionCtx, Node):
    """The node of a custom Function. Each Function has a subclass of its own, named `<Function>Backward`."""

    __slots__ = ("_constant", "_differentiable", "_in_jvp", "_item_edges", "_item_results", "_tensor_places",
                 "dirty_tensors", "materialize_grads", "needs_input_grad", "non_differentiable", "saved_for_forward",
                 "to_save")  # fmt: skip

    _multiple = True
    _takes_none = True
    _forward_cls: type[Function]
    _constant: tuple[Any, ...]
    """The outputs that were marked as not differentiable."""
    _in_jvp: bool
    _tensor_places: tuple[bool, ...]
    """For each argument, whether it is a tensor, and so has an edge."""

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept, with its history; RuntimeError when it was freed or changed in place."""
        if self._in_jvp:
            return self.saved_for_forward or ()
        saved = getattr(self, "_saved", ())
        if saved is None:
            raise freed()
        return tuple(unpack(self, i) for i in range(len(saved)))

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._saved is None:
            raise freed()
        return tuple(SavedTensor(self, i) for i in range(len(self._saved)))

    def _has_gradient(self, i: int, output: Tensor) -> bool:
        return not _among(output, self._constant) and dtypes.CATEGORY[output._raw.dtype] >= dtypes.FLOATING

    def apply(self, *grads: Any) -> Any:
        """Run the user's `backward` on the gradients of the outputs."""
        return self._forward_cls._user_backward()(self, *grads)

    def _run_raw(self, f: Any, grad: Any) -> tuple[Any, ...]:
        grads = self._run([g if g is None else make(g) for g in self._incoming(grad)])
        return tuple(g if g is None else g._raw for g in grads)

    def _run_recorded(self, f: Any, grad: Any) -> tuple[Any, ...]:
        return self._run(self._incoming(grad))

    def _incoming(self, grad: Any) -> list[Any]:
        if grad is None:
            return [None] * len(self._like)
        return grad if isinstance(grad, list) else [grad]

    def _run(self, grads: list[Any]) -> tuple[Any, ...]:
        if self.materialize_grads:
            pairs = zip(grads, self._like, strict=True)
            grads = [_zeros(like) if g is None and like is not None else g for g, like in pairs]
        return self._checked(self.apply(*grads))

    def _checked(self, result: Any) -> tuple[Any, ...]:
        """The gradients of the tensor arguments, out of what the user's `backward` returned."""
        given = result if isinstance(result, tuple) else (result,)
        places, name = self._tensor_places, type(self).__name__
        if len(given) < len(places) or any(g is not None for g in given[len(places) :]):
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {len(places)}, got {len(given)})"
            )
        for i, (g, is_tensor) in enumerate(zip(given, places, strict=False)):
            if not is_tensor and g is not None:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if g is not None and not isinstance(g, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
        return tuple(g for g, is_tensor in zip(given, places, strict=False) if is_tensor)

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
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
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
    def _user_backward(cls) -> Callable[..., Any]:
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
        args = _positional(cls.forward, args, kwargs, cls._is_apart())
        level = top_level(args) if L.levels else None
        if level is None:
            return cls._applied(args)[1]
        with below(level):
            return level.function(cls, args)

    @classmethod
    def _is_apart(cls) -> bool:
        """Whether `forward` takes no `ctx`, and `setup_context` does."""
        return cls.setup_context is not Function.setup_context

    @classmethod
    def _context(cls, args: tuple[Any, ...]) -> BackwardCFunction:
        node: BackwardCFunction = object.__new__(cls._backward_cls)
        node.to_save = node.dirty_tensors = node.non_differentiable = node.saved_for_forward = None
        node.materialize_grads, node._in_jvp, node._constant = True, False, ()
        node._tensor_places = tuple(isinstance(x, Tensor) for x in args)
        node.needs_input_grad = tuple(isinstance(x, Tensor) and x.requires_grad for x in args)
        return node

    @classmethod
    def _applied(cls, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """The node, which is the `ctx`, and what `forward` gave."""
        if L.levels and top_level(args) is not None:
            return cls._applied_above(args)
        node = cls._context(args)
        number = next_sequence_nr()
        record = L.records and any(node.needs_input_grad)
        edges = tuple(edge_of(x) for x in args if isinstance(x, Tensor)) if record else ()
        mode, L.grad = L.grad, False
        try:
            if cls._is_apart():
                result = cls.forward(*args)
                cls.setup_context(node, args, result)
            else:
                result = cls.forward(node, *args)
        finally:
            L.grad = mode
        _check_ctx(node)
        node._edges, node._seq = edges, number
        return node, _finish(node, args, result, record)

    @classmethod
    def _applied_above(cls, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """The same under a transform further out: what it gives, and a `ctx` that holds tensors of its level."""
        if not cls._is_apart():
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
                "override the setup_context staticmethod. For more details, please see "
                "https://pytorch.org/docs/main/notes/extending.func.html"
            )
        result = cls.apply(*args)
        node = cls._context(args)
        mode, L.grad = L.grad, False
        try:
            cls.setup_context(node, args, result)
        finally:
            L.grad = mode
        node._constant = _tensors(node.non_differentiable, "")
        return node, result

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """(outputs, their batch dimensions) of arguments of which some have a batch dimension; see `torch.vmap`."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangent of each output, given those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def _tangents(cls, node: Any, primals: Any, result: Any, tangents: list[Any]) -> tuple[Any, ...]:
        """What the user's `jvp` gives, one for each output."""
        node._in_jvp = True
        try:
            found = cls.jvp(node, *tangents)
        finally:
            node._in_jvp = False
        found = found if isinstance(found, tuple) else (found,)
        expected = len(result) if isinstance(result, tuple) else 1
        if len(found) != expected:
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {expected} but got {len(found)})"
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
    if not kwargs:
        return args
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [p for p in inspect.signature(forward).parameters.values() if p.kind in kinds][1:]
    places = {p.name: i for i, p in enumerate(parameters)}
    for name in kwargs:
        if name not in places:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if places[name] < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    last = max(places[name] for name in kwargs)
    rest = []
    for parameter in parameters[len(args) : last + 1]:
        value = kwargs.get(parameter.name, parameter.default)
        if value is inspect.Parameter.empty:
            raise TypeError(f"forward() missing a required argument: '{parameter.name}'")
        rest.append(value)
    return (*args, *rest)


_ENGINE_SLOTS = ("_edges", "_extra", "_like", "_saved", "_seq")
_ENGINE_NAMES = ("_operation", "_multiple", "_takes_none", "_frees", "_item_names", "_run_raw", "_run_recorded", "_name")


def _check_ctx(node: BackwardCFunction) -> None:
    taken = [n for n in _ENGINE_SLOTS if hasattr(node, n)] + [n for n in _ENGINE_NAMES if n in node.__dict__]
    if taken:
        raise AttributeError(
            f"ctx.{taken[0]}: autograph's engine uses this name on its nodes; please give it another name"
        )


# ---------------------------------------------------------------- after forward


def _finish(node: BackwardCFunction, args: tuple[Any, ...], result: Any, record: bool) -> Any:
    """Make `node` the history of the outputs and keep what it saves."""
    outputs = list(result) if isinstance(result, tuple) else [result]
    dirty = _tensors(node.dirty_tensors, "mark_dirty can only accept variables, but argument {i} is of type {kind}")
    constant = _tensors(
        node.non_differentiable, "mark_non_differentiable only accepts variable arguments, but got {kind}"
    )
    for x in dirty:
        bump(x)
    _check_dirty(args, outputs, dirty, record)
    node._extra = None
    node._like = [like_of(x._raw) if isinstance(x, Tensor) else None for x in outputs]
    node._differentiable = frozenset(
        i
        for i, x in enumerate(outputs)
        if record
        and isinstance(x, Tensor)
        and not _among(x, constant)
        and dtypes.CATEGORY[x._raw.dtype] >= dtypes.FLOATING
    )
    if record:
        annotate(node)
    for i, x in enumerate(outputs):
        if isinstance(x, Tensor):
            outputs[i] = _attach(node, i, x, args, dirty)
    _save(node, args, outputs, record)
    node._constant = constant
    node.to_save = node.dirty_tensors = node.non_differentiable = None
    if record and S.observer is not None:
        S.observer.created(node, args, tuple(x for x in outputs if isinstance(x, Tensor)))
    if record and dirty and outputs[0]._edge.__class__ is View and _among(outputs[0], dirty):
        rebase(outputs[0], node)
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _tensors(given: Any, message: str, error: type[Exception] = RuntimeError) -> tuple[Any, ...]:
    for i, x in enumerate(given or ()):
        if x is not None and not isinstance(x, Tensor):
            raise error(message.format(i=i, kind=type(x).__name__))
    return given or ()


def _among(x: Any, tensors: tuple[Any, ...]) -> bool:
    return any(x is t for t in tensors)


def _check_dirty(args: tuple[Any, ...], outputs: list[Any], dirty: tuple[Any, ...], record: bool) -> None:
    if any(not _among(x, tuple(outputs)) for x in dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )
    for x in dirty:
        if not _among(x, args):
            warnings.warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                "should be passed to ctx.mark_dirty().",
                UserWarning,
                stacklevel=4,
            )
        if record and x.requires_grad and x.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if record and x._edge.__class__ is View and sum(isinstance(y, Tensor) for y in outputs) > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                "return more than one Tensor. This is not supported by the current autograd engine."
            )
        if record and x._edge.__class__ is View:
            check_inplace(x)


def _attach(node: BackwardCFunction, number: int, x: Tensor, args: tuple[Any, ...], dirty: tuple[Any, ...]) -> Tensor:
    """Output `number` on its node: changed in place, an input returned as it is, a view, or new."""
    edge: Edge | None = (node, number) if number in node._differentiable else None
    if edge is None:
        return x if _among(x, dirty) and not x.requires_grad else _outside(x, args, bool(node._edges))
    if _among(x, dirty):
        if x._meta is not None:
            x._meta.grad = None
        if x._edge.__class__ is not View:
            before, x._edge = x._edge, edge
            move_retained(x, before)
        return x
    creation = MULTIPLE if len(node._differentiable) > 1 else CUSTOM
    if _among(x, args):
        alias = make(materialize(x))
        make_view(alias, x, edge)
        if alias._edge.__class__ is View:
            alias._edge.creation = creation
        return alias
    if not node._edges:
        return x
    view = x._edge
    x._edge = View(view.base, edge, counter(view.base)[0], creation) if view.__class__ is View else edge
    return x


def _outside(x: Tensor, args: tuple[Any, ...], recorded: bool) -> Tensor:
    """An output without a gradient: an input that asks for one is left as it is."""
    given = _among(x, args)
    if not x.requires_grad:
        if not given or recorded:
            return x
        alias: Tensor = x.view_as(x)
        if alias._edge.__class__ is View:
            alias._edge.creation = alias._edge.creation or NO_GRAD
        return alias
    if given:
        return x.detach()
    if x._edge.__class__ is not View:
        x._edge = None
    return x


def _save(node: BackwardCFunction, args: tuple[Any, ...], outputs: list[Any], record: bool) -> None:
    """Keep what `save_for_backward` was given: outputs without their tensors, inputs with their edges."""
    wanted = _tensors(
        node.to_save, "save_for_backward can only save variables, but argument {i} is of type {kind}", TypeError
    )
    inputs = [x for x in args if isinstance(x, Tensor)]
    items: list[Any] = []
    results: list[int | None] = []
    places: list[int | None] = []
    for x in wanted if record else ():
        number = next((i for i, y in enumerate(outputs) if y is x and i in node._differentiable), None)
        place = next((i for i, y in enumerate(inputs) if y is x), None) if number is None and x is not None else None
        items.append(x if number is None else SavedResult(x._raw, counter(x)))
        results.append(number)
        places.append(place)
    node._item_results, node._item_edges = tuple(results), tuple(places)
    node._saved = save(node, items)


# ---------------------------------------------------------------- once_differentiable


class Error(Node):
    """Raises when backward reaches it: there is no derivative here."""

    __slots__ = ("message",)
    _multiple = True

    def _name(self) -> str:
        return "torch::autograd::Error"

    def _run_raw(self, f: Any, grad: Any) -> tuple[Any, ...]:
        raise RuntimeError(self.message)

    _run_recorded = _run_raw


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that is not differentiable itself: a second derivative raises RuntimeError.

    >>> from autograph_cli.torch.autograd.function import once_differentiable
    >>> @staticmethod
    ... @once_differentiable
    ... def backward(ctx, grad):
    ...     return grad * 2
    """

    @functools.wraps(backward)
    def run(ctx: Any, *grads: Any) -> Any:
        mode, L.grad = L.grad, False
        try:
            result = backward(ctx, *grads)
        finally:
            L.grad = mode
        if not mode or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return result
        message = "trying to differentiate twice a function that was marked with @once_differentiable"
        stopped = _stop(message, result if isinstance(result, tuple) else (result,))
        return stopped if isinstance(result, tuple) else stopped[0]

    return run


def _stop(message: str, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors behind one `Error` node, which hangs on leaves of its own."""
    leaves = [None if t is None else make(t._raw, LEAF) for t in tensors]
    node: Error = object.__new__(Error)
    node.message = message
    node._edges = tuple(None if leaf is None else edge_of(leaf) for leaf in leaves)
    node._saved, node._extra, node._seq = (), None, next_sequence_nr()
    node._like = [None if t is None else like_of(t._raw) for t in tensors]
    annotate(node)
    outputs = tuple(None if t is None else make(t._raw, (node, i)) for i, t in enumerate(tensors))
    if S.observer is not None:
        S.observer.created(node, tuple(leaves), tuple(t for t in outputs if t is not None))
    return outputs
