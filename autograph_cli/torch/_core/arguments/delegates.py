"""Functions that those of `torch.nn.functional` call with their arguments, and that errors about arguments name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..base.errors import refused
from .arg_check import PUBLIC, Check, guarded, innermost, looks_itself, parameters_of, required_of
from .overrides import is_function
from .parsing import Parameter, Parser, Signature, parser, takes

WORKED_OUT = frozenset(("reduction", "output_size", "mode"))
"""Arguments that a function translates before it hands them on."""


class Delegate(Check):
    """A function that passes its arguments to another one, whose signature they must fit.

    `renamed`: what the other one calls some of them.
    """

    __slots__ = ("renamed",)

    def __init__(
        self, space: str, name: str, run: Callable[..., Any], renamed: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(space, name, run)
        self.renamed = renamed or {}

    def _taken(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        self._ask(args, kwargs)
        if self.parser is None or hasattr(self.run, "hands"):
            return self._handed_on(args, kwargs)
        given = {**dict(zip(parameters_of(self.run), args, strict=False)), **kwargs}
        if not given.keys() >= set(required_of(self.run)):
            return False
        wrong = ""
        for signature in self.parser.signatures:
            try:
                return self._fits(self.parser, signature, given, args)
            except TypeError as error:
                wrong = str(error)
        raise refused(TypeError, wrong)

    @property
    def _in_python(self) -> bool:
        return True

    def _may_be_none(self, parameter: Parameter) -> bool:
        """Return whether None is taken: by the other function, or by this one, whose default it is."""
        name = self.renamed.get(parameter.name, parameter.name)
        return parameter.none or inspect.signature(innermost(self.run)).parameters[name].default is None

    def _fits(self, read: Parser, signature: Signature, given: Mapping[str, Any], args: tuple[Any, ...]) -> bool:
        by_type = True
        for position, parameter in enumerate(signature.parameters):
            name = self.renamed.get(parameter.name, parameter.name)
            if (
                name in (*WORKED_OUT, "out")
                or name not in given
                or (given[name] is None and self._may_be_none(parameter))
            ):
                continue
            taken = takes(parameter, given[name], False)
            if not taken:
                raise refused(TypeError, read.wrong(parameter, given[name], args, position))
            by_type = by_type and taken is True
        return by_type


class ByIndices(Delegate):
    """A pooling: if indices are wanted, another function gets the arguments."""

    __slots__ = ("plain", "with_indices")

    def __init__(self, name: str, run: Callable[..., Any]) -> None:
        super().__init__("functional", name, run)
        self.plain = Delegate("functional", name, run)
        inner = f"{name}_with_indices"
        self.with_indices = Delegate("functional", inner if parser("functional", inner) else name, run)
        self.plain.public, self.with_indices.public = f"_{name}", inner

    def _chosen(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Delegate:
        position = parameters_of(self.run).index("return_indices")
        wanted = args[position] if len(args) > position else kwargs.get("return_indices", False)
        return self.with_indices if wanted is True else self.plain

    def _taken(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        self._ask(args, kwargs)
        return self._chosen(args, kwargs)._taken(args, kwargs)

    def explain(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception) -> None:
        self._ask(args, kwargs)
        self._chosen(args, kwargs).explain(args, kwargs, error)


HOME = f"{PUBLIC}.nn.functional"
BOUND = frozenset(
    """
    adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink hardtanh_ leaky_relu_
    linear native_channel_shuffle one_hot pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_
    scaled_dot_product_attention selu_ softplus softshrink threshold_
    """.split()
)
"""Functions that are PyTorch's compiled ones themselves."""
OTHERS = {
    "affine_grid": "affine_grid_generator",
    "cross_entropy": "cross_entropy_loss",
    "dropout1d": "feature_dropout",
    "dropout2d": "feature_dropout",
    "dropout3d": "feature_dropout",
    "fold": "col2im",
    "grid_sample": "grid_sampler",
    "logsigmoid": "log_sigmoid",
    "nll_loss": "nll_loss_nd",
    "unfold": "im2col",
}
"""Functions that hand their arguments to one of another name."""
_TRAINED = ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout")
RENAMED = {"embedding": {"indices": "input"}, **{name: {"train": "training"} for name in _TRAINED}}
"""Arguments that have another name there."""
_METHODS = frozenset(("softmax", "log_softmax"))
"""Functions that hand their arguments to a method."""
_UNLIKE = frozenset(
    ("interpolate", "upsample", "max_unpool1d", "max_unpool2d", "max_unpool3d", "embedding_bag", "grid_sample")
)
"""Functions that work on their arguments before they hand them on."""


_BY_INDICES = frozenset(
    f"{kind}max_pool{n}d"
    for kind in ("", "adaptive_", "fractional_")
    for n in (1, 2, 3)
    if (kind, n) != ("fractional_", 1)
)
"""Poolings, which give the indices too where they are asked for."""


def guard(functions: Mapping[str, Any]) -> dict[str, Any]:
    """The functions of `torch.nn.functional`, which look at their arguments."""
    return {
        name: guarded(_check(name, run), HOME)
        for name, run in functions.items()
        if is_function(run) and not name.startswith("_") and name != "relu" and not looks_itself(run)
    }


def _check(name: str, run: Any) -> Check:
    result = _checked_by(name, run)
    result.public = name
    return result


def _checked_by(name: str, run: Any) -> Check:
    inner = OTHERS.get(name, name)
    if name in _BY_INDICES:
        return ByIndices(name, run)
    if name in BOUND or name == "logsigmoid":
        return Check("functional", inner, run)
    space = "Tensor" if name in _METHODS else "functional"
    return Delegate("" if name in _UNLIKE else space, inner, run, RENAMED.get(name))
