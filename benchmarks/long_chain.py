"""A chain of a million nodes: time to build, run backward and free it, and memory a node.

python benchmarks/long_chain.py [NODES] [--torch]        with --torch: real PyTorch instead
"""

from __future__ import annotations

import gc
import resource
import sys
import time


def peak() -> float:
    """Peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    nodes = numbers[0] if numbers else 1_000_000
    if "--torch" in sys.argv:
        import torch
    else:
        from autograph_cli import torch
    x = torch.tensor(0.5, requires_grad=True)
    (x * x).backward()
    x.grad = None
    # Big graphs of small objects: the cyclic collector would walk them again and again while they grow.
    gc.set_threshold(200_000, 50, 100)
    before, start = peak(), time.process_time()
    h = x
    for _ in range(nodes // 2):
        h = h * x + x
    built = time.process_time()
    bytes_a_node = (peak() - before) * 2**20 / nodes
    h.backward()
    done = time.process_time()
    del h
    freed = time.process_time()
    print(
        f"{nodes:,} nodes: build {(built - start):.2f} s, backward {(done - built):.2f} s, free {(freed - done):.2f} s, "
        f"{bytes_a_node:.0f} bytes a node, peak {peak():.0f} MiB, x.grad {x.grad.item():.6f}"
    )


if __name__ == "__main__":
    main()
