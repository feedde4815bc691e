"""Event files hold what was added; the numbers are those that PyTorch writes for the same calls."""

import os

import numpy as np
import pytest

from autograph_cli import torch

loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")


@pytest.fixture
def writer(tmp_path):
    made = torch.utils.tensorboard.SummaryWriter(tmp_path)
    yield made
    made.close()


def events(folder):
    """(folder, tag, step, value) of all that is in the files, as it was written."""
    found = []
    for position, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            for event in loader.LegacyEventFileLoader(os.path.join(position, name)).Load():
                found += [
                    (os.path.relpath(position, folder), value.tag, event.step, value) for value in event.summary.value
                ]
    return found


def test_numbers_of_every_kind_are_scalars(writer, tmp_path):
    for step, value in enumerate([0.5, 2, torch.tensor(3.5), np.float32(0.25), torch.tensor([[7]])]):
        writer.add_scalar("loss", value, step)
    writer.add_scalar("exact", 1 / 3, 1, new_style=True, double_precision=True)
    writer.close()
    found = events(tmp_path)
    assert [(tag, step, value.simple_value) for _, tag, step, value in found[:-1]] == [
        ("loss", 0, 0.5),
        ("loss", 1, 2),
        ("loss", 2, 3.5),
        ("loss", 3, 0.25),
        ("loss", 4, 7),
    ]
    assert list(found[-1][3].tensor.double_val) == [1 / 3]


def test_several_scalars_are_runs_beside_this_one(writer, tmp_path):
    writer.add_scalars("loss/all", {"train": 1, "test": 2}, 5)
    writer.close()
    assert [(position, tag, step, value.simple_value) for position, tag, step, value in events(tmp_path)] == [
        ("loss_all_test", "loss/all", 5, 2),
        ("loss_all_train", "loss/all", 5, 1),
    ]


@pytest.mark.parametrize(
    "values, options, limits, counts",
    [
        (torch.ones(7), {}, [0.917246389039776, 1.0089710279437536], [0, 7]),
        (torch.arange(20.0), {"bins": 5}, [0, 3.8, 7.6, 11.4, 15.2, 19], [0, 4, 4, 4, 4, 4]),
        (torch.arange(20), {"max_bins": 8}, [-1.1e-12, 7.321670496659217e-05, 7135.072914485614], [0, 1, 19]),
        (np.array([0.0, 0, 1e-9, 5]), {"bins": "auto"}, [0, 1.25, 2.5, 3.75, 5], [0, 3, 0, 0, 1]),
    ],
)
def test_histograms_have_the_bins_of_pytorch(writer, tmp_path, values, options, limits, counts):
    writer.add_histogram("h", values, 1, **options)
    writer.close()
    histogram = events(tmp_path)[0][3].histo
    assert (histogram.num, histogram.min, histogram.max) == (len(values), float(min(values)), float(max(values)))
    assert list(histogram.bucket_limit) == pytest.approx(limits)
    assert list(histogram.bucket) == counts


def test_texts_are_texts(writer, tmp_path):
    writer.add_text("notes", "hello **w**", 4)
    writer.close()
    ((_, tag, step, value),) = events(tmp_path)
    assert (tag, step, list(value.tensor.string_val)) == ("notes/text_summary", 4, [b"hello **w**"])


PICTURE = torch.linspace(0, 1, 3 * 4 * 5).reshape(3, 4, 5)


@pytest.mark.parametrize(
    "method, pictures, form, size",
    [
        ("add_image", PICTURE, "CHW", (4, 5)),
        ("add_image", PICTURE.permute(1, 2, 0).numpy(), "HWC", (4, 5)),
        ("add_image", PICTURE[0], "HW", (4, 5)),
        ("add_image", (PICTURE * 255).to(torch.uint8), "CHW", (4, 5)),
        ("add_images", torch.stack([PICTURE] * 9), "NCHW", (8, 40)),
        ("add_images", torch.stack([PICTURE[:1]] * 2), "NCHW", (4, 10)),
    ],
)
def test_pictures_are_png(writer, tmp_path, method, pictures, form, size):
    image = pytest.importorskip("PIL.Image")
    getattr(writer, method)("p", pictures, 1, dataformats=form)
    writer.close()
    found = events(tmp_path)[0][3].image
    assert (found.height, found.width, found.colorspace) == (*size, 3)
    (tmp_path / "p.png").write_bytes(found.encoded_image_string)
    with image.open(tmp_path / "p.png") as picture:
        shown = np.asarray(picture)
    expected = (PICTURE * 255).to(torch.uint8).numpy()
    assert (shown[:4, :5, 0] == expected[0]).all()


def test_what_was_chosen_for_a_run_is_a_run_of_its_own(writer, tmp_path):
    writer.add_hparams({"lr": 0.1, "name": "sgd", "nesterov": True}, {"accuracy": 0.5}, run_name="first")
    writer.close()
    found = events(tmp_path)
    assert [(position, tag) for position, tag, _, _ in found] == [
        ("first", "_hparams_/experiment"),
        ("first", "_hparams_/session_start_info"),
        ("first", "_hparams_/session_end_info"),
        ("first", "accuracy"),
    ]


def test_more_may_be_added_after_closing(writer, tmp_path):
    writer.add_scalar("a", 1)
    writer.close()
    writer.close()
    writer.add_scalar("b", 2)
    writer.flush()
    assert {tag for _, tag, _, _ in events(tmp_path)} == {"a", "b"}


@pytest.mark.parametrize(
    "act, kind, text",
    [
        (lambda w: w.add_scalar("a", torch.ones(2)), AssertionError, "Tensor should contain one element"),
        (lambda w: w.add_histogram("a", torch.ones(0)), ValueError, "The input has no element"),
        (
            lambda w: w.add_image("a", torch.ones(2, 2), dataformats="CHW"),
            ValueError,
            "a picture of 2 dimensions cannot be of the form 'CHW'",
        ),
        (lambda w: w.add_hparams([], {}), TypeError, "hparam_dict and metric_dict should be dictionary"),
        (
            lambda w: w.add_hparams({"a": []}, {}),
            ValueError,
            "value should be one of int, float, str, bool, or torch.Tensor",
        ),
        (
            lambda w: w.add_graph(None),
            RuntimeError,
            "SummaryWriter.add_graph is not available in autograph's engine: use `autograph render`",
        ),
        (lambda w: w.add_video, AttributeError, "SummaryWriter.add_video is not available"),
    ],
)
def test_what_cannot_be_added_says_why(writer, act, kind, text):
    with pytest.raises(kind, match=text):
        act(writer)
