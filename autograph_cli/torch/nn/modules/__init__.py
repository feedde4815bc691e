"""`torch.nn.modules`: all layers, under PyTorch's module names."""

from __future__ import annotations

from . import (
    activation,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    loss,
    module,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    upsampling,
)  # fmt: skip

_FAMILIES = (
    activation, batchnorm, channelshuffle, container, conv, distance, dropout, flatten, fold, instancenorm, linear, loss,
    module, normalization, padding, pixelshuffle, pooling, rnn, sparse, upsampling,
)  # fmt: skip
LAYERS = {name: vars(family)[name] for family in _FAMILIES for name in family.__all__}
globals().update(LAYERS)
__all__ = sorted(LAYERS)
