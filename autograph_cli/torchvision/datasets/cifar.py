"""CIFAR-10 and CIFAR-100: small pictures in colour, in pickles that are read without running them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._pillow import pillow
from ._pickled import read_pickle
from .utils import check_integrity, download_and_extract_archive
from .vision import VisionDataset


class CIFAR10(VisionDataset):
    """Pictures 32 by 32 of ten kinds: 50000 to learn from, 10000 to test with, in `root/cifar-10-batches-py`.

    Every file is held against its published MD5. `download` brings the archive, or unpacks the one that is there.
    RuntimeError where files are missing or damaged.
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta = {"filename": "batches.meta", "key": "label_names", "md5": "5ff9c542aee3614f3951f8cda6e48888"}

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
        batches = [self._read(name, md5) for name, md5 in (self.train_list if train else self.test_list)]
        self.data: Any = np.vstack([_pictures(batch) for batch in batches])
        self.targets = [label for batch in batches for label in batch.get("labels", batch.get("fine_labels", ()))]
        if len(self.targets) != len(self.data):
            raise RuntimeError(f"{self.base_folder}: {len(self.data)} pictures, but {len(self.targets)} labels")
        self.classes: list[str] = self._read(self.meta["filename"], self.meta["md5"])[self.meta["key"]]
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}

    def _position(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def _read(self, name: str, md5: str) -> dict[str, Any]:
        """A file that has its MD5, read once."""
        path = self._position(name)
        data = Path(path).read_bytes() if os.path.isfile(path) else None
        if data is None or hashlib.md5(data, usedforsecurity=False).hexdigest() != md5:
            state = "There is no" if data is None else "The published MD5 is not that of"
            raise RuntimeError(
                f"Dataset not found or corrupted. You can use download=True to download it. {state} {path}"
            )
        try:
            return read_pickle(data)
        except ValueError as error:
            raise RuntimeError(f"{path} is refused: {error}") from None

    def download(self) -> None:
        """Bring and unpack the archive, unless all files are there."""
        files = [*self.train_list, *self.test_list, [self.meta["filename"], self.meta["md5"]]]
        if not all(check_integrity(self._position(name), md5) for name, md5 in files):
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.tgz_md5)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self.transformed(pillow().fromarray(self.data[index]), self.targets[index])

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


def _pictures(batch: dict[str, Any]) -> Any:
    """Rows of red, then green, then blue bytes as arrays [N, 32, 32, 3]; RuntimeError for others."""
    data = batch.get("data")
    if not isinstance(data, np.ndarray) or data.ndim != 2 or data.shape[1] != 3 * 32 * 32:
        raise RuntimeError("the pictures of CIFAR are rows of 3072 bytes, which are not there")
    return data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


class CIFAR100(CIFAR10):
    """As CIFAR10, of a hundred kinds, in `root/cifar-100-python`."""

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta = {"filename": "meta", "key": "fine_label_names", "md5": "7973b15100ade9c7d40fb424638fde48"}
