"""Custom Functions that the sequences use, for any engine."""

import functools
import types
from typing import Any


@functools.cache
def functions_of(torch: Any) -> types.SimpleNamespace:  # noqa: C901
    """The classes, made with the given engine's `Function`."""
    Function = torch.autograd.Function

    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Dirty(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(3)

        @staticmethod
        def backward(ctx, g):
            return g * 3

    class Window(Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)

        @staticmethod
        def backward(ctx, g):
            return g.sin()

    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    class Two(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_non_differentiable(rest := y * 2)
            return x * 2, rest

        @staticmethod
        def backward(ctx, g, h):
            return g * 2, None

    class Kept(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.sin()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * x.cos() + y * 0

    class Swapped(Function):
        @staticmethod
        def forward(x, y):
            return y * 1, x * 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return h + x * 0, g + y * 0

    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x * 2

    class Sparing(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x * 2, y * 3

        @staticmethod
        def backward(ctx, g, h):
            return None if g is None else g * 2, None if h is None else h * 3

    class Blind(Function):
        @staticmethod
        def forward(ctx, x):
            return x.detach()

        @staticmethod
        def backward(ctx, g):
            return None

    class Both(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            return x.add_(1), y * 2

        @staticmethod
        def backward(ctx, g, h):
            return g, h * 2

    class Views(Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1), x[:1]

        @staticmethod
        def backward(ctx, g, h):
            return g * 2

    found = (Double, Dirty, Window, Same, Two, Kept, Swapped, Once, Sparing, Blind, Both, Views)
    return types.SimpleNamespace(**{f.__name__: f for f in found})
