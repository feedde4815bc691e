"""Custom Functions: what ctx offers, what their nodes are, and PyTorch's errors."""

import gc
import weakref
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.torch.autograd.function import Function, once_differentiable


def make(forward, backward=None, **members):
    """The `apply` of a Function named `My`."""
    members["forward"] = staticmethod(forward)
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type("My", (Function,), members).apply


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x


@pytest.fixture
def x():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def by(y, x):
    return torch.autograd.grad(y.sum(), x)[0].tolist()


# ---------------------------------------------------------------- nodes


def test_the_node_is_named_after_the_function(x):
    node = Square.apply(x).grad_fn
    assert type(node).__name__ == node.name() == "SquareBackward"
    assert isinstance(node, torch.autograd.graph.Node)
    assert repr(node).startswith("<torch.autograd.function.SquareBackward object at 0x")


def test_ctx_is_the_node(x):
    seen = []

    def forward(ctx, x):
        ctx.factor = 3
        seen.append(ctx)
        return x * 3

    y = make(forward, lambda ctx, g: g * ctx.factor)(x)
    assert y.grad_fn is seen[0] and y.grad_fn.factor == 3
    assert by(y, x) == [3.0, 3.0]


def test_edges_are_those_of_the_tensor_arguments(x):
    y = make(lambda ctx, a, k, b: a * k, lambda ctx, g: (g, None, None))(x, 2, torch.ones(2))
    (first, second) = y.grad_fn.next_functions
    assert first[0].variable is x and second == (None, 0)


USERS_NAMES = tuple(
    """
    saved edges like seq extra operation multiple frees takes_none differentiable saved_names saved_edges raw recorded
    name x name2 shape base view
    """.split()
)


