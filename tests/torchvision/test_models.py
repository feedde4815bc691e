"""Models have torchvision's names, parameters, initial values and graphs, as recorded in models.json."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli import torch, torchvision
from tests.cases import for_each
from tests.torchvision.record_models import EXPECTED, boxes, drawn, parts, run

models = torchvision.models
RECORDED: dict[str, Any] = json.loads(EXPECTED.read_text())


@for_each("name", RECORDED["parts"])
def test_a_model_is_made_of_what_torchvisions_is(name: str) -> None:
    assert parts(torch, models, name) == RECORDED["parts"][name]


@pytest.mark.parametrize("name", RECORDED["drawn"])
def test_a_model_builds_the_graph_that_torchvisions_builds(name: str) -> None:
    assert drawn(torch, models, name) == RECORDED["drawn"][name]


@pytest.mark.parametrize("name", RECORDED["run"])
def test_a_model_starts_and_computes_as_torchvisions_does(name: str) -> None:
    found, expected = run(torch, models, name), RECORDED["run"][name]
    assert found["graph"] == expected["graph"]
    for key, tolerance in (("sums", 1e-5), ("results", 1e-3), ("gradients", 2e-2)):
        assert found[key] == pytest.approx(expected[key], rel=tolerance, abs=1e-4), key


def test_boxes_to_begin_with_and_what_is_cut_out_of_maps_are_as_torchvisions() -> None:
    found = boxes(torch, models)
    assert list(found) == list(RECORDED["boxes"])
    for name, expected in RECORDED["boxes"].items():
        for one, other in zip(parts_of(found[name]), parts_of(expected), strict=True):
            assert one == (other if isinstance(other, str) else pytest.approx(other, rel=1e-4, abs=1e-5)), name


def parts_of(value: Any) -> Iterator[float | str]:
    """Yield what stands in lists of lists, one after the other."""
    if not isinstance(value, list):
        yield value
        return
    for each in value:
        yield from parts_of(each)


def test_models_are_listed_and_found_by_name() -> None:
    assert "resnet18" in models.list_models(include="resnet*")
    assert "resnet18" not in models.list_models(exclude="resnet1*")
    assert models.list_models(module=models.segmentation) == sorted(models.segmentation.__all__)[3:]
    assert type(models.get_model("SqueezeNet1_1", num_classes=2)).__name__ == "SqueezeNet"
    with pytest.raises(ValueError, match="Unknown model resnet17"):
        models.get_model("resnet17")


def test_weights_are_told_by_name() -> None:
    weights = models.get_weight("ResNet50_Weights.IMAGENET1K_V2")
    assert weights is models.ResNet50_Weights.DEFAULT is models.get_model_weights("resnet50").DEFAULT
    assert weights.file == "resnet50-11ad3fa6.pth"
    prepared = weights.transforms()(torch.zeros(3, 300, 400, dtype=torch.uint8))
    assert prepared.shape == (3, 224, 224)
    assert prepared[:, 0, 0].tolist() == pytest.approx([-2.1179, -2.0357, -1.8044], abs=1e-4)


@pytest.mark.parametrize("weights", ["DEFAULT", "IMAGENET1K_V1", "SqueezeNet1_1_Weights.DEFAULT"])
def test_weights_are_read_from_a_file_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weights: str
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"squeezenet1_1-b8a52dc0\.pth into .*checkpoints"):
        models.squeezenet1_1(weights=weights)
    torch.manual_seed(3)
    state = models.squeezenet1_1().state_dict()
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    torch.save(state, folder / "squeezenet1_1-b8a52dc0.pth")
    loaded = models.squeezenet1_1(weights=weights).state_dict()
    assert all(torch.equal(loaded[key], value) for key, value in state.items())


def test_weights_of_another_model_are_refused() -> None:
    with pytest.raises(TypeError, match="expected ResNet18_Weights but received ResNet50_Weights"):
        models.resnet18(weights=models.ResNet50_Weights.DEFAULT)
    with pytest.raises(KeyError, match="IMAGENET22K"):
        models.resnet18(weights="IMAGENET22K")


def test_the_older_flag_is_taken_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="'pretrained' is deprecated"):
        models.squeezenet1_1(pretrained=False, num_classes=2)


def test_the_segmentation_models_begin_with_a_backbones_weights() -> None:
    with pytest.raises(FileNotFoundError, match="mobilenet_v3_large"):
        models.segmentation.lraspp_mobilenet_v3_large()


def test_a_model_that_is_not_here_is_named() -> None:
    with pytest.raises(AttributeError, match="fasterrcnn_resnet50_fpn"):
        models.detection.fasterrcnn_resnet50_fpn


def test_boxes_overlap_and_the_best_are_kept() -> None:
    ops = torchvision.ops
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
    assert ops.box_iou(boxes, boxes)[0].tolist() == pytest.approx([1.0, 81 / 119, 0.0])
    assert ops.generalized_box_iou(boxes, boxes)[0, 2].item() == pytest.approx(-700 / 900)
    scores = torch.tensor([0.5, 0.9, 0.1])
    assert ops.nms(boxes, scores, 0.5).tolist() == [1, 2]
    assert ops.batched_nms(boxes, scores, torch.tensor([0, 1, 0]), 0.5).tolist() == [1, 0, 2]
    for form in ("xywh", "cxcywh"):
        there = ops.box_convert(boxes, "xyxy", form)
        assert torch.equal(ops.box_convert(there, form, "xyxy"), boxes)
    assert ops.remove_small_boxes(boxes, 10.5).tolist() == []
    assert ops.clip_boxes_to_image(boxes, (25, 5))[2].tolist() == [5, 20, 5, 25]


def test_stochastic_depth_leaves_out_whole_samples() -> None:
    torch.manual_seed(0)
    x = torch.ones(8, 2, 2)
    kept = torchvision.ops.stochastic_depth(x, 0.5, "row")
    assert set(kept.flatten().tolist()) == {0.0, 2.0}
    assert all(len(set(sample.flatten().tolist())) == 1 for sample in kept)
    assert torchvision.ops.stochastic_depth(x, 0.5, "row", training=False) is x


def test_no_warning_is_given_where_torchvision_gives_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models.mnasnet0_5(num_classes=2)
