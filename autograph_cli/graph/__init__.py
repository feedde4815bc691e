"""The recorded graph as plain data: records, their checker, their text, their JSON, and the graphs within the graph."""

from autograph_cli.graph.errors import GraphError, TraceError
from autograph_cli.graph.records import (
    Edge,
    Graph,
    Kind,
    Node,
    Output,
    Pass,
    Root,
    Saved,
    Source,
    Step,
    TensorType,
    Trace,
)
from autograph_cli.graph.slices import Slice
from autograph_cli.graph.text import to_text
from autograph_cli.graph.trace_json import from_json, graph_to_json, to_json
from autograph_cli.graph.verifier import verify
from autograph_cli.graph.views import backward, double_backward, forward, reachable, slice_to_roots

__all__ = [
    "Edge",
    "Graph",
    "GraphError",
    "Kind",
    "Node",
    "Output",
    "Pass",
    "Root",
    "Saved",
    "Slice",
    "Source",
    "Step",
    "TensorType",
    "Trace",
    "TraceError",
    "backward",
    "double_backward",
    "forward",
    "from_json",
    "graph_to_json",
    "reachable",
    "slice_to_roots",
    "to_json",
    "to_text",
    "verify",
]
