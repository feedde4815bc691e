"""What torchvision's models are made of, written by torchvision: `python tests/torchvision/record_models.py`.

Of all models the names and shapes of what is in them; of the small ones initial values after a seed, results, the
names of the graph's nodes, and gradients. test_models.py asks ours for the same.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).with_name("models.json")
RUN: dict[str, dict[str, Any]] = {
    "densenet121": {},
    "efficientnet_b0": {"stochastic_depth_prob": 0.0, "dropout": 0.0},
    "googlenet": {"init_weights": True, "transform_input": True},
    "lraspp_mobilenet_v3_large": {"num_classes": 4, "weights_backbone": None},
    "mnasnet0_5": {},
    "mobilenet_v2": {},
    "mobilenet_v3_small": {"width_mult": 0.5},
    "regnet_x_400mf": {},
    "regnet_y_400mf": {},
    "resnet18": {"zero_init_residual": True},
    "shufflenet_v2_x0_5": {},
    "squeezenet1_1": {},
    "swin_t": {"num_classes": 5},
}
"""Small models, which are run with numbers, and the options with which they are made."""
DRAWN: dict[str, dict[str, Any]] = {
    "alexnet": {},
    "convnext_tiny": {},
    "deeplabv3_resnet50": {"aux_loss": True, "weights_backbone": None},
    "deeplabv3_mobilenet_v3_large": {"aux_loss": True, "weights_backbone": None},
    "efficientnet_v2_s": {},
    "fcn_resnet50": {"aux_loss": True, "weights_backbone": None},
    "inception_v3": {"init_weights": True, "aux_logits": False},
    "mobilenet_v3_large": {},
    "resnext50_32x4d": {"replace_stride_with_dilation": [False, False, True]},
    "squeezenet1_0": {},
    "swin_v2_t": {},
    "vgg11_bn": {},
    "vit_b_32": {"image_size": 64, "representation_size": 8},
    "wide_resnet50_2": {},
}
"""Models of which the graph alone is told, on the device `meta`."""
BUILT: dict[str, Callable[[Any], Any]] = {
    "maxvit": lambda models: models.MaxVit((64, 64), 8, 8, [8, 16], [1, 2], 4, 0.0, num_classes=5),
    "mobilenet": lambda models: models.detection.backbone_utils.mobilenet_backbone(
        backbone_name="mobilenet_v3_small", weights=None, fpn=False, norm_layer=torch_of(models).nn.BatchNorm2d
    ),
    "mobilenet_fpn": lambda models: models.detection.backbone_utils.mobilenet_backbone(
        backbone_name="mobilenet_v2", weights=None, fpn=True, trainable_layers=3
    ),
    "resnet_fpn": lambda models: models.detection.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, trainable_layers=5, norm_layer=torch_of(models).nn.BatchNorm2d
    ),
    "resnet_fpn_p6p7": lambda models: models.detection.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18",
        weights=None,
        trainable_layers=2,
        returned_layers=[2, 3, 4],
        extra_blocks=sys.modules[f"{torchvision_of(models)}.ops.feature_pyramid_network"].LastLevelP6P7(512, 256),
    ),
}
"""Models that are run with numbers too, and have no name of their own."""
SIDES = {"inception_v3": 107}
"""Of the pictures, unless they are 64."""


def parts(torch: Any, models: Any, name: str) -> str:
    """A digest of the names, shapes and dtypes of all that is in a model, and of how it prints."""
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        segments = name.startswith(("fcn", "deeplab", "lraspp"))
        model = models.get_model(name, **({"weights_backbone": None} if segments else {}))
    rows = [f"{key} {tuple(value.shape)} {value.dtype}" for key, value in model.state_dict().items()]
    return digest("\n".join([*rows, repr(model)]))


def drawn(torch: Any, models: Any, name: str) -> str:
    """A digest of the graph of a model, which has no numbers in it."""
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        model = models.get_model(name, **DRAWN[name])
        results = tensors(model(torch.randn(4, 3, SIDES.get(name, 64), SIDES.get(name, 64))))
    return digest(" ".join(str(tuple(each.shape)) + ",".join(names_of(each.grad_fn)) for each in results))


def run(torch: Any, models: Any, name: str) -> dict[str, Any]:
    """Return what a model does with four pictures after a seed: initial values, results, graph and gradients."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BUILT[name](models) if name in BUILT else models.get_model(name, **RUN[name])
    sums = [
        (float(x.double().sum()), float(x.double().abs().sum())) for x in map(torch.Tensor.detach, model.parameters())
    ]
    torch.manual_seed(1)
    results = tensors(model(torch.randn(4, 3, 64, 64)))
    loss = sum(each.square().mean() for each in results)
    graph = names_of(loss.grad_fn)
    loss.backward()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients = [float(parameter.grad.double().abs().sum()) for parameter in trained]
    return {
        "sums": [*map(sum, zip(*sums, strict=True)), *sums[0], *sums[-2]],
        "results": [float(each.detach().double().abs().mean()) for each in results],
        "graph": digest(" ".join(graph)),
        "gradients": [gradients[-1], gradients[-2], sum(gradients)],
    }


def torchvision_of(models: Any) -> str:
    """The package that the models belong to."""
    return models.__name__.rpartition(".")[0]


def torch_of(models: Any) -> Any:
    """The PyTorch that the models are made with."""
    return sys.modules[torchvision_of(models).replace("torchvision", "torch")]


