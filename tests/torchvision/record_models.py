"""What torchvision's models are made of, written by torchvision: `python tests/torchvision/record_models.py`.

Of all models the names and shapes of what is in them; of the small ones initial values after a seed, results, the
names of the graph's nodes, and gradients. test_models.py asks ours for the same.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).with_name("models.json")
SIZES = {"inception_v3": 80, "alexnet": 64, "densenet121": 33, "swin_t": 33, "swin_v2_t": 33}
"""Sides of the pictures given to models, where 32 is too little to tell, or nothing."""
RUN: dict[str, dict[str, Any]] = {
    "alexnet": {},
    "convnext_tiny": {},
    "deeplabv3_mobilenet_v3_large": {"num_classes": 4, "aux_loss": True, "weights_backbone": None},
    "densenet121": {},
    "efficientnet_b0": {},
    "efficientnet_v2_s": {},
    "fcn_resnet50": {"num_classes": 4, "aux_loss": True, "weights_backbone": None},
    "googlenet": {"init_weights": True},
    "inception_v3": {"init_weights": True},
    "lraspp_mobilenet_v3_large": {"num_classes": 4, "weights_backbone": None},
    "mnasnet0_5": {},
    "mobilenet_v2": {},
    "mobilenet_v3_large": {},
    "mobilenet_v3_small": {"width_mult": 0.5},
    "resnet18": {"zero_init_residual": True},
    "resnet50": {"num_classes": 7},
    "resnext50_32x4d": {},
    "shufflenet_v2_x0_5": {},
    "squeezenet1_0": {},
    "squeezenet1_1": {},
    "swin_t": {},
    "swin_v2_t": {},
    "vgg11_bn": {"num_classes": 3},
    "vit_b_32": {"image_size": 32, "representation_size": 8},
}
"""Models that are run, and the options with which they are made."""


def parts(torch: Any, models: Any, name: str) -> str:
    """A digest of the names, shapes and dtypes of all that is in a model, and of how it prints."""
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        segments = name.startswith(("fcn", "deeplab", "lraspp"))
        model = models.get_model(name, **({"weights_backbone": None} if segments else {}))
    rows = [f"{key} {tuple(value.shape)} {value.dtype}" for key, value in model.state_dict().items()]
    return digest("\n".join([*rows, repr(model)]))


def run(torch: Any, models: Any, name: str) -> dict[str, Any]:
    """What a model does with two pictures after a seed."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.get_model(name, **RUN[name])
    values = [(key, [float(x.double().sum()), float(x.double().abs().sum())]) for key, x in model.state_dict().items()]
    side = SIZES.get(name, 32)
    torch.manual_seed(1)
    result = model(torch.randn(2, 3, side, side))
    several = list(result.values()) if isinstance(result, dict) else list(result) if isinstance(result, tuple) else [result]
    loss = sum(each.square().mean() for each in several)
    nodes = names_of(loss.grad_fn)
    loss.backward()
    first = next(iter(model.parameters()))
    return {
        "values": [key for key, _ in values],
        "sums": [number for _, pair in values for number in pair],
        "shapes": [list(each.shape) for each in several],
        "loss": float(loss.detach()),
        "nodes": len(nodes),
        "graph": digest(" ".join(nodes)),
        "gradient": float(first.grad.double().abs().sum()),
    }


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
    names = models.list_models(module=models) + models.list_models(module=models.segmentation)
    mine = [name for name in names if not name.startswith(("maxvit", "regnet"))]
    expected = {
        "parts": {name: parts(torch, models, name) for name in mine},
        "run": {name: compact(run(torch, models, name)) for name in RUN},
    }
    EXPECTED.write_text(json.dumps(expected, indent=0) + "\n")


def compact(told: dict[str, Any]) -> dict[str, Any]:
    """The same, with the sums of all parameters as one of each kind and one of a digest's length."""
    sums = told.pop("sums")
    told.pop("values")
    return told | {"sums": sums[:40] + [sum(sums[0::2]), sum(sums[1::2])]}


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
