"""The base of all datasets of pictures."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from autograph_cli.torch.utils.data import Dataset


class StandardTransform:
    """One transform for the picture, one for its label."""

    def __init__(
        self, transform: Callable[..., Any] | None = None, target_transform: Callable[..., Any] | None = None
    ) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        for head, transform in (("Transform: ", self.transform), ("Target transform: ", self.target_transform)):
            if transform is not None:
                lines += (head + repr(transform)).replace("\n", "\n" + " " * len(head)).splitlines()
        return "\n".join(lines)


class VisionDataset(Dataset[Any]):
    """A dataset in a folder; subclasses say how long it is and what stands where.

    ValueError where both `transforms` (for picture and label) and one of the single ones are given.
    """

    def __init__(
        self,
        root: Any = None,
        transforms: Callable[..., Any] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        single = transform is not None or target_transform is not None
        if transforms is not None and single:
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = StandardTransform(transform, target_transform) if single else transforms

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def transformed(self, picture: Any, target: Any) -> tuple[Any, Any]:
        """The pair as the single transforms make it."""
        if self.transform is not None:
            picture = self.transform(picture)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return picture, target

    def extra_repr(self) -> str:
        """More lines of the representation."""
        return ""

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if self.transforms is not None:
            body.append(repr(self.transforms))
        return "\n".join([f"Dataset {type(self).__name__}", *(f"    {line}" for line in body)])
