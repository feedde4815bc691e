"""What loaders and samplers give for a seed, written by PyTorch: `python -m tests.torch.utils.record_data` renews data.json."""

import json
import random
import warnings
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).parent / "data.json"


def plain(x: Any) -> Any:
    if hasattr(x, "tolist"):
        return x.tolist()
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    return [plain(y) for y in x] if isinstance(x, (list, tuple)) else x


def observe(torch: Any) -> dict[str, Any]:
    """Batches, orders and splits, one after the other from one seed."""
    import numpy as np

    data = torch.utils.data

    class Samples(data.Dataset):
        def __len__(self) -> int:
            return 11

        def __getitem__(self, i: int) -> Any:
            return i, i / 2, np.float32(i), {"text": str(i)}, torch.rand(2), np.random.rand(), random.random()

    class Stream(data.IterableDataset):
        def __iter__(self) -> Any:
            info = data.get_worker_info()
            return iter(range(11)) if info is None else iter(range(info.id * 100, info.id * 97 + 11))

    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    found: dict[str, Any] = {}
    for workers in (0, 2):
        found[f"shuffled, {workers} workers"] = list(data.DataLoader(Samples(), 4, shuffle=True, num_workers=workers))
    for workers in (0, 1, 3):
        for drop in (False, True):
            found[f"stream, {workers} workers, {drop}"] = list(
                data.DataLoader(Stream(), 4, num_workers=workers, drop_last=drop)
            )
        found[f"stream, {workers} workers, no batches"] = list(data.DataLoader(Stream(), None, num_workers=workers))
    generator = torch.Generator().manual_seed(3)
    options = {"shuffle": True, "generator": generator, "num_workers": 2, "persistent_workers": True}
    loader = data.DataLoader(range(10), 3, **options)
    for epoch in range(3):
        found[f"persistent, epoch {epoch}"] = list(loader)
    begun = iter(loader)
    found["one batch, then another epoch"] = [next(begun), list(loader)]
    for name, sampler in {
        "drawn again": data.RandomSampler(range(7), replacement=True, num_samples=50),
        "more than there are": data.RandomSampler(range(7), num_samples=20),
        "subset": data.SubsetRandomSampler([3, 5, 7]),
        "weighted": data.WeightedRandomSampler([0.1, 0.5, 0.2], 5),
        "weighted once": data.WeightedRandomSampler([0.1, 0.5, 0.2], 3, False),
        "distributed": data.DistributedSampler(range(11), 3, 1),
        "distributed in order": data.DistributedSampler(range(11), 3, 2, shuffle=False, drop_last=True),
    }.items():
        found[name] = list(sampler)
    found["split by parts"] = [part.indices for part in data.random_split(range(11), [0.5, 0.3, 0.2])]
    found["split by numbers"] = [
        part.indices for part in data.random_split(range(11), [5, 6], torch.Generator().manual_seed(4))
    ]
    found["after it all"] = torch.rand(2)
    return {key: plain(value) for key, value in found.items()}


def main() -> None:
    import torch
    import torch.utils.data

    warnings.simplefilter("ignore")
    EXPECTED.write_text(json.dumps(observe(torch), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