@pytest.mark.parametrize("name", USERS_NAMES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_ctx_keeps_what_the_user_calls_as_he_likes(x, name, create_graph):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        setattr(ctx, name, 3)
        return x * x

    y = make(forward, lambda ctx, g: g * getattr(ctx, name) * ctx.saved_tensors[0])(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=create_graph)
    assert g.tolist() == [3.0, 6.0] and getattr(y.grad_fn, name) == 3


def test_without_a_tensor_that_requires_grad_there_is_no_node(x):
    needs = []
    run = make(lambda ctx, x: (needs.append(ctx.needs_input_grad), x * 2)[1], lambda ctx, g: g)
    assert not run(x.detach()).requires_grad
    with torch.no_grad():
        assert not run(x).requires_grad
    assert needs == [(False,), (True,)]


def test_setup_context_is_given_inputs_with_defaults_and_output(x):
    class Scale(Function):
        @staticmethod
        def forward(x, k=3):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

    assert by(Scale.apply(x), x) == [3.0, 3.0]
    assert by(Scale.apply(x, k=5), x) == [5.0, 5.0]


def test_keyword_arguments_take_the_places_of_their_parameters(x):
    scale = make(lambda ctx, x, k=2: (setattr(ctx, "k", k), x * k)[1], lambda ctx, g: (g * ctx.k, None))
    assert scale(x).tolist() == [2.0, 4.0]
    assert scale(k=3, x=x).tolist() == [3.0, 6.0]
    assert scale(x, k=3).grad_fn.needs_input_grad == (True, False)


def test_methods_need_not_be_static(x):
    class Triple(Function):
        def forward(ctx, x):
            return x * 3

        def backward(ctx, g):
            return g * 3

    assert by(Triple.apply(x), x) == [3.0, 3.0]


# ---------------------------------------------------------------- saved tensors


def test_inputs_outputs_and_intermediates_come_back(x):
    def forward(ctx, x):
        result, middle = x.exp(), x + 1
        ctx.save_for_backward(x, result, None, middle)
        assert ctx.saved_tensors == ()
        return result

    y = make(forward, lambda ctx, g: g)(x)
    given, result, nothing, middle = y.grad_fn.saved_tensors
    assert given is x and nothing is None
    assert result.grad_fn is y.grad_fn and result.tolist() == y.tolist()
    assert not middle.requires_grad and middle.tolist() == [2.0, 3.0]


def test_a_saved_output_makes_no_reference_cycle(x):
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    gc.disable()
    try:
        y = make(forward, lambda ctx, g: g * ctx.saved_tensors[0])(x)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_a_function_that_saves_nothing_runs_twice(x):
    y = make(lambda ctx, x: x * 2, lambda ctx, g: g * 2)(x)
    assert by(y, x) == by(y, x) == [2.0, 2.0]


@pytest.mark.parametrize("which", ["input", "output"])
def test_an_in_place_change_of_what_was_saved_is_found(x, which):
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(x if which == "input" else result)
        return result

    w = x * 1
    y = make(forward, lambda ctx, g: (ctx.saved_tensors, g)[1])(w)
    loss = y.sum()
    (w if which == "input" else y).add_(1)
    with pytest.raises(
        RuntimeError, match=r"modified by an inplace operation: .* is at version 1; expected version 0 instead"
    ):
        loss.backward()


def test_packing_hooks_apply_to_save_for_backward(x):
    shapes = []

    def pack(tensor):
        shapes.append(tuple(tensor.shape))
        return tensor

    def forward(ctx, x):
        first, second = x * 2, x.exp()
        ctx.save_for_backward(x, second)
        return first, second

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = make(forward, lambda ctx, a, b: a * 2 + b * ctx.saved_tensors[1])(x)
    assert shapes == [(2,), (2,)]
    saved = y[0].grad_fn.saved_tensors[1]
    assert saved.grad_fn is y[0].grad_fn and saved.output_nr == 1


# ---------------------------------------------------------------- outputs


def test_backward_runs_also_when_no_gradient_comes_at_all(x):
    seen = []
    inner = make(lambda ctx, x: x * 2, lambda ctx, g: (seen.append(g.tolist()), g)[1])
    outer = make(lambda ctx, x: x * 2, lambda ctx, g: None)
    outer(inner(x)).sum().backward()
    assert seen == [[0.0, 0.0]] and x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("forward", [lambda ctx, x: x, lambda ctx, x: x.view(1, 2), lambda ctx, x: (x * 2).view(1, 2)])
def test_views_refuse_in_place_changes(x, forward):
    y = make(forward, lambda ctx, g: g.view(2))(x * 1)
    with pytest.raises(
        RuntimeError, match=r"Output 0 of My is a view .* This view was created inside a custom Function"
    ):
        y.add_(1)


def test_one_of_several_views_refuses_in_place_changes(x):
    y = make(lambda ctx, x: tuple(x.unbind()), lambda ctx, *g: torch.stack(g))(x * 1)
    with pytest.raises(RuntimeError, match="the output of a function that returns multiple views"):
        y[0].add_(1)


def double_in_place(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


def test_broadcast_gradients_are_summed(x):
    a, b = torch.ones(3, 1, requires_grad=True), torch.ones(1, 3, requires_grad=True)
    y = make(lambda ctx, a, b: a * b, lambda ctx, g: (g, g))(a, b)
    for create_graph in (False, True):
        found = torch.autograd.grad(y.sum(), (a, b), create_graph=create_graph, retain_graph=True)
        assert [tuple(g.shape) for g in found] == [(3, 1), (1, 3)]


def test_nested_functions_give_every_order(x):
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return g * 3 * Square.apply(ctx.saved_tensors[0])

    (first,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    assert (first.tolist(), second.tolist(), by(second, x)) == ([3.0, 12.0], [6.0, 12.0], [6.0, 6.0])


# ---------------------------------------------------------------- errors


IDENTITY = lambda ctx, x: x * 1  # noqa: E731
BACKWARD_ERRORS = [
    (
        None,
        NotImplementedError,
        "You must implement either the backward or vjp method for your custom autograd.Function",
    ),
    (
        lambda ctx, g: (g, g),
        RuntimeError,
        r"function MyBackward returned an incorrect number of gradients \(expected 1, got 2\)",
    ),
    (lambda ctx, g: 3, RuntimeError, r"expected Variable or None \(got int\)"),
    (lambda ctx, g: [g], RuntimeError, r"expected Variable or None \(got list\)"),
    (
        lambda ctx, g: torch.ones(3),
        RuntimeError,
        r"Function MyBackward returned an invalid gradient at index 0 - got \[3\] but expected shape",
    ),
]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(("backward", "kind", "message"), BACKWARD_ERRORS)
def test_a_wrong_backward_is_told(x, backward, kind, message, create_graph):
    with pytest.raises(kind, match=message):
        make(IDENTITY, backward)(x).sum().backward(create_graph=create_graph)


FORWARD_ERRORS = [
    (lambda ctx, x: (ctx.mark_dirty(3), x)[1], RuntimeError, "mark_dirty can only accept variables, but argument"),
    (
        lambda ctx, x: (ctx.mark_non_differentiable(3), x)[1],
        RuntimeError,
        "mark_non_differentiable only accepts variable arguments, but got",
    ),
]


@pytest.mark.parametrize(("forward", "kind", "message"), FORWARD_ERRORS)
def test_a_wrong_forward_is_told(x, forward, kind, message):
    with pytest.raises(kind, match=message):
        make(forward, lambda ctx, g: g)(x)


def test_a_dirty_view_must_be_the_only_output(x):
    with pytest.raises(
        RuntimeError, match="If your Function modifies inplace an input that is a view of another Tensor"
    ):
        make(lambda ctx, x: (double_in_place(ctx, x), x * 1), lambda ctx, g, h: g)((x * 1)[:1])


def test_a_function_without_forward_is_told(x):
    with pytest.raises(
        NotImplementedError, match=r"You must implement the forward function for custom autograd\.Function\."
    ):
        type("Empty", (Function,), {}).apply(x)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"foo": 3}, r"forward\(\) got an unexpected keyword argument 'foo'"),
        ({"x": 3}, r"forward\(\) got multiple values for argument 'x'"),
    ],
)
def test_wrong_keywords_are_told(x, kwargs, message):
    with pytest.raises(TypeError, match=message):
        make(lambda ctx, x, k=2: x * k)(x, **kwargs)


