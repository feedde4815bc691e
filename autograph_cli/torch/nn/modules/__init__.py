"""`torch.nn.modules`: all layers, under PyTorch's module names."""

from __future__ import annotations

from . import (
    activation,
    adaptive,
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
    transformer,
    upsampling,
    utils,
)

_FAMILIES = (
    activation, adaptive, batchnorm, channelshuffle, container, conv, distance, dropout, flatten, fold, instancenorm,
    linear, loss, module, normalization, padding, pixelshuffle, pooling, rnn, sparse, transformer, upsampling,
)  # fmt: skip
LAYERS = {name: vars(family)[name] for family in _FAMILIES for name in family.__all__}
globals().update(LAYERS)
__all__ = [*sorted(LAYERS), "utils"]
