"""`torch.nn.utils`: gradients clipped, parameters rearranged and made of others, packed sequences."""

from __future__ import annotations

import importlib
from typing import Any

from ... import _missing
from . import rnn

_HOME = {
    "clip_grad": ("clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"),
    "convert_parameters": ("parameters_to_vector", "vector_to_parameters"),
    "fusion": ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
    "init": ("skip_init",),
    "parametrizations": (),
    "parametrize": (),
    "spectral_norm": ("remove_spectral_norm", "spectral_norm"),
    "stateless": (),
    "weight_norm": ("remove_weight_norm", "weight_norm"),
}
"""The module that defines each name."""
__all__ = ["rnn", *(name for names in _HOME.values() for name in names)]


def _fill() -> None:
    """Import everything; not at once, because layers import `rnn` from here."""
    for home, names in _HOME.items():
        module = importlib.import_module(f".{home}", __name__)
        globals().update({home: module} | {name: getattr(module, name) for name in names})


def __getattr__(name: str) -> Any:
    raise _missing.error(__name__, name, globals())
