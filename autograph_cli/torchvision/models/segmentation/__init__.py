"""Models that name the class of each point of a picture."""

from autograph_cli.torch import _missing

from .._api import WEIGHTS as _WEIGHTS
from .deeplabv3 import DeepLabV3, deeplabv3_mobilenet_v3_large, deeplabv3_resnet50, deeplabv3_resnet101
from .fcn import FCN, fcn_resnet50, fcn_resnet101
from .lraspp import LRASPP, lraspp_mobilenet_v3_large

__all__ = [
    "FCN", "LRASPP", "DeepLabV3", "deeplabv3_mobilenet_v3_large", "deeplabv3_resnet50", "deeplabv3_resnet101",
    "fcn_resnet50", "fcn_resnet101", "lraspp_mobilenet_v3_large",
]  # fmt: skip

globals().update({name: cls for name, cls in _WEIGHTS.items() if name.startswith(("FCN", "DeepLab", "LRASPP"))})


def __getattr__(name: str) -> object:
    raise _missing.error(__name__, name, globals())
