"""DenseNet: each layer is given what all layers before it made (Huang et al., 2016)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from autograph_cli.torch import cat, flatten, nn
from autograph_cli.torch.nn import functional as F
from autograph_cli.torch.utils.checkpoint import checkpoint

from ._api import variant


class _DenseLayer(nn.Module):
    def __init__(
        self, num_input_features: int, growth_rate: int, bn_size: int, drop_rate: float, memory_efficient: bool = False
    ) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, bn_size * growth_rate, kernel_size=1, stride=1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth_rate)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth_rate, growth_rate, kernel_size=3, stride=1, padding=1, bias=False)
        self.drop_rate, self.memory_efficient = float(drop_rate), memory_efficient

    def bn_function(self, inputs: list[Any]) -> Any:
        return self.conv1(self.relu1(self.norm1(cat(inputs, 1))))

    def forward(self, input: Any) -> Any:
        before = [input] if not isinstance(input, list) else input
        if self.memory_efficient and any(each.requires_grad for each in before):
            made = checkpoint(lambda *inputs: self.bn_function(list(inputs)), *before, use_reentrant=False)
        else:
            made = self.bn_function(before)
        new = self.conv2(self.relu2(self.norm2(made)))
        return F.dropout(new, p=self.drop_rate, training=self.training) if self.drop_rate > 0 else new


class _DenseBlock(nn.ModuleDict):
    def __init__(
        self,
        num_layers: int,
        num_input_features: int,
        bn_size: int,
        growth_rate: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        for number in range(num_layers):
            width = num_input_features + number * growth_rate
            self.add_module(
                f"denselayer{number + 1}", _DenseLayer(width, growth_rate, bn_size, drop_rate, memory_efficient)
            )

    def forward(self, init_features: Any) -> Any:
        features = [init_features]
        for _, layer in self.items():
            features.append(layer(features))
        return cat(features, 1)


class _Transition(nn.Sequential):
    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, kernel_size=1, stride=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """Four dense blocks with transitions that halve channels and size between them."""

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: tuple[int, int, int, int] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        first = OrderedDict(
            conv0=nn.Conv2d(3, num_init_features, kernel_size=7, stride=2, padding=3, bias=False),
            norm0=nn.BatchNorm2d(num_init_features),
            relu0=nn.ReLU(inplace=True),
            pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        self.features = nn.Sequential(first)
        width = num_init_features
        for number, layers in enumerate(block_config):
            block = _DenseBlock(layers, width, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{number + 1}", block)
            width += layers * growth_rate
            if number != len(block_config) - 1:
                self.features.add_module(f"transition{number + 1}", _Transition(width, width // 2))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.Linear):
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Any) -> Any:
        out = F.relu(self.features(x), inplace=True)
        return self.classifier(flatten(F.adaptive_avg_pool2d(out, (1, 1)), 1))


densenet121 = variant("densenet121", "DenseNet with 121 layers.", DenseNet, 32, (6, 12, 24, 16), 64)
densenet161 = variant(
    "densenet161", "DenseNet with 161 layers, which grow by 48 channels.", DenseNet, 48, (6, 12, 36, 24), 96
)
densenet169 = variant("densenet169", "DenseNet with 169 layers.", DenseNet, 32, (6, 12, 32, 32), 64)
densenet201 = variant("densenet201", "DenseNet with 201 layers.", DenseNet, 32, (6, 12, 48, 32), 64)
