"""Traces are read in several threads at once."""

from __future__ import annotations

import sys

from tests.processes import finished

PROGRAM = """\
import threading
from concurrent.futures import ThreadPoolExecutor
from autograph_cli.graph import Edge, Graph, Node, Output, Step, TensorType, Trace, from_json, to_json

leaf = Node(0, "leaf", "AccumulateGrad", "", (Output(TensorType("float32", (3,)), ("x",)),))
made = Node(1, "operation", "SinBackward0", "sin", (Output(TensorType("float32", (3,)), ("y",)),), args=(Edge(0),))
trace = Trace("a.py", (Step(0, Graph((leaf, made))),), 1, "builtin")
text, ready = to_json(trace), threading.Barrier(8)

def read(_):
    ready.wait()
    return from_json(text) == trace

with ThreadPoolExecutor(8) as pool:
    assert all(pool.map(read, range(8)))
"""


def test_the_first_traces_of_a_process_are_read_at_once() -> None:
    for _ in range(3):  # msgspec learns the classes at first, in each process anew
        finished([sys.executable, "-c", PROGRAM], check=True)
