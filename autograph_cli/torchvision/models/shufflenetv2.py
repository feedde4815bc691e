"""ShuffleNetV2: half of the channels go around each block, then all are shuffled (Ma et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph_cli.torch import cat, nn, transpose

from ._api import variant


def channel_shuffle(x: Any, groups: int) -> Any:
    """Channels of so many groups, taken in turn."""
    batch, channels, height, width = x.size()
    x = x.view(batch, groups, channels // groups, height, width)
    return transpose(x, 1, 2).contiguous().view(batch, channels, height, width)


class InvertedResidual(nn.Module):
    """One half of the channels convolved; at stride 2 both."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        self.stride = stride
        half = oup // 2
        if stride == 1 and inp != half << 1:
            raise ValueError(
                f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values. If stride == 1 then inp "
                "should be equal to oup // 2 << 1."
            )
        self.branch1 = nn.Sequential()
        if stride > 1:
            self.branch1 = nn.Sequential(
                self.depthwise_conv(inp, inp, kernel_size=3, stride=stride, padding=1),
                nn.BatchNorm2d(inp),
                nn.Conv2d(inp, half, kernel_size=1, stride=1, padding=0, bias=False),
                nn.BatchNorm2d(half),
                nn.ReLU(inplace=True),
            )
        self.branch2 = nn.Sequential(
            nn.Conv2d(inp if stride > 1 else half, half, kernel_size=1, stride=1, padding=0, bias=False),
            nn.BatchNorm2d(half),
            nn.ReLU(inplace=True),
            self.depthwise_conv(half, half, kernel_size=3, stride=stride, padding=1),
            nn.BatchNorm2d(half),
            nn.Conv2d(half, half, kernel_size=1, stride=1, padding=0, bias=False),
            nn.BatchNorm2d(half),
            nn.ReLU(inplace=True),
        )

    @staticmethod
    def depthwise_conv(
        i: int, o: int, kernel_size: int, stride: int = 1, padding: int = 0, bias: bool = False
    ) -> nn.Conv2d:
        """A convolution of each channel by itself."""
        return nn.Conv2d(i, o, kernel_size, stride, padding, bias=bias, groups=i)

    def forward(self, x: Any) -> Any:
        if self.stride == 1:
            kept, changed = x.chunk(2, dim=1)
            return channel_shuffle(cat((kept, self.branch2(changed)), dim=1), 2)
        return channel_shuffle(cat((self.branch1(x), self.branch2(x)), dim=1), 2)


class ShuffleNetV2(nn.Module):
    """Three stages of blocks."""

    def __init__(
        self,
        stages_repeats: list[int],
        stages_out_channels: list[int],
        num_classes: int = 1000,
        inverted_residual: Callable[..., nn.Module] = InvertedResidual,
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        self._stage_out_channels = stages_out_channels
        width = stages_out_channels[0]
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for number, (repeats, channels) in enumerate(zip(stages_repeats, stages_out_channels[1:], strict=False)):
            blocks = [inverted_residual(width, channels, 2)]
            blocks += [inverted_residual(channels, channels, 1) for _ in range(repeats - 1)]
            setattr(self, f"stage{number + 2}", nn.Sequential(*blocks))
            width = channels
        last = stages_out_channels[-1]
        self.conv5 = nn.Sequential(
            nn.Conv2d(width, last, 1, 1, 0, bias=False), nn.BatchNorm2d(last), nn.ReLU(inplace=True)
        )
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean([2, 3]))


shufflenet_v2_x0_5 = variant(
    "shufflenet_v2_x0_5", "ShuffleNetV2 of half the width.", ShuffleNetV2, [4, 8, 4], [24, 48, 96, 192, 1024]
)
shufflenet_v2_x1_0 = variant("shufflenet_v2_x1_0", "ShuffleNetV2.", ShuffleNetV2, [4, 8, 4], [24, 116, 232, 464, 1024])
shufflenet_v2_x1_5 = variant(
    "shufflenet_v2_x1_5", "ShuffleNetV2, half as wide again.", ShuffleNetV2, [4, 8, 4], [24, 176, 352, 704, 1024]
)
shufflenet_v2_x2_0 = variant(
    "shufflenet_v2_x2_0", "ShuffleNetV2, twice as wide.", ShuffleNetV2, [4, 8, 4], [24, 244, 488, 976, 2048]
)
