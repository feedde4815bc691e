"""MNIST and the datasets in its form: IDX files."""

from __future__ import annotations

import gzip
import math
import os
import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from autograph_cli import torch
from autograph_cli.torch import Tensor

from .._pillow import pillow
from .utils import calculate_md5, download_and_extract_archive
from .vision import VisionDataset

_KINDS = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
"""The dtype for each third byte of an IDX file."""
_PIECE = 1 << 20


def read_idx(path: str | Path) -> Any:
    """The array in an IDX file, packed (`.gz`) or not; RuntimeError where it is damaged or not as long as it says.

    The form: two zero bytes, the kind of the numbers, how many dimensions, their lengths, the numbers.
    """
    try:
        if os.fspath(path).endswith(".gz"):
            with gzip.open(path) as packed:
                return _read_idx(packed, None)
        with open(path, "rb") as file:
            return _read_idx(file, os.path.getsize(path))
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise RuntimeError(f"{path} is no whole IDX file: {error}") from None


def _read_idx(file: IO[bytes] | gzip.GzipFile, size: int | None) -> Any:
    head = file.read(4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _KINDS or not 1 <= head[3] <= 8:
        raise ValueError("it does not begin like one")
    lengths = file.read(4 * head[3])
    if len(lengths) < 4 * head[3]:
        raise ValueError("it ends within its first lines")
    shape = struct.unpack(f">{head[3]}I", lengths)
    kind = np.dtype(_KINDS[head[2]])
    expected = math.prod(shape) * kind.itemsize
    actual = None if size is None else size - len(head) - len(lengths)
    if actual is not None and actual != expected:
        raise ValueError(f"{expected} bytes of data are announced, {actual} are there")
    data = bytearray()
    while len(data) <= expected and (piece := file.read(min(_PIECE, expected + 1 - len(data)))):
        data += piece
    if len(data) != expected:
        raise ValueError(
            f"{expected} bytes of data are announced, {'more' if len(data) > expected else len(data)} are there"
        )
    return np.frombuffer(data, kind).astype(kind.newbyteorder("=")).reshape(shape)


class MNIST(VisionDataset):
    """Handwritten digits, 28 by 28: 60000 to learn from, 10000 to test with, in `root/MNIST/raw`.

    The files are taken as they are, or packed (`.gz`) if their MD5 is the published one. `download` brings what is not
    there. RuntimeError where files are missing, damaged, or do not belong together.
    """

    mirrors: tuple[str, ...] = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/")
    resources = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    """Pictures and labels to learn from, then those to test with; each with its MD5."""
    classes = [
        "0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven", "8 - eight",
        "9 - nine",
    ]  # fmt: skip

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        self.data, self.targets = self._load()

    @property
    def raw_folder(self) -> str:
        """Return where the files are."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The number of each class."""
        return {name: number for number, name in enumerate(self.classes)}

    def download(self) -> None:
        """Bring the files that are not there, from the first mirror that answers; RuntimeError where none does."""
        for name, md5 in self.resources:
            if os.path.isfile(os.path.join(self.raw_folder, name.removesuffix(".gz"))):
                continue
            failures = []
            for mirror in self.mirrors:
                try:
                    download_and_extract_archive(mirror + name, self.raw_folder, md5=md5)
                    break
                except RuntimeError as error:
                    failures.append(str(error))
            else:
                raise RuntimeError("\n".join([f"Error downloading {name}", *failures]))

    def _load(self) -> tuple[Tensor, Tensor]:
        wanted = self.resources[:2] if self.train else self.resources[2:]
        pictures, labels = (self._read(*resource) for resource in wanted)
        position = self.raw_folder
        if pictures.dtype != np.uint8 or pictures.ndim != 3:
            raise RuntimeError(
                f"{position}: pictures should be bytes in 3 dimensions, not {pictures.dtype} in {pictures.ndim}"
            )
        if labels.dtype != np.uint8 or labels.shape != pictures.shape[:1]:
            raise RuntimeError(
                f"{position}: {len(pictures)} pictures, but the labels are {labels.dtype}{list(labels.shape)}"
            )
        return torch.from_numpy(pictures), torch.from_numpy(labels).to(torch.int64)

    def _read(self, name: str, md5: str) -> Any:
        packed = os.path.join(self.raw_folder, name)
        plain = packed.removesuffix(".gz")
        if os.path.isfile(plain):
            return read_idx(plain)
        if not os.path.isfile(packed):
            raise RuntimeError(f"Dataset not found. You can use download=True to download it. There is no {plain}")
        found = calculate_md5(packed)
        if found != md5:
            raise RuntimeError(f"{packed} is not the published file: its MD5 is {found}, not {md5}")
        return read_idx(packed)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        picture = pillow().fromarray(self.data[index].numpy())
        return self.transformed(picture, int(self.targets[index]))

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"

    def __getattr__(self, name: str) -> Any:
        """The names of old: `train_data`, `test_labels`, ..."""
        new = {"train_labels": "targets", "test_labels": "targets", "train_data": "data", "test_data": "data"}.get(name)
        if new is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        warnings.warn(f"{name} has been renamed {new}", stacklevel=2)
        return getattr(self, new)


class FashionMNIST(MNIST):
    """Clothes, in the form of MNIST."""

    mirrors = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
    resources = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class KMNIST(MNIST):
    """Japanese letters in cursive script, in the form of MNIST."""

    mirrors = ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",)
    resources = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]
