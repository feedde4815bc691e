"""The recorded graph as plain data: records, checker, text, JSON, snapshots, diffs, and the graphs within the graph."""

from autograph_cli.graph.closing import close_modules
from autograph_cli.graph.compared import results
from autograph_cli.graph.diff import GraphDiff, diff
from autograph_cli.graph.errors import GraphError, TraceError
from autograph_cli.graph.opened import open_node
from autograph_cli.graph.records import (
    Edge,
    Graph,
    Kind,
    Measured,
    ModuleCall,
    Node,
    Output,
    Pass,
    Root,
    Run,
    Saved,
    Source,
    TensorType,
    Values,
)
from autograph_cli.graph.slices import Slice
from autograph_cli.graph.snapshot import Section, Snapshot, SnapshotDiff, compare
from autograph_cli.graph.snapshot_reader import SnapshotError, read_snapshot
from autograph_cli.graph.text import to_text
from autograph_cli.graph.trace import (
    Allocation,
    Collective,
    DeviceMemory,
    Memory,
    Notice,
    Profile,
    Step,
    StepKind,
    Trace,
    Watched,
)
from autograph_cli.graph.trace_file import read_trace, write_trace
from autograph_cli.graph.trace_json import from_json
from autograph_cli.graph.trace_writer import graph_to_json, to_json
from autograph_cli.graph.verifier import verify
from autograph_cli.graph.views import backward, computed, double_backward, forward, reachable, slice_to_roots, tracked

__all__ = [
    "Allocation", "Collective", "DeviceMemory", "Edge", "Graph", "GraphDiff", "GraphError", "Kind", "Measured",
    "Memory", "ModuleCall", "Node", "Notice", "Output", "Pass", "Profile", "Root", "Run", "Saved", "Section", "Slice",
    "Snapshot", "SnapshotDiff", "SnapshotError", "Source", "Step", "StepKind", "TensorType", "Trace", "TraceError",
    "Values", "Watched", "backward", "close_modules", "compare", "computed", "diff", "double_backward", "forward",
    "from_json", "graph_to_json", "open_node", "reachable", "read_snapshot", "read_trace", "results",
    "slice_to_roots", "to_json", "to_text", "tracked", "verify", "write_trace",
]  # fmt: skip
