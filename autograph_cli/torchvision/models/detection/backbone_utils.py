"""Feature pyramids on residual networks (Lin et al., 2017) and on MobileNets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from autograph_cli.torch import nn

from ...ops.feature_pyramid_network import ExtraFPNBlock, FeaturePyramidNetwork, LastLevelMaxPool
from ...ops.misc import FrozenBatchNorm2d
from .._api import get_model
from .._utils import IntermediateLayerGetter
from ..mobilenetv2 import MobileNetV2
from ..mobilenetv3 import MobileNetV3
from ..resnet import ResNet

Norm = Callable[..., nn.Module]


class BackboneWithFPN(nn.Module):
    """The layers of a model named in `return_layers`, with a feature pyramid on top."""

    def __init__(
        self,
        backbone: nn.Module,
        return_layers: dict[str, str],
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers)
        self.fpn = FeaturePyramidNetwork(in_channels_list, out_channels, extra_blocks or LastLevelMaxPool(), norm_layer)
        self.out_channels = out_channels

    def forward(self, x: Any) -> Any:
        return self.fpn(self.body(x))


def _freeze(parameters: Iterable[Any]) -> None:
    for parameter in parameters:
        parameter.requires_grad_(False)


def resnet_fpn_backbone(
    *,
    backbone_name: str,
    weights: Any,
    norm_layer: Norm = FrozenBatchNorm2d,
    trainable_layers: int = 3,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> BackboneWithFPN:
    """A feature pyramid on a residual network, of which the last `trainable_layers` of five are trained.

    ValueError for numbers of layers that there are not.
    """
    backbone: Any = get_model(backbone_name, weights=weights, norm_layer=norm_layer)
    return _resnet_fpn_extractor(backbone, trainable_layers, returned_layers, extra_blocks)


def _resnet_fpn_extractor(
    backbone: ResNet,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Norm | None = None,
) -> BackboneWithFPN:
    if not 0 <= trainable_layers <= 5:
        raise ValueError(f"Trainable layers should be in the range [0,5], got {trainable_layers}")
    trained = ("layer4", "layer3", "layer2", "layer1", "conv1", "bn1")[
        : 6 if trainable_layers == 5 else trainable_layers
    ]
    _freeze(parameter for name, parameter in backbone.named_parameters() if not name.startswith(trained))
    layers = [1, 2, 3, 4] if returned_layers is None else returned_layers
    if min(layers) <= 0 or max(layers) >= 5:
        raise ValueError(f"Each returned layer should be in the range [1,4]. Got {layers}")
    names = {f"layer{layer}": str(number) for number, layer in enumerate(layers)}
    channels = [backbone.inplanes // 8 * 2 ** (layer - 1) for layer in layers]
    return BackboneWithFPN(backbone, names, channels, 256, extra_blocks, norm_layer)


def mobilenet_backbone(
    *,
    backbone_name: str,
    weights: Any,
    fpn: bool,
    norm_layer: Norm = FrozenBatchNorm2d,
    trainable_layers: int = 2,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> nn.Module:
    """The features of a MobileNet, with a feature pyramid or narrowed to 256 channels.

    ValueError for numbers of layers that there are not.
    """
    backbone: Any = get_model(backbone_name, weights=weights, norm_layer=norm_layer)
    return _mobilenet_extractor(backbone, fpn, trainable_layers, returned_layers, extra_blocks)


def _mobilenet_extractor(
    backbone: MobileNetV2 | MobileNetV3,
    fpn: bool,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Norm | None = None,
) -> nn.Module:
    features: Any = backbone.features
    halved = [number for number, block in enumerate(features) if getattr(block, "_is_cn", False)]
    starts = [0, *halved, len(features) - 1]
    count = len(starts)
    if not 0 <= trainable_layers <= count:
        raise ValueError(f"Trainable layers should be in the range [0,{count}], got {trainable_layers} ")
    frozen = features[: starts[count - trainable_layers] if trainable_layers else len(features)]
    _freeze(parameter for block in frozen for parameter in block.parameters())
    if not fpn:
        narrowed: Any = nn.Sequential(features, nn.Conv2d(features[-1].out_channels, 256, 1))
        narrowed.out_channels = 256
        return narrowed  # type: ignore[no-any-return]
    layers = [count - 2, count - 1] if returned_layers is None else returned_layers
    if min(layers) < 0 or max(layers) >= count:
        raise ValueError(f"Each returned layer should be in the range [0,{count - 1}], got {layers} ")
    names = {str(starts[layer]): str(number) for number, layer in enumerate(layers)}
    channels = [features[starts[layer]].out_channels for layer in layers]
    return BackboneWithFPN(features, names, channels, 256, extra_blocks, norm_layer)
