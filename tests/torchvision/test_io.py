"""Images as tensors: what is written is read again, in the channels asked for; what is no image is refused."""

from __future__ import annotations

import pytest

from autograph_cli import torch
from autograph_cli.torchvision import io

pytest.importorskip("PIL")
PICTURE = torch.arange(3 * 4 * 5, dtype=torch.uint8).view(3, 4, 5) * 4


@pytest.mark.parametrize("channels", [1, 3])
def test_a_png_gives_back_every_pixel(channels, tmp_path):
    file = str(tmp_path / "picture.png")
    io.write_png(PICTURE[:channels], file)
    for read in (
        io.read_image(file),
        io.decode_image(io.read_file(file)),
        io.decode_png(io.encode_png(PICTURE[:channels])),
    ):
        assert read.dtype is torch.uint8 and torch.equal(read, PICTURE[:channels])


def test_a_jpeg_of_one_colour_keeps_it(tmp_path):
    file = str(tmp_path / "picture.jpg")
    io.write_jpeg(torch.full((3, 8, 8), 100, dtype=torch.uint8), file, quality=95)
    assert torch.equal(io.decode_jpeg(io.read_file(file)), torch.full((3, 8, 8), 100, dtype=torch.uint8))


def test_the_mode_says_which_channels_are_read():
    data = io.encode_png(PICTURE)
    shapes = {mode.name: tuple(io.decode_image(data, mode).shape) for mode in io.ImageReadMode}
    counts = {"UNCHANGED": 3, "GRAY": 1, "GRAY_ALPHA": 2, "RGB": 3, "RGB_ALPHA": 4}
    assert shapes == {name: (n, 4, 5) for name, n in counts.items()}


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: io.decode_image(torch.zeros(9, dtype=torch.uint8)), "are no image"),
        (lambda: io.decode_jpeg(io.encode_png(PICTURE)), "no image of the kinds JPEG"),
        (lambda: io.decode_image(torch.zeros(9)), "Expected a non empty 1-dimensional tensor of uint8"),
        (lambda: io.encode_png(PICTURE.float()), "dtype should be uint8"),
        (lambda: io.encode_jpeg(PICTURE[:2]), "The number of channels should be 1 or 3, got: 2"),
    ],
)
def test_what_is_no_image_is_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()