def test_a_function_is_not_called_but_applied():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Square()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        made(torch.ones(1))


def test_an_exception_in_forward_leaves_recording_on(x):
    def forward(ctx, x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        make(forward)(x)
    assert torch.is_grad_enabled()


# ---------------------------------------------------------------- once_differentiable


@pytest.fixture
def once():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    return make(forward, once_differentiable(lambda ctx, g: g * 2 * ctx.saved_tensors[0]))


def test_once_differentiable_ends_in_an_error_node(x, once):
    (g,) = torch.autograd.grad((once(x) ** 2).sum(), x, create_graph=True)
    assert (type(g.grad_fn).__name__, g.grad_fn.name()) == ("Error", "torch::autograd::Error")
    assert [node.name() for node, _ in g.grad_fn.next_functions] == ["torch::autograd::AccumulateGrad"]
    message = "trying to differentiate twice a function that was marked with @once_differentiable"
    with pytest.raises(RuntimeError, match=message):
        g.sum().backward()


def test_an_input_returned_as_it_is_stays_of_its_class_and_the_class_is_asked_once():
    asked = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = torch.ones(2, requires_grad=True).as_subclass(Told)
    asked.clear()
    y = Same.apply(x)
    assert asked == ["view_as"]
    assert type(y) is Told
    assert y.grad_fn.name() == "SameBackward"
    module = torch.nn.Identity()
    module.register_full_backward_hook(lambda *given: None)
    assert type(module(x)) is Told


@pytest.mark.parametrize("name", ["_ag_item_edges", "_ag_takes_grad"])
@pytest.mark.parametrize("value", [3, None, (), "ab"])
def test_a_name_of_the_engine_that_a_script_takes_is_an_error_and_no_crash(name: str, value: Any) -> None:
    class Taken(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            setattr(ctx, name, value)
            return g * 3 + 0 * ctx.saved_tensors[0]

    x = torch.ones(3, requires_grad=True) * 2
    with pytest.raises((TypeError, IndexError, RuntimeError)):
        Taken.apply(x).sum().backward()


def test_a_ctx_is_a_node_before_forward_runs() -> None:
    seen: list[Any] = []

    class Asked(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.extend((type(ctx.next_functions[0][0]).__name__, ctx.saved_tensors))
            ctx.metadata["who"] = "forward"
            ctx.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 5,))
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(ctx.metadata["who"])
            return g * 2

    x = torch.ones(2, requires_grad=True)
    Asked.apply(x * 1).sum().backward()
    assert seen == ["MulBackward0", (), "forward"] and x.grad is not None and x.grad.tolist() == [10.0, 10.0]
