"""`torch.utils.data.distributed`: the part of a dataset that one of several processes reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any

from ..._core.operations.registry import functions
from ..._ops.random_numbers.generators import Generator
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, from `rank` on, in an order that `set_epoch` changes for all processes alike.

    Without `num_replicas` and `rank` they are those of the default process group. ValueError where there is none, or
    for a rank that is not below `num_replicas`.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from ... import distributed as dist  # loaded when it is used

            num_replicas = dist.get_world_size() if num_replicas is None else num_replicas
            rank = dist.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        length = len(dataset)
        self.num_samples = length // num_replicas if drop_last else math.ceil(length / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[Any]:
        length = len(self.dataset)
        order = list(range(length))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = functions["randperm"](length, generator=generator).tolist()
        repeated = order * math.ceil(self.total_size / length) if length else order
        return iter(repeated[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Shuffle differently from now on."""
        self.epoch = epoch
