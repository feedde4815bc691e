"""Models of pictures under torchvision's names: the same layers, parameters and initial values after a seed."""

from autograph_cli.torch import _missing

from . import detection as detection, segmentation as segmentation
from ._api import (
    WEIGHTS,
    WeightsEnum,
    get_model,
    get_model_builder,
    get_model_weights,
    get_weight,
    list_models,
    register_model,
)
from .alexnet import AlexNet as AlexNet, alexnet as alexnet
from .convnext import (
    ConvNeXt as ConvNeXt,
    convnext_base as convnext_base,
    convnext_large as convnext_large,
    convnext_small as convnext_small,
    convnext_tiny as convnext_tiny,
)
from .densenet import (
    DenseNet as DenseNet,
    densenet121 as densenet121,
    densenet161 as densenet161,
    densenet169 as densenet169,
    densenet201 as densenet201,
)
from .efficientnet import (
    EfficientNet as EfficientNet,
    efficientnet_b0 as efficientnet_b0,
    efficientnet_b1 as efficientnet_b1,
    efficientnet_b2 as efficientnet_b2,
    efficientnet_b3 as efficientnet_b3,
    efficientnet_b4 as efficientnet_b4,
    efficientnet_b5 as efficientnet_b5,
    efficientnet_b6 as efficientnet_b6,
    efficientnet_b7 as efficientnet_b7,
    efficientnet_v2_l as efficientnet_v2_l,
    efficientnet_v2_m as efficientnet_v2_m,
    efficientnet_v2_s as efficientnet_v2_s,
)
from .googlenet import GoogLeNet as GoogLeNet, GoogLeNetOutputs as GoogLeNetOutputs, googlenet as googlenet
from .inception import Inception3 as Inception3, InceptionOutputs as InceptionOutputs, inception_v3 as inception_v3
from .maxvit import MaxVit as MaxVit, maxvit_t as maxvit_t
from .mnasnet import (
    MNASNet as MNASNet,
    mnasnet0_5 as mnasnet0_5,
    mnasnet0_75 as mnasnet0_75,
    mnasnet1_0 as mnasnet1_0,
    mnasnet1_3 as mnasnet1_3,
)
from .mobilenetv2 import MobileNetV2 as MobileNetV2, mobilenet_v2 as mobilenet_v2
from .mobilenetv3 import (
    MobileNetV3 as MobileNetV3,
    mobilenet_v3_large as mobilenet_v3_large,
    mobilenet_v3_small as mobilenet_v3_small,
)
from .regnet import (
    RegNet as RegNet,
    regnet_x_1_6gf as regnet_x_1_6gf,
    regnet_x_3_2gf as regnet_x_3_2gf,
    regnet_x_8gf as regnet_x_8gf,
    regnet_x_16gf as regnet_x_16gf,
    regnet_x_32gf as regnet_x_32gf,
    regnet_x_400mf as regnet_x_400mf,
    regnet_x_800mf as regnet_x_800mf,
    regnet_y_1_6gf as regnet_y_1_6gf,
    regnet_y_3_2gf as regnet_y_3_2gf,
    regnet_y_8gf as regnet_y_8gf,
    regnet_y_16gf as regnet_y_16gf,
    regnet_y_32gf as regnet_y_32gf,
    regnet_y_128gf as regnet_y_128gf,
    regnet_y_400mf as regnet_y_400mf,
    regnet_y_800mf as regnet_y_800mf,
)
from .resnet import (
    ResNet as ResNet,
    resnet18 as resnet18,
    resnet34 as resnet34,
    resnet50 as resnet50,
    resnet101 as resnet101,
    resnet152 as resnet152,
    resnext50_32x4d as resnext50_32x4d,
    resnext101_32x8d as resnext101_32x8d,
    resnext101_64x4d as resnext101_64x4d,
    wide_resnet50_2 as wide_resnet50_2,
    wide_resnet101_2 as wide_resnet101_2,
)
from .shufflenetv2 import (
    ShuffleNetV2 as ShuffleNetV2,
    shufflenet_v2_x0_5 as shufflenet_v2_x0_5,
    shufflenet_v2_x1_0 as shufflenet_v2_x1_0,
    shufflenet_v2_x1_5 as shufflenet_v2_x1_5,
    shufflenet_v2_x2_0 as shufflenet_v2_x2_0,
)
from .squeezenet import SqueezeNet as SqueezeNet, squeezenet1_0 as squeezenet1_0, squeezenet1_1 as squeezenet1_1
from .swin_transformer import (
    SwinTransformer as SwinTransformer,
    swin_b as swin_b,
    swin_s as swin_s,
    swin_t as swin_t,
    swin_v2_b as swin_v2_b,
    swin_v2_s as swin_v2_s,
    swin_v2_t as swin_v2_t,
)
from .vgg import (
    VGG as VGG,
    vgg11 as vgg11,
    vgg11_bn as vgg11_bn,
    vgg13 as vgg13,
    vgg13_bn as vgg13_bn,
    vgg16 as vgg16,
    vgg16_bn as vgg16_bn,
    vgg19 as vgg19,
    vgg19_bn as vgg19_bn,
)
from .vision_transformer import (
    VisionTransformer as VisionTransformer,
    vit_b_16 as vit_b_16,
    vit_b_32 as vit_b_32,
    vit_h_14 as vit_h_14,
    vit_l_16 as vit_l_16,
    vit_l_32 as vit_l_32,
)

globals().update(WEIGHTS)


def __getattr__(name: str) -> object:
    raise _missing.error(__name__, name, globals())
