"""The names of `torch` itself: tensors, dtypes and all functions. Packages such as `nn` are written against it, and
`torch` is made of both."""
# ruff: noqa: E402  (operations bind their kernels when they are defined)

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from ._core.base import fp_warnings

fp_warnings.install()
# Where the settings of this context do not reach (a task that was begun before), a filter does.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(autograph_cli\.)?torch\.")

from ._core.arguments import arg_check
from ._core.base import dtypes
from ._core.base.device import device as device
from ._core.base.dtypes import dtype as dtype
from ._core.base.layout import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    preserve_format as preserve_format,
    sparse_coo as sparse_coo,
    sparse_csr as sparse_csr,
    strided as strided,
)
from ._core.base.size import Size as Size
from ._core.operations import registry
from ._core.running import calling
from ._core.tape.tensor import Tensor as Tensor
from ._ops.tensors import legacy

_OPERATIONS = tuple(
    """
    pointwise.arithmetic pointwise.unary pointwise.clamping pointwise.binary pointwise.activations tensors.creation
    tensors.ranges tensors.conversion pointwise.comparison shaping.views shaping.broadcasting shaping.as_strided
    shaping.joining shaping.rearrange positions.indexing pointwise.where positions.getitem positions.gather_scatter
    shaping.split_join reducing.reductions reducing.extremes reducing.cumulative positions.sorting
    positions.histograms reducing.statistics matrices.linear pointwise.nonlinear pointwise.glu loss_functions.losses
    loss_functions.likelihood_losses layers.convolution shaping.columns layers.pooling layers.average_pooling
    layers.unpooling layers.normalization layers.group_norm layers.padding reducing.distances matrices.solvers
    matrices.determinants matrices.decompositions matrices.lu reducing.norms matrices.householder matrices.stft
    matrices.ldl loss_functions.classification loss_functions.chunked layers.interpolate shaping.pixel_shuffle
    layers.embedding random_numbers.dropout layers.attention layers.aten_layers pointwise.complexes shaping.view_copy
    reducing.segments matrices.finite_difference tensors.storage tensors.misc random_numbers.random
    random_numbers.generators layers.recurrent shaping.packing layers.weight_norm tensors.sparse tensors.printing
    tensors.protocols tensors.other_libraries tensors.operators pointwise.special matrices.fft matrices.products
    matrices.einsum reducing.cdist tensors.default_device random_numbers.random_variates pointwise.foreach
    """.split()
)
"""The families of operations, which publish what they define when they are imported."""
for _name in _OPERATIONS:
    importlib.import_module(f"._ops.{_name}", __package__)
_LOOKED_AT = ("detach_", "is_inference", "requires_grad_", "retain_grad")
_METHODS = registry.methods | {name: vars(Tensor)[name] for name in _LOOKED_AT}
_OWN = {name: run for name, run in vars(Tensor).items() if not name.startswith(("__", "_ag_"))}
_TAKE_NOTHING = {
    name: calling.public_function(run.op, arg_check.Check("Tensor", name, run))
    for name, run in _METHODS.items()
    if arg_check.stands_alone(name, run) and len(run.op.names) == 1
}
_SHOWN = calling.overridable(_OWN | _METHODS, arg_check.guard("Tensor", _METHODS) | _TAKE_NOTHING)
_ALONE = {
    "detach": calling.detach,
    "_make_subclass": staticmethod(legacy.make_subclass),
    "_make_wrapper_subclass": staticmethod(legacy.make_wrapper_subclass),
}
for _name, _method in (_METHODS | _SHOWN | _ALONE).items():
    setattr(Tensor, _name, _method)
Size.__module__ = "torch"

from . import fft as fft, linalg as linalg, signal as signal, special as special
from .amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from .autograd.grad_mode import is_grad_enabled as is_grad_enabled, no_grad as no_grad

NAMES: dict[str, Any] = dtypes.NAMED | dtypes.ALIASES | legacy.TYPED | registry.functions
NAMES |= calling.overridable(registry.functions, arg_check.guard("torch", registry.functions))
"""The names of the public namespace beside its packages."""
globals().update(NAMES)
for _part in (fft, linalg, special):
    _members = {name: run for name, run in vars(_part).items() if not name.startswith("_")}
    vars(_part).update(calling.overridable(_members, arg_check.guard(_part.__name__.rpartition(".")[2], _members)))

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
