"""Runs the cases on one rank and writes what came out of each, by name, into FOLDER: `play.py FOLDER SIZE`."""

import json
import os
import pathlib
import sys
import warnings

import cases


def shown(item):
    if hasattr(item, "tolist"):
        return [str(item.dtype), repr(item.tolist()), item.requires_grad]
    return [shown(each) for each in item] if isinstance(item, (list, tuple)) else repr(item)


def outcome(code, names):
    names = {**names, "out": None}
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            exec(code, names)
            out = shown(names["out"])
        except Exception as error:
            out = f"{type(error).__name__}: {error}"
    return [out, *[f"{each.category.__name__}: {each.message}" for each in given]]


def play(torch, folder):
    dist = torch.distributed
    names = {"torch": torch, "dist": dist, "rank": dist.get_rank(), "size": dist.get_world_size()}
    found = {name: outcome(code, names) for name, code in cases.CASES.items()}
    dist.destroy_process_group()
    found |= {f"{name} afterwards": outcome(code, names) for name, code in cases.AFTER.items()}
    pathlib.Path(folder, f"{names['rank']}.json").write_text(json.dumps(found))


def on_its_own(rank, folder, process, size):
    from autograph_cli import torch

    torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
    x = torch.ones(1)
    torch.distributed.all_reduce(x)
    pathlib.Path(folder, f"spawned.{rank}").write_text(f"{os.getpid() == process} {x.item()}")


def on_pytorch(rank, size, folder):
    import torch
    import torch.distributed.nn

    torch.distributed.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=size)
    play(torch, folder)


if __name__ == "__main__":
    from autograph_cli import torch

    torch.distributed.init_process_group("gloo")
    play(torch, sys.argv[1])
    size = int(sys.argv[2])
    torch.multiprocessing.spawn(on_its_own, (sys.argv[1], os.getpid(), size), nprocs=size)
