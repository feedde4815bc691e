"""The arrays that a script computed with, by the nodes of its graph: what an ONNX model is fed, and held against."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from msgspec.structs import replace

from autograph_cli.engines.protocol import key_of, number_of
from autograph_cli.graph import Edge, Graph, computed
from autograph_cli.record.graphs import build
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import Event


class Arrays:
    """Of the last graph that was built: each leaf, input and untracked result as it was when it was met, and the roots
    of the backward passes. The script ends with its first step."""

    def __init__(self) -> None:
        self.of_event: dict[tuple[int, int], Any] = {}
        self.of_root: dict[Any, Any] = {}
        self.given: dict[Edge, Any] = {}
        self.roots: dict[Edge, Any] = {}


def computed_with(graph: Graph) -> tuple[Graph, dict[Edge, Edge]]:
    """Return what is computed of a graph, and where each of its tensors is in the whole graph."""
    numbered = replace(graph, nodes=tuple(replace(node, module=str(node.id)) for node in graph))
    taken = computed(numbered)
    places = [Edge(node.id, nr) for node in taken for nr in range(len(node.outputs))]
    return taken, {edge: Edge(int(taken[edge.node].module), edge.nr) for edge in places}


@contextmanager
def kept_arrays() -> Iterator[Arrays]:
    arrays = Arrays()
    add, begins, untracked, graph = EventLog.add, EventLog.begins, EventLog.untracked, build._Builder.graph
    steps: list[Any] = []

    def adding(log: EventLog, event: Event, *about: Any) -> None:
        add(log, event, *about)
        if event.kind in ("leaf", "input"):
            keep(log, event.ref(), 0)

    def computing(log: EventLog, name: str, op: Any, outputs: Any, *about: Any) -> None:
        untracked(log, name, op, outputs, *about)
        for nr, output in enumerate(outputs):
            keep(log, output, nr)

    def keep(log: EventLog, tensor: Any, nr: int) -> None:
        if not tensor.is_meta:
            arrays.of_event[log.count, nr] = np.array(log.engine.array(tensor))

    def beginning(log: EventLog, call: Any) -> None:
        steps.append((log, log.step))
        if log is steps[0][0] and log.step is not steps[0][1]:
            raise SystemExit  # the first step is over: what comes is not looked at
        begins(log, call)
        for root in call.roots:
            if isinstance(root, log.engine.tensor) and not root.is_meta:
                arrays.of_root[log.engine.output(root)] = np.array(log.engine.array(root))

    def building(builder: Any) -> Graph:
        ids, known = {event.number: i for i, event in enumerate(builder.events)}, dict(builder.log.known)
        made: Graph = graph(builder)
        arrays.given = {Edge(ids[n], nr): x for (n, nr), x in arrays.of_event.items() if n in ids}
        for output, x in arrays.of_root.items():
            event = known.get(key_of(output))
            if event is not None and event.number in ids:
                arrays.roots[Edge(ids[event.number], number_of(output))] = x
        return made

    with (
        patch.object(EventLog, "add", adding),
        patch.object(EventLog, "begins", beginning),
        patch.object(EventLog, "untracked", computing),
        patch.object(build._Builder, "graph", building),
    ):
        yield arrays
