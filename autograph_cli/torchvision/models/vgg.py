"""VGG: small convolutions, many of them (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from typing import Any

from autograph_cli.torch import flatten, nn

from ._api import variant

CHANNELS: dict[int, list[int | None]] = {
    11: [64, None, 128, None, 256, 256, None, 512, 512, None, 512, 512, None],
    13: [64, 64, None, 128, 128, None, 256, 256, None, 512, 512, None, 512, 512, None],
    16: [64, 64, None, 128, 128, None, *[256] * 3, None, *[512] * 3, None, *[512] * 3, None],
    19: [64, 64, None, 128, 128, None, *[256] * 4, None, *[512] * 4, None, *[512] * 4, None],
}
"""The channels of the convolutions of each model; None is a pooling."""


class VGG(nn.Module):
    """Features, pooled to 7 by 7, and three linear layers."""

    def __init__(
        self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if not init_weights:
            return
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Any) -> Any:
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


def _features(channels: list[int | None], batch_norm: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    width = 3
    for size in channels:
        if size is None:
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(width, size, kernel_size=3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(size))
        layers.append(nn.ReLU(inplace=True))
        width = size
    return nn.Sequential(*layers)


def _vgg(depth: int, batch_norm: bool, **kwargs: Any) -> VGG:
    return VGG(_features(CHANNELS[depth], batch_norm), **kwargs)


vgg11 = variant("vgg11", "VGG with 11 layers.", _vgg, 11, False)
vgg11_bn = variant("vgg11_bn", "VGG with 11 layers and batch normalization.", _vgg, 11, True)
vgg13 = variant("vgg13", "VGG with 13 layers.", _vgg, 13, False)
vgg13_bn = variant("vgg13_bn", "VGG with 13 layers and batch normalization.", _vgg, 13, True)
vgg16 = variant("vgg16", "VGG with 16 layers.", _vgg, 16, False)
vgg16_bn = variant("vgg16_bn", "VGG with 16 layers and batch normalization.", _vgg, 16, True)
vgg19 = variant("vgg19", "VGG with 19 layers.", _vgg, 19, False)
vgg19_bn = variant("vgg19_bn", "VGG with 19 layers and batch normalization.", _vgg, 19, True)
