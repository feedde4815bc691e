"""`torchvision.datasets`: pictures with labels, read from files that are checked."""

from __future__ import annotations

from . import utils
from .cifar import CIFAR10, CIFAR100
from .fakedata import FakeData
from .folder import DatasetFolder, ImageFolder
from .mnist import KMNIST, MNIST, FashionMNIST
from .vision import VisionDataset

__all__ = [
    "CIFAR10", "CIFAR100", "KMNIST", "MNIST", "DatasetFolder", "FakeData", "FashionMNIST", "ImageFolder",
    "VisionDataset", "utils",
]  # fmt: skip
