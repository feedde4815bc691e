"""Parts of models that find objects: backbones with feature pyramids, and the boxes to begin with."""

from autograph_cli.torch import _missing

from . import anchor_utils as anchor_utils, backbone_utils as backbone_utils, image_list as image_list


def __getattr__(name: str) -> object:
    raise _missing.error(__name__, name, globals())
