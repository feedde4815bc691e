"""SqueezeNet: few parameters (Iandola et al., 2016)."""

from __future__ import annotations

from typing import Any

from autograph_cli.torch import cat, flatten, nn

from ._api import variant


class Fire(nn.Module):
    """Channels squeezed by points, then expanded by points and by 3 by 3, side by side."""

    def __init__(self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Any) -> Any:
        x = self.squeeze_activation(self.squeeze(x))
        return cat([self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))], 1)


def _pool() -> nn.MaxPool2d:
    return nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)


class SqueezeNet(nn.Module):
    """Eight fires between two convolutions."""

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.num_classes = num_classes
        if version == "1_0":
            first = [nn.Conv2d(3, 96, kernel_size=7, stride=2), nn.ReLU(inplace=True), _pool(), Fire(96, 16, 64, 64)]
            first += [Fire(128, 16, 64, 64), Fire(128, 32, 128, 128), _pool(), Fire(256, 32, 128, 128)]
            first += [Fire(256, 48, 192, 192), Fire(384, 48, 192, 192), Fire(384, 64, 256, 256), _pool()]
            first += [Fire(512, 64, 256, 256)]
        elif version == "1_1":
            first = [nn.Conv2d(3, 64, kernel_size=3, stride=2), nn.ReLU(inplace=True), _pool(), Fire(64, 16, 64, 64)]
            first += [Fire(128, 16, 64, 64), _pool(), Fire(128, 32, 128, 128), Fire(256, 32, 128, 128), _pool()]
            first += [
                Fire(256, 48, 192, 192),
                Fire(384, 48, 192, 192),
                Fire(384, 64, 256, 256),
                Fire(512, 64, 256, 256),
            ]
        else:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        self.features = nn.Sequential(*first)
        final = nn.Conv2d(512, self.num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), final, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is final:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)

    def forward(self, x: Any) -> Any:
        return flatten(self.classifier(self.features(x)), 1)


squeezenet1_0 = variant("squeezenet1_0", "SqueezeNet as published.", SqueezeNet, "1_0")
squeezenet1_1 = variant("squeezenet1_1", "SqueezeNet with less than half of the computation.", SqueezeNet, "1_1")