def boxes(torch: Any, models: Any) -> dict[str, Any]:
    """Boxes to begin with, and what is cut out of maps in boxes, with its gradients."""
    ops = sys.modules[f"{torchvision_of(models)}.ops"]
    anchors = models.detection.anchor_utils
    torch.manual_seed(0)
    pictures = models.detection.image_list.ImageList(torch.zeros(2, 3, 48, 64), [(48, 64), (40, 60)])
    maps = {"0": torch.randn(2, 3, 12, 16, requires_grad=True), "1": torch.randn(2, 3, 6, 8, requires_grad=True)}
    generators = (
        anchors.AnchorGenerator(((8, 16), (32,)), ((0.5, 1.0), (2.0,))),
        anchors.AnchorGenerator((16, 32), (0.5, 1.0, 2.0)),
        anchors.DefaultBoxGenerator([[2], [2, 3]]),
        anchors.DefaultBoxGenerator([[2], [3]], scales=[0.1, 0.4, 0.8], steps=[4, 8], clip=False),
    )
    told: dict[str, Any] = {}
    for number, generator in enumerate(generators):
        found = generator(pictures, list(maps.values()))
        told[f"anchors {number}"] = [few(each) for each in found]
        told[f"count {number}"] = [generator.num_anchors_per_location(), repr(generator)]
    regions = [torch.tensor([[3.0, 5, 30, 22], [0, 0, 60, 40]]), torch.tensor([[10.0, 8, 14, 47]])]
    for options in ({"sampling_ratio": 2}, {}, {"aligned": True, "sampling_ratio": 3}, {"aligned": True}):
        layer = ops.RoIAlign((3, 2), spatial_scale=0.25, **{"sampling_ratio": -1, **options})
        told[f"cut {options}"] = cut(torch, layer(maps["0"], regions), maps["0"])
    mixed = torch.tensor([[1.0, 10, 8, 14, 40], [0, 3, 5, 30, 22], [1, 4, 4, 20, 20]])
    told["cut in any order"] = cut(torch, ops.roi_align(maps["0"], mixed, 2, 0.25), maps["0"])
    pool = ops.MultiScaleRoIAlign(["0", "1"], 2, 2, canonical_scale=30, canonical_level=3)
    told["pool"] = [*cut(torch, pool(maps, regions, [(48, 64), (40, 60)]), maps["0"]), repr(pool)]
    return told


def cut(torch: Any, found: Any, of: Any) -> list[Any]:
    """Numbers of what was cut out, and of its gradient."""
    (gradient,) = torch.autograd.grad(found.square().sum(), of)
    return [few(found), few(gradient)]


def few(found: Any) -> list[Any]:
    """The shape of a tensor, its sum, and a few of its numbers."""
    numbers = found.detach().flatten().tolist()
    return [list(found.shape), sum(numbers), numbers[3 :: max(len(numbers) // 5, 1)]]


def tensors(result: Any) -> list[Any]:
    """The tensors that a model returned."""
    if isinstance(result, dict):
        return list(result.values())
    return list(result) if isinstance(result, tuple) else [result]


def names_of(root: Any) -> list[str]:
    """The names of all nodes of a graph, in the order of a walk from its root."""
    met, found, stack = {root}, [], [root]
    while stack:
        node = stack.pop()
        found.append(node.name())
        for other, _ in node.next_functions:
            if other is not None and other not in met:
                met.add(other)
                stack.append(other)
    return found


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def main() -> None:
    import torch

    declare(torch)
    import torchvision

    models = torchvision.models
    line = models.regnet.BlockParams.from_init_params

    def with_numbers(**options: Any) -> Any:
        """torchvision works widths out with tensors, which must not be on `meta`."""
        with torch.device("cpu"):
            return line(**options)

    models.regnet.BlockParams.from_init_params = with_numbers
    names = models.list_models(module=models) + models.list_models(module=models.segmentation)
    align = sys.modules["torchvision.ops.roi_align"]
    align._roi_align = align._roi_align.__wrapped__  # which would compile it first
    expected = {
        "parts": {name: parts(torch, models, name) for name in names},
        "drawn": {name: drawn(torch, models, name) for name in DRAWN},
        "run": {name: run(torch, models, name) for name in [*RUN, *BUILT]},
        "boxes": boxes(torch, models),
    }
    EXPECTED.write_text(json.dumps(expected, indent=0) + "\n")


def declare(torch: Any) -> None:
    """Name torchvision's own operations, which a build for another PyTorch does not."""
    library = torch.library.Library("torchvision", "DEF")
    box = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
    size = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
    bend = "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w"
    bend += ", SymInt groups, SymInt offset_groups, bool use_mask"
    for schema in (
        "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
        "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
        f"roi_align(Tensor input, Tensor rois, {box}, int sampling_ratio, bool aligned) -> Tensor",
        f"_roi_align_backward(Tensor grad, Tensor rois, {box}, {size}, int sampling_ratio, bool aligned) -> Tensor",
        f"roi_pool(Tensor input, Tensor rois, {box}) -> (Tensor, Tensor)",
        f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {box}, {size}) -> Tensor",
        f"ps_roi_align(Tensor input, Tensor rois, {box}, int sampling_ratio) -> (Tensor, Tensor)",
        f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor m, {box}, int sampling_ratio, {size}) -> Tensor",
        f"ps_roi_pool(Tensor input, Tensor rois, {box}) -> (Tensor, Tensor)",
        f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor m, {box}, {size}) -> Tensor",
        f"deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, {bend}) -> Tensor",
        "_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
        f"{bend}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    ):
        library.define(schema)
    globals()["_library"] = library


if __name__ == "__main__":
    main()
