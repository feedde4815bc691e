"""Calls of all ranks of which the last one makes another: `mismatches.py FOLDER` writes what each rank was told.

A case sees `n` elements, `d` the dtype, `k` tensors, `r` the root, `op` the reduction: one of them is another on the last rank.
"""

import json
import pathlib
import sys

from autograph_cli import torch

dist = torch.distributed
F32 = torch.float32
SAME = {"n": 2, "d": F32, "k": 2, "r": 0, "op": dist.ReduceOp.SUM}
OTHER = {
    "more elements": {"n": 3},
    "fewer elements": {"n": 1},
    "none": {"n": 0},
    "a wider dtype": {"d": torch.float64},
    "a dtype as wide": {"d": torch.int32},
    "more tensors": {"k": 3},
    "another root": {"r": -1},
    "another reduction": {"op": dist.ReduceOp.MAX},
}
CALLS = {
    "all_reduce": "dist.all_reduce(new(), op)",
    "all_reduce asynchronous": "dist.all_reduce(new(), op, async_op=True).wait()",
    "all_reduce_coalesced": "dist.all_reduce_coalesced([new() for _ in range(k)], op)",
    "reduce": "dist.reduce(new(), r, op)",
    "broadcast": "dist.broadcast(new(), r)",
    "all_gather": "dist.all_gather(every(), new())",
    "all_gather_single": "dist.all_gather_single(new(size), new())",
    "reduce_scatter": "dist.reduce_scatter(new(), every(), op)",
    "reduce_scatter_single": "dist.reduce_scatter_single(new(), new(size), op)",
    "gather": "dist.gather(new(), every() if rank == r else None, r)",
    "scatter": "dist.scatter(new(), every() if rank == r else None, r)",
    "all_to_all": "dist.all_to_all(every(), every())",
    "all_to_all_single": "dist.all_to_all_single(new(size), new(size))",
    "DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel(model())",
    "DistributedDataParallel, buffers": "torch.nn.parallel.DistributedDataParallel(with_buffer())",
}
"""`another root` and so on only where the call has one."""
HAS = {"k": ("[new() for _ in range(k)]", "model()"), "r": ("r)",), "op": ("op",)}


def applies(code, change):
    (name,) = change
    return name in "nd" or any(part in code for part in HAS[name])


CASES = {
    f"{name}: {how}": (code, change)
    for name, code in CALLS.items()
    for how, change in OTHER.items()
    if applies(code, change) and not (how == "none" and "model()" in code)
} | {"another function": ("dist.all_reduce(new()) if n == 2 else dist.broadcast(new(), 0)", {"n": 3})}

MESSAGE = "dist.send(new(), size - 1) if rank == 0 else dist.recv(new(), 0) if rank == size - 1 else None"


def outcome(code, change, rank, size):
    names = SAME | (change if rank == size - 1 else {})
    n, d, k = names["n"], names["d"], names["k"]
    names["r"] %= size

    def new(times=1):
        return torch.ones(n * times, dtype=d)

    def model():
        made = torch.nn.Module()
        for number in range(k):
            made.register_parameter(f"p{number}", torch.nn.Parameter(new(), requires_grad=d.is_floating_point))
        made.register_parameter("first", torch.nn.Parameter(torch.ones(1)))
        return made

    def with_buffer():
        made = torch.nn.Linear(2, 2)
        made.register_buffer("seen", new())
        return made

    def every():
        return [new() for _ in range(size)]

    made = {"model": model, "with_buffer": with_buffer, "every": every, "new": new}
    try:
        exec(code, {**names, **made, "dist": dist, "torch": torch, "rank": rank, "size": size})
        said = "nothing"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    after = torch.ones(2)
    dist.all_reduce(after)  # the ranks are still in step
    return [said, after.tolist()]


if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    found = {name: outcome(code, change, rank, size) for name, (code, change) in CASES.items()}
    found["a message"] = outcome(MESSAGE, {"n": 1}, rank, size)
    pathlib.Path(sys.argv[1], f"{rank}.json").write_text(json.dumps(found))
