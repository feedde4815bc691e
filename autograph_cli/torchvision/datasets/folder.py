"""Files in folders: a folder is a class."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._pillow import pillow
from .vision import VisionDataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Return whether the name ends in one of these, in small or capital letters."""
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename: str) -> bool:
    """Return whether the name is that of a picture."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: str | Path) -> tuple[list[str], dict[str, int]]:
    """The names of the folders in `directory`, sorted, and their numbers; FileNotFoundError where there is none."""
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: number for number, name in enumerate(classes)}


def make_dataset(
    directory: str | Path,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """(path, class) of every file that counts, sorted; FileNotFoundError for a class without one.

    Files count by their `extensions`, or by what `is_valid_file` says.
    """
    if class_to_idx is None:
        class_to_idx = find_classes(directory)[1]
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
    counts = is_valid_file or (lambda name: has_file_allowed_extension(name, extensions or ()))
    found: list[tuple[str, int]] = []
    empty = []
    for name in sorted(class_to_idx):
        paths = [path for path in _files(os.path.join(os.path.expanduser(directory), name)) if counts(path)]
        found += [(path, class_to_idx[name]) for path in paths]
        if not paths:
            empty.append(name)
    if empty and not allow_empty:
        text = f"Found no valid file for the classes {', '.join(empty)}. "
        if extensions is not None:
            text += f"Supported extensions are: {extensions if isinstance(extensions, str) else ', '.join(extensions)}"
        raise FileNotFoundError(text)
    return found


def _files(folder: str) -> list[str]:
    walked = sorted(os.walk(folder, followlinks=True))
    return [os.path.join(position, name) for position, _, names in walked for name in sorted(names)]


def pil_loader(path: str) -> Any:
    """The picture at a path, in RGB."""
    with open(path, "rb") as file:
        return pillow().open(file).convert("RGB")


default_loader = pil_loader


class DatasetFolder(VisionDataset):
    """Files that `loader` reads, in a folder per class.

    FileNotFoundError where there is no class, or a class without a file (unless `allow_empty`).
    """

    def __init__(
        self,
        root: str | Path,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [target for _, target in self.samples]
        self.loader = loader
        self.extensions = extensions

    make_dataset = staticmethod(make_dataset)

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        """The classes and their numbers; for subclasses to change."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self.transformed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Pictures in a folder per class: `root/dog/xxx.png`, `root/cat/123.png`."""

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples
