"""The base of the second API's transforms: they take nested samples, and change the pictures in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from autograph_cli import torch
from autograph_cli.torch import Tensor, nn

from ... import tv_tensors
from ..._pillow import is_picture
from . import functional as F


def parts(sample: Any) -> Iterator[Any]:
    """Yield what is in a nest of tuples, lists and dicts."""
    if isinstance(sample, (tuple, list)):
        for part in sample:
            yield from parts(part)
    elif isinstance(sample, dict):
        yield from parts(list(sample.values()))
    else:
        yield sample


def rebuilt(sample: Any, new: Iterator[Any]) -> Any:
    """The same nest, of new parts."""
    if isinstance(sample, (tuple, list)):
        filled = [rebuilt(part, new) for part in sample]
        return type(sample)(*filled) if hasattr(sample, "_fields") else type(sample)(filled)
    if isinstance(sample, dict):
        return type(sample)({name: rebuilt(part, new) for name, part in sample.items()})
    return next(new)


class Transform(nn.Module):
    """A change of the pictures in a sample; a plain tensor counts as one if there is no other and none before it.

    Subclasses say what they change (`transform`), and what is drawn once for the whole sample (`make_params`).
    """

    takes: Callable[[Any], bool] = staticmethod(lambda x: isinstance(x, tv_tensors.Image) or is_picture(x))
    """The test for values that are changed, beside plain tensors."""

    def __init__(self) -> None:
        super().__init__()

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise for a sample that cannot be changed."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Return what is drawn for a sample."""
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One part, changed."""
        raise NotImplementedError

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat = list(parts(sample))
        self.check_inputs(flat)
        wanted = self._wanted(flat)
        params = self.make_params([part for part, change in zip(flat, wanted, strict=True) if change])
        changed = (self.transform(part, params) if change else part for part, change in zip(flat, wanted, strict=True))
        return rebuilt(sample, changed)

    def _wanted(self, flat: list[Any]) -> list[bool]:
        pictured = any(isinstance(part, tv_tensors.Image) or is_picture(part) for part in flat)
        wanted = []
        for part in flat:
            plain = isinstance(part, Tensor) and not isinstance(part, tv_tensors.TVTensor)
            wanted.append(not pictured if plain else self.takes(part))
            pictured = pictured or plain
        return wanted

    def extra_repr(self) -> str:
        shown = (bool, int, float, str, tuple, list, Enum)
        named = [(name, value) for name, value in vars(self).items() if not name.startswith("_") and name != "training"]
        return ", ".join(f"{name}={value}" for name, value in named if isinstance(value, shown))


class WithChance(Transform):
    """A change that is made with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        super().__init__()
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        if torch.rand(1) >= self.p:
            return inputs if len(inputs) > 1 else inputs[0]
        return super().forward(*inputs)


def size_of(flat: list[Any]) -> list[int]:
    """[height, width] of the pictures of a sample; ValueError where they differ, TypeError where there is none."""
    sizes = {tuple(F.get_size(part)) for part in flat if isinstance(part, Tensor) or is_picture(part)}
    if not sizes:
        raise TypeError("No image, video, mask, bounding box of keypoint was found in the sample")
    if len(sizes) > 1:
        raise ValueError(f"Found multiple HxW dimensions in the sample: {', '.join(map(str, sorted(sizes)))}")
    return list(sizes.pop())
